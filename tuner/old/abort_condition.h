// When a search ends. Conditions compose with And and Or.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace mdh::old {

struct SearchProgress {
  int64_t elapsed_ns = 0;
  int64_t evaluations = 0;  // failed ones included
  int64_t valid_evaluations = 0;
  std::optional<double> best_cost = std::nullopt;
};

class AbortCondition {
 public:
  static AbortCondition Duration(int64_t nanoseconds);
  static AbortCondition Evaluations(int64_t count);
  static AbortCondition ValidEvaluations(int64_t count);
  static AbortCondition CostReached(double cost);
  friend AbortCondition operator&&(AbortCondition a, AbortCondition b);
  friend AbortCondition operator||(AbortCondition a, AbortCondition b);

  bool Holds(const SearchProgress& progress) const { return holds_(progress); }

 private:
  explicit AbortCondition(std::function<bool(const SearchProgress&)> holds)
      : holds_(std::move(holds)) {}
  std::function<bool(const SearchProgress&)> holds_;
};

}  // namespace mdh::old

// Until everything uses tuner/space and tuner/search.
namespace mdh {
using namespace old;
}
