// Metrics in Prometheus's text format. tests/python/test_operations.py reads them over HTTP.
#include <prometheus/text_serializer.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/job_metrics.h"
#include "server/metrics_server.h"
#include "server/metrics_source.h"
#include "tests/server/service_fixture.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(JobMetricsTest, CountsWaitsTrialsAndEnds) {
  JobMetrics metrics;
  metrics.CountStart(absl::Milliseconds(50));
  metrics.CountStart(absl::Milliseconds(100));
  metrics.CountStart(absl::Hours(100));
  metrics.CountStart(-absl::Seconds(1));  // the clock was set
  metrics.CountTrial("ok", absl::Seconds(2));
  metrics.CountTrial("ok", absl::Seconds(1));
  metrics.CountTrial("crash", -absl::Seconds(1));
  metrics.CountEnd(v1::TUNING_JOB_STATE_FAILED);
  const JobMetrics::Figures figures = metrics.Read();
  EXPECT_EQ(figures.waits[0], 3);
  EXPECT_EQ(figures.waits.back(), 1);
  EXPECT_EQ(figures.waited, absl::Hours(100) + absl::Milliseconds(150));
  EXPECT_EQ(figures.measured, absl::Seconds(3));
  EXPECT_EQ(figures.trials.at("ok"), 2);
  EXPECT_EQ(figures.ended.at(v1::TUNING_JOB_STATE_FAILED), 1);
}

class MetricsTest : public ServiceTest {
 protected:
  std::shared_ptr<MetricsSource> Source() {
    return std::make_shared<MetricsSource>(
        MetricsSource::Sources{.job_metrics = job_metrics_,
                               .lookup_metrics = lookups_->metrics(),
                               .jobs = *queue_,
                               .catalogue = catalogue_,
                               .store = *store_,
                               .version = "1.2.3",
                               .start = absl::FromUnixSeconds(1'000'000)});
  }
  std::string Text() { return prometheus::TextSerializer().Serialize(Source()->Collect()); }
  JobMetrics job_metrics_;
};

TEST_F(MetricsTest, SayWhatHappened) {
  Put(64, 1'000'000);
  EXPECT_TRUE(client_->Lookup(MatMulExpression(64, 64, 64)).ok());
  EXPECT_FALSE(client_->Lookup(MatMulExpression(65, 64, 64)).ok());
  job_metrics_.CountTrial("wrong result", absl::Seconds(2));
  const std::string text = Text();
  for (const char* line :
       {"mdhd_info{version=\"1.2.3\"} 1\n", "mdhd_records 1\n", "mdhd_store_problem 0\n",
        "mdhd_lookups_total{outcome=\"found\"} 1\n", "mdhd_lookups_total{outcome=\"missed\"} 1\n",
        "mdhd_lookup_latency_seconds_count 2\n",
        "mdhd_lookup_latency_seconds_bucket{le=\"+Inf\"} 2\n",
        "mdhd_trials_total{outcome=\"wrong result\"} 1\n", "mdhd_measuring_seconds_total 2\n",
        "mdhd_jobs{state=\"queued\"} 0\n", "mdhd_jobs_ended_total{state=\"succeeded\"} 0\n",
        "mdhd_device_healthy{device=\"devices/cpu\"", "process_start_time_seconds 1000000\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, AreServedWhereItIsAsked) {
  const auto source = Source();
  const auto server = MetricsServer::Start("127.0.0.1:0", source);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string url = (*server)->url();
  EXPECT_THAT(url, MatchesRegex("http://127.0.0.1:[1-9][0-9]*/metrics"));
  const std::string address = url.substr(7, url.rfind('/') - 7);
  const auto second = MetricsServer::Start(address, source);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address));
}

TEST_F(MetricsTest, TheServerIsClosedAtOnce) {
  const auto source = Source();
  for (const std::string address : {"127.0.0.1:0", "0.0.0.0:0", "[::]:0"}) {
    auto server = MetricsServer::Start(address, source);
    if (!server.ok() && address == "[::]:0") continue;  // a machine without IPv6
    ASSERT_TRUE(server.ok()) << server.status();
    const absl::Time start = absl::Now();
    server->reset();
    EXPECT_LT(absl::Now() - start, absl::Seconds(1)) << address;
  }
}

}  // namespace
}  // namespace mdh
