// Metrics in Prometheus's text format. tests/python/test_operations.py reads them over HTTP.
#include <netinet/in.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_metrics.h"
#include "server/metrics/metrics_server.h"
#include "server/metrics/metrics_source.h"
#include "tests/server/service_fixture.h"

namespace mdh::metrics_test {
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
        "mdhd_store_age_seconds 0\n", "mdhd_lookups_total{outcome=\"found\"} 1\n",
        "mdhd_lookups_total{outcome=\"missed\"} 1\n", "mdhd_lookup_latency_seconds_count 2\n",
        "mdhd_lookup_latency_seconds_bucket{le=\"+Inf\"} 2\n",
        "mdhd_trials_total{outcome=\"wrong result\"} 1\n", "mdhd_measuring_seconds_total 2\n",
        "mdhd_helped_trials_total{help=\"got\"} 0\n",
        "mdhd_helped_trials_total{help=\"given\"} 0\n", "mdhd_bound_violations_total 0\n",
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

// What a scraper would get, from a connection of its own.
class HttpConnection {
 public:
  explicit HttpConnection(const std::string& url)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const size_t colon = url.rfind(':');
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(colon + 1))));
    const timeval limit = {.tv_sec = 8, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~HttpConnection() { close(socket_); }
  void Send(const std::string& text) const {
    (void)send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  std::string Receive() const {
    std::string all;
    char piece[4096];
    for (ssize_t got = 0; (got = recv(socket_, piece, sizeof piece, 0)) > 0;) {
      all.append(piece, static_cast<size_t>(got));
    }
    return all;
  }
  std::string Get(const std::string& target) const {
    Send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return Receive();
  }

 private:
  const int socket_;
};

TEST_F(MetricsTest, SlowConnectionsKeepNobodyWaiting) {
  const auto server = MetricsServer::Start("127.0.0.1:0", Source());
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string url = (*server)->url();
  std::vector<std::unique_ptr<HttpConnection>> slow;
  for (int n = 0; n < 300; ++n) {
    slow.push_back(std::make_unique<HttpConnection>(url));
    if (n % 2 == 0) slow.back()->Send("GET /metrics HTTP/1.1\r\nHost: x\r\n");
  }
  const absl::Time start = absl::Now();
  const std::string answer = HttpConnection(url).Get("/metrics");
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("mdhd_info{version=\"1.2.3\"} 1\n"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  EXPECT_EQ(slow.front()->Receive(), "") << "the oldest were ended";
  slow.back()->Send("\r\n");
}

TEST_F(MetricsTest, OtherRequestsAreRefused) {
  const auto server = MetricsServer::Start("127.0.0.1:0", Source());
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string url = (*server)->url();
  EXPECT_THAT(HttpConnection(url).Get("/"), HasSubstr("404 Not Found"));
  EXPECT_THAT(HttpConnection(url).Get("/metrics?name[]=x"), HasSubstr("200 OK"));
  const HttpConnection post(url);
  post.Send("POST /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(post.Receive(), HasSubstr("405 Method Not Allowed"));
  const HttpConnection large(url);
  large.Send("GET /metrics HTTP/1.1\r\nX: " + std::string(9'000, 'y'));
  EXPECT_THAT(large.Receive(), HasSubstr("431 "));
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
}  // namespace mdh::metrics_test
