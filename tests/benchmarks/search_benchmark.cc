// How many evaluations search techniques need on recorded costs of MDH cases:
//   search_benchmark --tables FOLDER [--json FILE] [--cases PATTERN] [--bounds GHZ]
// Every search goes on until it has a cost within 5 % of the table's best; the default technique is
// compared with random search, without replacement. With --bounds searches know what no kernel is
// faster than on a processor of at most so many GHz, and what the generator expects of each.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/benchmarks/bounds/recorded_bounds.h"
#include "tests/benchmarks/recorded_tables.h"
#include "tests/source_path.h"
#include "tuner/search/recorded_costs.h"
#include "tuner/search/technique_comparison.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {
namespace {

constexpr char kBaseline[] = "random";
constexpr char kJudged[] = "auc_bandit";
constexpr double kMostOfBaseline = 1.0 / 3;

// Evaluations to the target; searches go on until they reach it.
double Evaluations(const TechniqueResult& result, double quantile) {
  return static_cast<double>(result.ToTarget(quantile).value_or(result.evaluations()));
}

size_t ReachTarget(const RecordedCosts& table) {
  const double target = TargetCost(table);
  return static_cast<size_t>(
      std::count_if(table.costs().begin(), table.costs().end(),
                    [target](const Cost& cost) { return cost.has_value() && *cost <= target; }));
}

// Whether the judged technique needs few enough on every table.
bool Print(const std::vector<RecordedCosts>& tables, const std::vector<TechniqueResult>& results) {
  bool is_met = true;
  for (size_t t = 0; t < tables.size(); ++t) {
    const auto is_baseline = [t](const TechniqueResult& result) {
      return result.table_position() == t && result.technique() == kBaseline;
    };
    const TechniqueResult& baseline = *std::find_if(results.begin(), results.end(), is_baseline);
    std::printf("%s: %zu configurations, %zu within 5 %% of the best\n", tables[t].name().c_str(),
                tables[t].costs().size(), ReachTarget(tables[t]));
    std::printf("  %-24s %8s %8s %20s %6s\n", "evaluations", "median", "90 %", "beside random", "");
    for (const TechniqueResult& result : results) {
      if (result.table_position() != t) continue;
      const double median = Evaluations(result, 0.5), p90 = Evaluations(result, 0.9);
      const double of_median = median / Evaluations(baseline, 0.5);
      const double of_p90 = p90 / Evaluations(baseline, 0.9);
      const bool is_few = of_median <= kMostOfBaseline && of_p90 <= kMostOfBaseline;
      const bool is_judged = result.technique() == kJudged;
      if (is_judged) is_met &= is_few;
      std::printf("  %-24s %8.0f %8.0f %10.3f%10.3f  %s\n", result.technique().c_str(), median, p90,
                  of_median, of_p90,
                  !is_judged ? ""
                  : is_few   ? "at most a third: yes"
                             : "at most a third: NO");
    }
  }
  return is_met;
}

// Of all tables, by technique: geometric means.
void PrintMeans(const std::vector<TechniqueResult>& results) {
  struct Sum {
    double median = 0, p90 = 0;
    int tables = 0;
  };
  std::map<std::string, Sum> sums;
  for (const TechniqueResult& result : results) {
    Sum& sum = sums[result.technique()];
    sum.median += std::log(Evaluations(result, 0.5));
    sum.p90 += std::log(Evaluations(result, 0.9));
    ++sum.tables;
  }
  std::printf("geometric means\n");
  for (const auto& [technique, sum] : sums) {
    std::printf("  %-24s %8.1f %8.1f\n", technique.c_str(), std::exp(sum.median / sum.tables),
                std::exp(sum.p90 / sum.tables));
  }
}

Result<TableFigures> Run(const std::vector<RecordedCosts>& tables, const std::string& ghz) {
  ComparisonOptions comparison;
  double clock_ghz = 0;
  if (!ghz.empty() && (!absl::SimpleAtod(ghz, &clock_ghz) || !(clock_ghz > 0))) {
    return InvalidArgument("--bounds is '", ghz, "', expected a positive number of GHz");
  }
  for (const RecordedCosts& table : tables) {
    if (ghz.empty()) break;
    MDH_ASSIGN_OR_RETURN(comparison.bounds.emplace_back(),
                         BoundOfTable(SourcePath(), table, clock_ghz * 1e9));
    MDH_ASSIGN_OR_RETURN(comparison.estimates.emplace_back(),
                         EstimateOfTable(SourcePath(), table, clock_ghz * 1e9));
  }
  comparison.techniques = SearchTechniqueNames();
  comparison.only_to_target = true;
  comparison.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  comparison.evaluations = 1;
  for (const RecordedCosts& table : tables) {
    comparison.evaluations =
        std::max(comparison.evaluations, static_cast<int64_t>(table.costs().size()));
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<TechniqueResult> results,
                       CompareTechniques(tables, comparison));
  const bool is_met = Print(tables, results);
  PrintMeans(results);
  return TableFigures{is_met, ComparisonToJson(results)};
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  std::string ghz;
  return mdh::RunOnTables(
      argc, argv, "search_benchmark",
      [&](const std::vector<mdh::RecordedCosts>& tables) { return mdh::Run(tables, ghz); },
      {{"--bounds", "GHZ", &ghz}});
}
