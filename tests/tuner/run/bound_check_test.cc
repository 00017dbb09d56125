// The short version of bound_campaign.
#include "tests/bounds/bound_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/fresh_seed.h"
#include "tests/server/temporary_directory.h"
#include "tests/source_path.h"
#include "tests/tuner/runner_program.h"

namespace mdh::bound_check_test {
namespace {

TEST(BoundCheck, NoConfigurationIsFasterThanItsBound) {
  const TemporaryDirectory directory;
  BoundCheckOptions options;
  options.runner = RunnerProgram();
  options.work_directory = directory.File("runner");
  options.sources = SourcePath();
  options.count = 20;
  options.each = 5;
  options.picks = 4;
  options.climbs = 1;
  options.points = 200'000;
  options.seed = FreshSeed();
  options.runners = 2;  // where there are two cores
  options.known_peaks = directory.File("peaks");
  int64_t told = 0;
  options.on_expression = [&](const std::string& line) {
    EXPECT_NE(line.find("so far"), std::string::npos) << line;
    ++told;
  };
  const auto report =
      CheckBounds(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->violations, 0);
  EXPECT_EQ(report->drops, 0);
  EXPECT_GE(report->configurations, 20);
  EXPECT_EQ(told, report->expressions);
  EXPECT_GT(report->bounds, 100);
  EXPECT_GT(report->compiled_s, 0);
  std::puts(Summary(*report).c_str());
  // They are known now.
  std::stringstream peaks;
  peaks << std::ifstream(options.known_peaks).rdbuf();
  EXPECT_THAT(peaks.str(), ::testing::StartsWith("# " + report->device + ", "));
  EXPECT_THAT(peaks.str(), ::testing::HasSubstr("memory_bytes_per_s: "));
  options.seconds = 1;
  const auto again =
      CheckBounds(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST(BoundCheck, KernelsWithTooManyLinesAreNotMeasured) {
  const TemporaryDirectory directory;
  BoundCheckOptions options;
  options.runner = RunnerProgram();
  options.work_directory = directory.File("runner");
  options.sources = SourcePath();
  options.count = 1;
  options.each = 1;
  options.points = 1000;
  options.has_peaks = false;
  options.lines = 1;
  options.seconds = 2;
  const auto report =
      CheckBounds(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->configurations, 0);
  EXPECT_EQ(report->measured, 0);
}

TEST(BoundCheck, PeaksOfOtherDevicesAreRefused) {
  const TemporaryDirectory directory;
  BoundCheckOptions options;
  options.runner = RunnerProgram();
  options.work_directory = directory.File("runner");
  options.sources = SourcePath();
  options.known_peaks = directory.File("peaks");
  std::ofstream(options.known_peaks) << "# another one, 3 cores\nfp32_flops_per_s: 1e9\n";
  const auto report =
      CheckBounds(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_TRUE(absl::IsInvalidArgument(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()),
              ::testing::HasSubstr(options.known_peaks + " has no peaks of "));
}

TEST(BoundCheck, EndsWhenItsTimeIsOver) {
  const TemporaryDirectory directory;
  BoundCheckOptions options;
  options.runner = RunnerProgram();
  options.work_directory = directory.File("runner");
  options.sources = SourcePath();
  options.count = 1'000'000;
  options.points = 20'000;
  options.each = 2;
  options.seconds = 1;
  options.has_peaks = false;
  const auto report =
      CheckBounds(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_LT(report->configurations, 1'000'000);
  EXPECT_EQ(report->violations, 0);
}

TEST(BoundCheck, SizesAreRandomAndSmallEnough) {
  const auto one = RandomlySized(SourcePath(), "matmul", 5000, 1);
  const auto two = RandomlySized(SourcePath(), "matmul", 5000, 2);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_LE(one->points(), 5000);
  EXPECT_LE(two->points(), 5000);
  EXPECT_NE(one->points(), two->points());
}

}  // namespace
}  // namespace mdh::bound_check_test
