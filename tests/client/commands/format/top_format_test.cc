#include "client/commands/format/top_format.h"

#include "absl/strings/str_cat.h"
#include "client/commands/format/progress_display.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::top_format_test {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

DaemonState Sample(int jobs) {
  DaemonState state;
  state.server = "unix:/run/mdhd.sock";
  state.statistics.set_running_jobs(1);
  state.statistics.set_records(12);
  state.statistics.set_database_bytes(3 << 20);
  state.statistics.set_lookup_hits(3);
  state.statistics.set_lookup_misses(1);
  state.lookups_per_s = 2;
  v1::Device cpu;
  cpu.set_name("devices/cpu");
  cpu.mutable_description()->set_model("AMD EPYC");
  cpu.set_can_tune(true);
  cpu.mutable_load()->set_running_job("tuningJobs/1");
  cpu.mutable_load()->set_queued_jobs(jobs - 1);
  v1::Device gpu;
  gpu.set_name("devices/cuda0");
  gpu.set_health(v1::DEVICE_HEALTH_UNHEALTHY);
  gpu.set_health_reason("it fell off\033[2J the bus");
  state.devices = {cpu, gpu};
  for (int n = 1; n <= jobs; ++n) {
    v1::TuningJob job;
    job.set_name(absl::StrCat("tuningJobs/", n));
    job.set_state(n == 1 ? v1::TUNING_JOB_STATE_RUNNING : v1::TUNING_JOB_STATE_QUEUED);
    job.set_expression_name("matmul");
    job.add_devices("devices/cpu");
    job.mutable_progress()->set_trials(40);
    job.mutable_progress()->set_best_time_ns(79'100);
    job.mutable_progress()->set_elapsed_ns(5'000'000'000);
    job.mutable_progress()->set_remaining_ns(5'000'000'000);
    state.jobs.push_back(job);
  }
  return state;
}

TEST(TopFormatTest, ShowsDevicesAndJobs) {
  const auto lines = FormatTop(Sample(2), {.columns = 120, .rows = 24}, Styling::kPlain);
  EXPECT_EQ(lines[0], "mdhd at unix:/run/mdhd.sock");
  EXPECT_EQ(lines[1],
            "1 running, 0 queued, 0 paused; 12 records, 3.00 MiB; 4 lookups, 75 % found, 2/s");
  EXPECT_THAT(lines, Contains(HasSubstr("tuningJobs/1, 1 waiting")));
  EXPECT_THAT(lines, Contains(HasSubstr("[#####.....]      40       0  79.1 us    5 s")));
  EXPECT_THAT(lines, Contains(HasSubstr("unhealthy: it fell off [2J the bus")));
}

TEST(TopFormatTest, ShowsWhoseDevicesAndJobsAre) {
  DaemonState state = Sample(2);
  EXPECT_THAT(FormatTop(state, {.columns = 140, .rows = 24}, Styling::kPlain),
              Not(Contains(HasSubstr("NODE"))));
  for (const char* name : {"nodes/front", "nodes/w1", "nodes/w2"}) {
    state.nodes.emplace_back().set_name(name);
  }
  state.nodes[2].set_is_gone(true);
  state.devices[0].set_name("nodes/w1/devices/cpu");
  state.jobs[0].set_node("nodes/w1");
  state.jobs[0].set_devices(0, "nodes/w1/devices/cpu");
  state.jobs[1].set_devices(0, "cpu 'AMD EPYC'; cores 2; compiler unknown");
  const auto lines = FormatTop(state, {.columns = 140, .rows = 24}, Styling::kPlain);
  EXPECT_THAT(lines[1], StartsWith("1 running, 1 queued, 0 paused"));
  EXPECT_EQ(lines[2], "3 daemons on the database; w2 is gone");
  EXPECT_THAT(lines, Contains(StartsWith("nodes/w1/devices/cpu")));
  EXPECT_THAT(lines, Contains(HasSubstr("NODE")));
  EXPECT_THAT(lines, Contains(ContainsRegex("w1 +w1:cpu +matmul")));
  EXPECT_THAT(lines, Contains(ContainsRegex("- +cpu 'AMD EPYC' +matmul")));
}

TEST(TopFormatTest, FitsIntoAnyTerminal) {
  DaemonState state = Sample(50);
  state.server = "unix:/a/long/way/to/the/socket/of/somebody/else/on/this/or/another/machine.sock";
  state.devices[0].mutable_description()->set_model(std::string(100, 'm'));
  state.jobs[0].set_expression_name(std::string(100, 'x') + "_end");
  for (const int columns : {1, 10, 40, 71, 72, 80, 200}) {
    for (const int rows : {1, 5, 9, 24}) {
      const auto lines = FormatTop(state, {.columns = columns, .rows = rows}, Styling::kPlain);
      EXPECT_LE(lines.size(), static_cast<size_t>(rows));
      for (const std::string& line : lines) {
        EXPECT_LE(line.size(), static_cast<size_t>(columns)) << line;
      }
    }
  }
  EXPECT_EQ(FormatTop(Sample(50), {.columns = 80, .rows = 12}, Styling::kPlain).back(),
            "... and 47 more");
  const auto lines = FormatTop(state, {.columns = 80, .rows = 24}, Styling::kPlain);
  EXPECT_THAT(lines, Contains(HasSubstr("_end"))) << "names lose their middle";
  EXPECT_THAT(lines[0], HasSubstr("machine.sock"));
}

TEST(TopFormatTest, SaysWhatIsWrong) {
  DaemonState state = Sample(1);
  state.statistics.set_storage_problem("the disk is full");
  EXPECT_THAT(FormatTop(state, {}, Styling::kAnsi),
              Contains("\033[31mstorage: the disk is full\033[0m"));
  state.error = "no daemon";
  EXPECT_THAT(FormatTop(state, {}, Styling::kPlain),
              ElementsAre("mdhd at unix:/run/mdhd.sock", "no daemon"));
  state = Sample(1);
  state.jobs.clear();
  EXPECT_THAT(FormatTop(state, {}, Styling::kPlain), Contains("no jobs run or wait"));
}

TEST(ProgressTest, LeavesOutWhatDoesNotFit) {
  const v1::TuningProgress progress = Sample(1).jobs[0].progress();
  const std::string whole = FormatProgress(progress);
  EXPECT_THAT(whole, HasSubstr("(0 failed)"));
  EXPECT_EQ(FormatProgress(progress, static_cast<int>(whole.size())), whole);
  EXPECT_EQ(FormatProgress(progress, 75),
            "[############............]  50 %  40 trials  best 79.1 us  5 s left");
  EXPECT_EQ(FormatProgress(progress, 50), " 50 %  40 trials  best 79.1 us  5 s left");
  EXPECT_EQ(FormatProgress(progress, 25), " 50 %  best 79.1 us");
  for (int columns = 0; columns < 90; ++columns) {
    EXPECT_LE(FormatProgress(progress, columns).size(), static_cast<size_t>(columns));
  }
  v1::TuningProgress queued;
  queued.set_state(v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_THAT(FormatProgress(queued, 7), SizeIs(7));
  EXPECT_THAT(FormatProgress(queued), StartsWith("waiting"));
}

}  // namespace
}  // namespace mdh::top_format_test
