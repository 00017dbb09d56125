// Techniques compared: played on recorded tables over many seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/search/recorded_costs.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/cost_estimate.h"

namespace mdh {

struct ComparisonOptions {
  std::vector<std::string> techniques = {"auc_bandit", "random"};
  int seeds = 30;              // 1, 2, ..., seeds
  int64_t evaluations = 1000;  // per search, at most
  int lookahead = 4;           // SearchOptions
  // Whether searches end at the target, so that only ToTarget means something, or go on to the best
  // cost of the table.
  bool only_to_target = false;
  // By table, what its configurations cannot cost less than; none: searches know no bounds.
  std::vector<std::shared_ptr<const CostBound>> bounds = {};
  // By table, what they may cost; none: nothing is expected.
  std::vector<std::shared_ptr<const CostEstimate>> estimates = {};
  int threads = 1;  // the result does not depend on it
};

// Reached: a cost of at most the table's best over this. Tables have at least one cost.
constexpr double kTarget = 0.95;

double TargetCost(const RecordedCosts& table);

// One technique on one table, over all seeds.
class TechniqueResult {
 public:
  // traces[seed - 1]: best costs (Replay).
  TechniqueResult(size_t table_position, const RecordedCosts& table, std::string technique,
                  int64_t evaluations, std::vector<std::vector<Cost>> traces);

  size_t table_position() const { return table_position_; }  // among those compared
  const std::string& table() const { return table_; }        // its name
  const std::string& technique() const { return technique_; }
  double optimum() const { return optimum_; }
  int64_t evaluations() const { return evaluations_; }

  // Evaluations to the target; the quantile is the smallest value that at least this fraction of
  // the seeds does not exceed; nullopt if fewer reached it.
  std::optional<int64_t> ToTarget(double quantile) const;
  // Seeds that did not reach the target.
  int never() const;
  // Quantile of the best cost after so many evaluations, at least 1.
  Cost BestAfter(int64_t evaluations, double quantile) const;

 private:
  size_t table_position_;
  std::string table_;
  std::string technique_;
  double optimum_;
  int64_t evaluations_;
  std::vector<std::vector<Cost>> traces_;
  std::vector<int64_t> reached_;  // sorted, of the seeds that did
};

// Tables in the order given, for each all techniques. Errors: NotFound for an unknown technique;
// InvalidArgument for options that are not positive, a table without any cost, or other tables than
// bounds or estimates.
Result<std::vector<TechniqueResult>> CompareTechniques(const std::vector<RecordedCosts>& tables,
                                                       const ComparisonOptions& options);

// For people: one table per recorded table.
std::string ComparisonToText(const std::vector<TechniqueResult>& results);
// One list of objects: table, technique, optimum, evaluations, to_target {median, q25, q75, q90,
// never}, best [{evaluations, median, q25, q75}]; null where a quantile did not reach it.
std::string ComparisonToJson(const std::vector<TechniqueResult>& results);
// One panel per recorded table: medians of the best cost over the optimum against evaluations, with
// bands between the quartiles; both axes are logarithmic.
std::string ComparisonToSvg(const std::vector<TechniqueResult>& results);

// Evaluations at which best costs are reported: 10, 20, 50, 100, ..., below the number itself, and
// this.
std::vector<int64_t> ReportedEvaluations(int64_t evaluations);

}  // namespace mdh
