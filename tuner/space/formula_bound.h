// Bounds on costs that users give as a formula over the parameters.
#pragma once

#include <optional>
#include <vector>

#include "tuner/space/constraints/operation_graph.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/formula/formula.h"

namespace mdh {

// The value of a formula for one configuration; for several the least of an interval that has all
// of their values. 0 where that is negative, or may have no value: costs are not below 0.
class FormulaBound : public CostBound {
 public:
  // Expects a number that CheckFormula accepts.
  FormulaBound(Formula formula, std::vector<TuningParameter> parameters);

  double Of(OpenCodes open) const override;

 private:
  // By intervals; 0 if some may have no value, or operations cannot express the formula.
  double LeastOf(OpenCodes open) const;
  double OfCodes(absl::Span<const int64_t> configuration) const;

  const Formula formula_;
  const std::vector<TuningParameter> parameters_;
  std::vector<int> used_;                // numbers of the formula's parameters
  std::vector<ParameterValues> values_;  // by parameter
  OperationGraph graph_;
  std::optional<Operand> root_;
};

}  // namespace mdh
