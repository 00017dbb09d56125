// What an expert's schedule saves: searches on recorded costs of MDH cases in which half of the
// decisions are those of the fastest configuration, beside free ones:
//   pinned_benchmark --tables FOLDER [--json FILE] [--cases PATTERN]
// Every search goes on until it has a cost within 5 % of the table's best. Which half is pinned is
// drawn anew for every search.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/benchmarks/recorded_tables.h"
#include "tuner/search/replay.h"
#include "tuner/search/technique_comparison.h"

namespace mdh {
namespace {

constexpr const char* kTechniques[] = {"auc_bandit", "annealing", "random"};
constexpr const char* kJudged =
    "auc_bandit";  // what searches use unless they are asked for another
constexpr int kSearches = 100;
constexpr double kMostOfFree = 1.0 / 3;

struct Figure {
  std::string table, technique;
  size_t decisions;
  double configurations_left;  // median, of all of the table
  int64_t free, pinned;        // medians of evaluations

  double ratio() const { return static_cast<double>(pinned) / static_cast<double>(free); }
};

template <typename Value>
Value Median(std::vector<Value> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<int64_t> Evaluations(const RecordedCosts& table, const std::string& technique,
                            uint64_t seed) {
  MDH_ASSIGN_OR_RETURN(const std::vector<Cost> trace,
                       Replay(table, {.technique = technique, .seed = seed},
                              static_cast<int64_t>(table.costs().size()), TargetCost(table)));
  return static_cast<int64_t>(trace.size());
}

Result<RecordedCosts> HalfPinned(const RecordedCosts& table, uint64_t seed) {
  std::vector<std::vector<size_t>> decisions = DecisionsOf(table);
  std::mt19937_64 rng(seed);
  for (size_t n = decisions.size(); n > 1; --n) std::swap(decisions[n - 1], decisions[rng() % n]);
  std::vector<size_t> pinned;
  for (size_t n = 0; n < decisions.size() / 2; ++n) {
    pinned.insert(pinned.end(), decisions[n].begin(), decisions[n].end());
  }
  return WithPinned(table, pinned);
}

Result<std::vector<Figure>> FiguresOf(const RecordedCosts& table) {
  std::vector<RecordedCosts> parts;
  std::vector<double> left;
  for (uint64_t seed = 1; seed <= kSearches; ++seed) {
    MDH_ASSIGN_OR_RETURN(RecordedCosts part, HalfPinned(table, seed));
    left.push_back(static_cast<double>(part.costs().size()) /
                   static_cast<double>(table.costs().size()));
    parts.push_back(std::move(part));
  }
  std::vector<Figure> figures;
  for (const char* technique : kTechniques) {
    std::vector<int64_t> free, pinned;
    for (uint64_t seed = 1; seed <= kSearches; ++seed) {
      MDH_ASSIGN_OR_RETURN(free.emplace_back(), Evaluations(table, technique, seed));
      MDH_ASSIGN_OR_RETURN(pinned.emplace_back(), Evaluations(parts[seed - 1], technique, seed));
    }
    figures.push_back({table.name(), technique, DecisionsOf(table).size(), Median(left),
                       Median(free), Median(pinned)});
  }
  return figures;
}

// Whether the judged technique needs few enough.
bool Print(const Figure& figure) {
  const bool is_judged = figure.technique == kJudged, is_few = figure.ratio() <= kMostOfFree;
  std::printf("  %-12s %8lld %8lld %8.3f  %s\n", figure.technique.c_str(),
              static_cast<long long>(figure.free), static_cast<long long>(figure.pinned),
              figure.ratio(),
              !is_judged ? ""
              : is_few   ? "at most a third: yes"
                         : "at most a third: NO");
  return is_few || !is_judged;
}

Result<TableFigures> Run(const std::vector<RecordedCosts>& tables) {
  bool is_met = true;
  std::vector<double> ratios;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RecordedCosts& table : tables) {
    MDH_ASSIGN_OR_RETURN(const std::vector<Figure> figures, FiguresOf(table));
    std::printf("%s: %zu configurations, %.1f %% of them with half of the %zu decisions pinned\n",
                table.name().c_str(), table.costs().size(), 100 * figures[0].configurations_left,
                figures[0].decisions);
    std::printf("  %-12s %8s %8s %8s\n", "evaluations", "free", "pinned", "ratio");
    for (const Figure& figure : figures) {
      is_met &= Print(figure);
      if (figure.technique == kJudged) ratios.push_back(figure.ratio());
      json.push_back({{"table", figure.table},
                      {"technique", figure.technique},
                      {"decisions", figure.decisions},
                      {"configurations_left", figure.configurations_left},
                      {"free", figure.free},
                      {"pinned", figure.pinned}});
    }
  }
  std::printf("median of the tables: %.3f\n", Median(ratios));
  return TableFigures{is_met, json.dump(2) + "\n"};
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  return mdh::RunOnTables(argc, argv, "pinned_benchmark", mdh::Run);
}
