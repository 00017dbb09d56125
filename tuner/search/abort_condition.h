// When a search ends (ATF). Conditions compose with and and or.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Every improvement of the best cost, and how far the search is.
struct SearchProgress {
  int64_t elapsed_ns = 0;
  int64_t evaluations = 0;  // failed ones included
  int64_t valid_evaluations = 0;
  std::optional<double> best_cost = std::nullopt;
  // Number of configurations of the space; 0: not known.
  Count space_count = 0;

  struct Improvement {
    int64_t elapsed_ns;
    int64_t evaluations;
    double cost;
  };
  std::vector<Improvement> improvements = {};
};

// Immutable, cheap to copy.
class AbortCondition {
 public:
  static AbortCondition Duration(int64_t nanoseconds);
  static AbortCondition Evaluations(int64_t count);
  static AbortCondition ValidEvaluations(int64_t count);
  // Evaluations are at least this fraction, 0..1, of the space.
  static AbortCondition Fraction(double fraction);
  static AbortCondition CostReached(double cost);
  // Over the last so many nanoseconds, or evaluations, the best cost did not become smaller by at
  // least that factor (> 1). Does not hold before the first valid evaluation.
  static AbortCondition SpeedupOverDuration(double factor, int64_t nanoseconds);
  static AbortCondition SpeedupOverEvaluations(double factor, int64_t count);
  friend AbortCondition operator&&(AbortCondition a, AbortCondition b);
  friend AbortCondition operator||(AbortCondition a, AbortCondition b);

  // duration(90s), evaluations(1000), valid_evaluations(50), fraction(0.1), cost(1.5e-3),
  // speedup(1.05, 30s), speedup(1.05, 200), joined by and, or (&&, ||) and parentheses; durations
  // are numbers with ns, us, ms, s, min or h. Errors: InvalidArgument with the column and what was
  // expected; for values that make no sense (negative, factor <= 1); and for conditions that cannot
  // hold together or never hold, saying which.
  static Result<AbortCondition> Parse(std::string_view text);
  std::string ToText() const;

  bool Holds(const SearchProgress& progress) const;
  // Whether `other` surely holds, no later, wherever this condition holds.
  bool Implies(const AbortCondition& other) const;
  // How many more evaluations, and nanoseconds, the condition allows at most, as far as it says;
  // nullopt: without limit.
  std::optional<int64_t> EvaluationsLeft(const SearchProgress& progress) const;
  std::optional<int64_t> NanosecondsLeft(const SearchProgress& progress) const;

 private:
  struct Node;
  explicit AbortCondition(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

}  // namespace mdh
