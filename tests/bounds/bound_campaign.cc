// bound_campaign [--device NAME] [--seed S] [--points N] [--each N] [--picks N] [--climbs N]
// [--runners N] [--expression-seconds N] [--compile-seconds N] [--lines N] [--no-peaks]
// [--known-peaks FILE] [--seconds N] [--page FILE] [--commit NAME] COUNT: measures COUNT random
// configurations of shipped expressions with random sizes, and judges their bounds and those of
// every prefix of five orders of decisions: none may fall along a decision, none may be more than
// the fastest call. Prints a line after each expression, what is needed to repeat a failure, and a
// summary. Exit status 1 if there was a failure.
//   --device NAME  "cpu", "opencl:0", "cuda:0"; cpu unless told
//   --seed S       of the random numbers, 1 unless told
//   --points N     of an expression at most, 1000000 unless told
//   --each N       configurations to draw of one expression, 100 unless told
//   --picks N      of which each is, of N that are drawn, the one whose bound is the largest share
//                  of what the model of costs expects; 1 unless told
//   --climbs N     then so many times as many near to the one that is nearest to its bound; none
//                  unless told
//   --runners N    expressions under way at the same time; on hosts each has a part of the cores
//                  alone; one on hosts, and as the device allows elsewhere, unless told
//   --expression-seconds N  after which no more is drawn of an expression; no limit unless told
//   --compile-seconds N  of a kernel at most, 10 unless told
//   --lines N      of a kernel with loops unrolled, at most: of what has more, for which compilers
//                  take long, others are drawn instead; no limit unless told
//   --no-peaks     rates of the device's description alone; peaks take a minute of a busy host
//   --known-peaks FILE  peaks that are there; measured and written if the file is not: for several
//                  processes with as many runners and cores each
//   --seconds N    to end after with what there is; no limit unless told
//   --data FOLDER  with client/expressions, the sources unless told
//   --page FILE    adds what was found to a page
//   --commit NAME  which the page says it is of
// bound_campaign --page FILE --rows OTHER: adds what another page says, and measures nothing.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bounds/bound_check.h"
#include "tests/bounds/campaign_page.h"
#include "tests/source_path.h"
#include "tests/tuner/runner_program.h"

namespace {

std::string ContentOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int Fail(const mdh::Status& status) {
  std::fprintf(stderr, "bound_campaign: error: %s\n", std::string(status.message()).c_str());
  return 2;
}

// The page with these rows, too.
mdh::Status AddToPage(const std::string& path, const std::string& rows) {
  MDH_ASSIGN_OR_RETURN(const std::string page, mdh::CampaignPage(ContentOf(path), rows));
  std::ofstream file(path);
  file << page;
  file.close();
  if (file.good()) return absl::OkStatus();
  return mdh::InvalidArgument(path, " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  mdh::BoundCheckOptions options;
  options.sources = mdh::SourcePath();
  options.runner = mdh::RunnerProgram();
  CLI::App app{"Compares bounds of random configurations with what these take."};
  app.add_option("--device", options.device, "cpu, opencl:N or cuda:N")->capture_default_str();
  app.add_option("--seed", options.seed, "of all that is drawn")->check(CLI::PositiveNumber);
  app.add_option("--points", options.points, "of an expression, at most")
      ->check(CLI::PositiveNumber);
  app.add_option("--each", options.each, "configurations to draw of an expression")
      ->check(CLI::PositiveNumber);
  app.add_option("--picks", options.picks,
                 "to draw for each, of which the one that may be nearest to its bound is taken")
      ->check(CLI::PositiveNumber);
  app.add_option("--climbs", options.climbs,
                 "times as many, near to the one that is nearest to its bound")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--runners", options.runners, "expressions under way at the same time")
      ->check(CLI::PositiveNumber);
  app.add_option("--expression-seconds", options.expression_seconds,
                 "of an expression, after which no more of it is drawn")
      ->check(CLI::PositiveNumber);
  app.add_option("--compile-seconds", options.compile_seconds, "of a kernel, at most")
      ->check(CLI::PositiveNumber);
  app.add_option("--lines", options.lines,
                 "of a kernel with loops unrolled, at most; what has more is drawn again")
      ->check(CLI::PositiveNumber);
  app.add_flag("!--no-peaks", options.has_peaks, "rates of the device's description alone");
  app.add_option("--known-peaks", options.known_peaks,
                 "file of what the device reaches; measured and written if it is not there");
  app.add_option("--seconds", options.seconds, "to end after, with what there is")
      ->check(CLI::PositiveNumber);
  app.add_option("--data", options.sources, "folder with client/expressions");
  std::string page, rows, commit;
  app.add_option("--page", page, "file to add what was found to");
  app.add_option("--commit", commit, "that the page names");
  auto* const others = app.add_option("--rows", rows, "page whose rows are added to --page instead")
                           ->check(CLI::ExistingFile);
  auto* const count = app.add_option("COUNT", options.count, "configurations to measure (100)")
                          ->check(CLI::PositiveNumber);
  others->needs("--page")->excludes(count);
  CLI11_PARSE(app, argc, argv);
  if (!rows.empty()) {
    const mdh::Status added = AddToPage(page, ContentOf(rows));
    return added.ok() ? 0 : Fail(added);
  }
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
  if (!report.ok()) return Fail(report.status());
  std::puts(mdh::Summary(*report).c_str());
  if (!page.empty()) {
    const std::string row =
        mdh::RowOf(*report, {.seed = options.seed, .points = options.points, .commit = commit});
    std::fputs(row.c_str(), stdout);
    if (const mdh::Status added = AddToPage(page, row); !added.ok()) return Fail(added);
  }
  return failures == 0 ? 0 : 1;
}
