// bound_campaign [--device NAME] [--seed S] [--points N] [--each N] COUNT: judges the bounds of
// COUNT random configurations of shipped expressions with random sizes, and those of every prefix
// of five orders of decisions: none may fall along a decision, none may be more than the fastest
// call. Prints what is needed to repeat a failure, and a summary. Exit status 1 if there was a
// failure.
//   --device NAME  "cpu", "opencl:0", "cuda:0"; cpu unless told
//   --seed S       of the random numbers, 1 unless told
//   --points N     of an expression at most, 1000000 unless told
//   --each N       configurations of one expression, 10 unless told
//   --data FOLDER  with client/expressions, the sources unless told
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/bounds/bound_check.h"
#include "tests/source_path.h"
#include "tests/tuner/runner_program.h"

namespace {

[[noreturn]] void Usage(const std::string& why) {
  std::fprintf(stderr,
               "bound_campaign: error: %s\nusage: bound_campaign [--device NAME] [--seed S] "
               "[--points N] [--each N] [--data FOLDER] COUNT\n",
               why.c_str());
  std::exit(2);
}

template <typename T>
T Number(const std::string& text) {
  T value = 0;
  if (!absl::SimpleAtoi(text, &value) || value <= 0) Usage("'" + text + "' is no count");
  return value;
}

mdh::BoundCheckOptions Parse(int argc, char** argv) {
  mdh::BoundCheckOptions options;
  options.count = 0;
  options.sources = mdh::SourcePath();
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word.rfind("--", 0) != 0) {
      options.count = Number<int>(word);
      continue;
    }
    if (n + 1 == argc) Usage(word + " needs a value");
    const std::string value = argv[++n];
    if (word == "--device") {
      options.device = value;
    } else if (word == "--seed") {
      options.seed = Number<uint64_t>(value);
    } else if (word == "--points") {
      options.points = Number<int64_t>(value);
    } else if (word == "--each") {
      options.each = Number<int>(value);
    } else if (word == "--data") {
      options.sources = value;
    } else {
      Usage("there is no option " + word);
    }
  }
  if (options.count == 0) Usage("how many?");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  mdh::BoundCheckOptions options = Parse(argc, argv);
  options.runner = mdh::RunnerProgram();
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / absl::StrCat("bound_campaign.", getpid());
  options.work_directory = directory.string();
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
