// mdh compare-techniques: plays search techniques on recorded tables of costs; no daemon.
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/commands/call/command.h"
#include "tuner/search/technique_comparison.h"

namespace mdh {
namespace {

struct CompareArguments {
  std::vector<std::string> tables;
  ComparisonOptions options;
  std::string svg;
};

ExitCode Compare(const GlobalOptions& global, const CompareArguments& arguments) {
  std::vector<RecordedCosts> tables;
  for (const std::string& path : arguments.tables) {
    Result<RecordedCosts> table = RecordedCosts::Read(path);
    if (!table.ok()) {
      const bool is_missing = table.status().code() == absl::StatusCode::kNotFound;
      return Fail(is_missing ? ExitCode::kNotFound : ExitCode::kUsage,
                  std::string(table.status().message()));
    }
    tables.push_back(*std::move(table));
  }
  const Result<std::vector<TechniqueResult>> results = CompareTechniques(tables, arguments.options);
  if (!results.ok()) return Fail(ExitCode::kUsage, std::string(results.status().message()));
  if (!arguments.svg.empty()) {
    std::ofstream out(arguments.svg, std::ios::binary);
    out << ComparisonToSvg(*results);
    out.close();
    if (!out) return Fail(ExitCode::kCannotWrite, absl::StrCat("cannot write ", arguments.svg));
  }
  const std::string text = global.json ? ComparisonToJson(*results) : ComparisonToText(*results);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::kOk;
}

}  // namespace

void AddCompareTechniquesCommand(CLI::App& app, const GlobalOptions& global,
                                 SelectedCommand& selected) {
  auto arguments = std::make_shared<CompareArguments>();
  arguments->options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  CLI::App* compare = app.add_subcommand(
      "compare-techniques", "play search techniques on recorded tables of costs; no daemon");
  compare->add_option("TABLE", arguments->tables, "files of recorded costs")->required();
  compare
      ->add_option("--techniques", arguments->options.techniques,
                   "names, separated by commas [auc_bandit,random]")
      ->delimiter(',');
  compare->add_option("--seeds", arguments->options.seeds, "searches per table and technique")
      ->capture_default_str();
  compare
      ->add_option("--evaluations", arguments->options.evaluations,
                   "per search, at most; a search ends when it finds the best")
      ->capture_default_str();
  compare
      ->add_option("--lookahead", arguments->options.lookahead,
                   "configurations that could be evaluated at once")
      ->capture_default_str();
  compare->add_option("--svg", arguments->svg, "also plot best costs against evaluations");
  compare->callback([&global, &selected, arguments] {
    selected = [&global, arguments] { return Compare(global, *arguments); };
  });
}

}  // namespace mdh
