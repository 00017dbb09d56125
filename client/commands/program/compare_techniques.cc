// mdh compare-techniques: plays search techniques on recorded tables of costs; no daemon.
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "client/commands/call/command.h"
#include "tuner/search/technique_comparison.h"

namespace mdh {
namespace {

struct CompareArguments {
  std::vector<std::string> tables;
  ComparisonOptions options;
  std::string svg;
};

Status Compare(const GlobalOptions& global, const CompareArguments& arguments) {
  std::vector<RecordedCosts> tables;
  for (const std::string& path : arguments.tables) {
    Result<RecordedCosts> table = RecordedCosts::Read(path);
    const ExitCode code = absl::IsNotFound(table.status()) ? ExitCode::kNotFound : ExitCode::kUsage;
    MDH_RETURN_IF_ERROR(WithExitCode(code, table.status()));
    tables.push_back(*std::move(table));
  }
  MDH_ASSIGN_OR_RETURN(
      const std::vector<TechniqueResult> results,
      WithExitCode(ExitCode::kUsage, CompareTechniques(tables, arguments.options)));
  if (!arguments.svg.empty()) {
    std::ofstream out(arguments.svg, std::ios::binary);
    out << ComparisonToSvg(results);
    out.close();
    if (!out) return WithExitCode(ExitCode::kCannotWrite, "cannot write " + arguments.svg);
  }
  const std::string text = global.json ? ComparisonToJson(results) : ComparisonToText(results);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
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
  Select(compare, selected, [&global, arguments] { return Compare(global, *arguments); });
}

}  // namespace mdh
