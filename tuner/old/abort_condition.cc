// The basic abort conditions and their composition.
#include "tuner/old/abort_condition.h"

#include <utility>

namespace mdh::old {

AbortCondition AbortCondition::Duration(int64_t nanoseconds) {
  return AbortCondition([=](const SearchProgress& p) { return p.elapsed_ns >= nanoseconds; });
}

AbortCondition AbortCondition::Evaluations(int64_t count) {
  return AbortCondition([=](const SearchProgress& p) { return p.evaluations >= count; });
}

AbortCondition AbortCondition::ValidEvaluations(int64_t count) {
  return AbortCondition([=](const SearchProgress& p) { return p.valid_evaluations >= count; });
}

AbortCondition AbortCondition::CostReached(double cost) {
  return AbortCondition(
      [=](const SearchProgress& p) { return p.best_cost.has_value() && *p.best_cost <= cost; });
}

AbortCondition operator&&(AbortCondition a, AbortCondition b) {
  return AbortCondition([a = std::move(a.holds_), b = std::move(b.holds_)](
                            const SearchProgress& p) { return a(p) && b(p); });
}

AbortCondition operator||(AbortCondition a, AbortCondition b) {
  return AbortCondition([a = std::move(a.holds_), b = std::move(b.holds_)](
                            const SearchProgress& p) { return a(p) || b(p); });
}

}  // namespace mdh::old
