// bound_campaign [--device NAME] [--seed S] [--points N] [--each N] [--climbs N] [--seconds N]
// COUNT: judges the bounds of COUNT random configurations of shipped expressions with random sizes,
// and those of every prefix of five orders of decisions: none may fall along a decision, none may
// be more than the fastest call. Prints a line after each expression, what is needed to repeat a
// failure, and a summary. Exit status 1 if there was a failure.
//   --device NAME  "cpu", "opencl:0", "cuda:0"; cpu unless told
//   --seed S       of the random numbers, 1 unless told
//   --points N     of an expression at most, 1000000 unless told
//   --each N       configurations of one expression, 10 unless told
//   --climbs N     then so many times as many near to the one whose bound is the largest share of
//   its
//                  time; 0 unless told
//   --seconds N    to end after with what there is; no limit unless told
//   --data FOLDER  with client/expressions, the sources unless told
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bounds/bound_check.h"
#include "tests/source_path.h"
#include "tests/tuner/runner_program.h"

int main(int argc, char** argv) {
  mdh::BoundCheckOptions options;
  options.sources = mdh::SourcePath();
  options.runner = mdh::RunnerProgram();
  CLI::App app{"Compares bounds of random configurations with what these take."};
  app.add_option("--device", options.device, "cpu, opencl:N or cuda:N")->capture_default_str();
  app.add_option("--seed", options.seed, "of all that is drawn")->check(CLI::PositiveNumber);
  app.add_option("--points", options.points, "of an expression, at most")
      ->check(CLI::PositiveNumber);
  app.add_option("--each", options.each, "configurations of an expression")
      ->check(CLI::PositiveNumber);
  app.add_option("--climbs", options.climbs,
                 "times as many, near to the one that is nearest to its bound")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seconds", options.seconds, "to end after, with what there is")
      ->check(CLI::PositiveNumber);
  app.add_option("--data", options.sources, "folder with client/expressions");
  app.add_option("COUNT", options.count, "configurations")->required()->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / absl::StrCat("bound_campaign.", getpid());
  options.work_directory = directory.string();
  options.on_expression = [](const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  };
  int failures = 0;
  const auto report = mdh::CheckBounds(options, [&](const std::string& failure) {
    if (++failures <= 20) std::fputs(failure.c_str(), stderr);
  });
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (!report.ok()) {
    std::fprintf(stderr, "bound_campaign: error: %s\n",
                 std::string(report.status().message()).c_str());
    return 2;
  }
  std::puts(mdh::Summary(*report).c_str());
  return failures == 0 ? 0 : 1;
}
