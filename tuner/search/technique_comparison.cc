#include "tuner/search/technique_comparison.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include "tuner/search/replay.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {
namespace {

// Position of a quantile among n sorted values.
size_t Rank(double quantile, size_t n) {
  const double rank = std::ceil(quantile * static_cast<double>(n) - 1e-9);
  return static_cast<size_t>(std::max(rank, 1.0)) - 1;
}

Status CheckOptions(const std::vector<RecordedCosts>& tables, const ComparisonOptions& options) {
  for (const auto& [name, value] : {std::pair<absl::string_view, int64_t>("seeds", options.seeds),
                                    {"evaluations", options.evaluations},
                                    {"lookahead", options.lookahead},
                                    {"threads", options.threads}}) {
    if (value >= 1) continue;
    return InvalidArgument(name, " must be at least 1, not ", value);
  }
  if (!options.bounds.empty() && options.bounds.size() != tables.size()) {
    return InvalidArgument(options.bounds.size(), " bounds of ", tables.size(), " tables");
  }
  if (!options.estimates.empty() && options.estimates.size() != tables.size()) {
    return InvalidArgument(options.estimates.size(), " estimates of ", tables.size(), " tables");
  }
  for (const std::string& technique : options.techniques) {
    MDH_RETURN_IF_ERROR(SearchTechniqueNamed(technique).status());
  }
  for (const RecordedCosts& table : tables) {
    if (table.best()) continue;
    return InvalidArgument("table ", table.name(), " has no costs");
  }
  return absl::OkStatus();
}

}  // namespace

// For costs below zero, too: as far from the best.
double TargetCost(const RecordedCosts& table) {
  return *table.best() + std::abs(*table.best()) * (1 / kTarget - 1);
}

TechniqueResult::TechniqueResult(size_t table_position, const RecordedCosts& table,
                                 std::string technique, int64_t evaluations,
                                 std::vector<std::vector<Cost>> traces)
    : table_position_(table_position),
      table_(table.name()),
      technique_(std::move(technique)),
      optimum_(*table.best()),
      evaluations_(evaluations),
      traces_(std::move(traces)) {
  const double enough = TargetCost(table);
  for (const std::vector<Cost>& trace : traces_) {
    const auto reached =
        std::ranges::find_if(trace, [enough](const Cost& cost) { return cost && *cost <= enough; });
    if (reached != trace.end()) reached_.push_back(reached - trace.begin() + 1);
  }
  std::ranges::sort(reached_);
}

std::optional<int64_t> TechniqueResult::ToTarget(double quantile) const {
  const size_t rank = Rank(quantile, traces_.size());
  if (rank >= reached_.size()) return std::nullopt;
  return reached_[rank];
}

int TechniqueResult::never() const { return static_cast<int>(traces_.size() - reached_.size()); }

Cost TechniqueResult::BestAfter(int64_t evaluations, double quantile) const {
  std::vector<double> costs;
  for (const std::vector<Cost>& trace : traces_) {
    if (trace.empty()) continue;
    const Cost& cost = trace[std::min(trace.size(), static_cast<size_t>(evaluations)) - 1];
    if (cost) costs.push_back(*cost);
  }
  const size_t rank = Rank(quantile, traces_.size());
  if (rank >= costs.size()) return std::nullopt;
  std::ranges::sort(costs);
  return costs[rank];
}

Result<std::vector<TechniqueResult>> CompareTechniques(const std::vector<RecordedCosts>& tables,
                                                       const ComparisonOptions& options) {
  MDH_RETURN_IF_ERROR(CheckOptions(tables, options));
  const auto seeds = static_cast<size_t>(options.seeds);
  const size_t pairs = tables.size() * options.techniques.size();
  std::vector<std::vector<std::vector<Cost>>> traces(pairs, std::vector<std::vector<Cost>>(seeds));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t job = next++; job < pairs * seeds; job = next++) {
      const size_t pair = job / seeds;
      const size_t t = pair / options.techniques.size();
      const RecordedCosts& table = tables[t];
      const SearchOptions search = {
          .technique = options.techniques[pair % options.techniques.size()],
          .seed = job % seeds + 1,
          .lookahead = options.lookahead,
          .bound = options.bounds.empty() ? nullptr : options.bounds[t],
          .estimate = options.estimates.empty() ? nullptr : options.estimates[t]};
      traces[pair][job % seeds] =
          *Replay(table, search, options.evaluations,
                  options.only_to_target ? TargetCost(table) : *table.best());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::vector<TechniqueResult> results;
  for (size_t pair = 0; pair < pairs; ++pair) {
    const RecordedCosts& table = tables[pair / options.techniques.size()];
    results.emplace_back(pair / options.techniques.size(), table,
                         options.techniques[pair % options.techniques.size()], options.evaluations,
                         std::move(traces[pair]));
  }
  return results;
}

std::vector<int64_t> ReportedEvaluations(int64_t evaluations) {
  std::vector<int64_t> reported;
  for (int64_t decade = 10; decade < evaluations; decade *= 10) {
    for (const int64_t factor : {1, 2, 5}) {
      if (decade * factor < evaluations) reported.push_back(decade * factor);
    }
  }
  reported.push_back(evaluations);
  return reported;
}

}  // namespace mdh
