// The tree behind an abort condition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/abort_condition.h"

namespace mdh {

struct AbortCondition::Node {
  enum class Kind : uint8_t {
    kDuration,                // count: nanoseconds
    kEvaluations,             // count
    kValidEvaluations,        // count
    kFraction,                // number
    kCost,                    // number
    kSpeedupOverDuration,     // number: factor; count: nanoseconds
    kSpeedupOverEvaluations,  // number: factor; count
    kAnd,                     // operands: two or more
    kOr,                      // idem
  };

  bool Holds(const SearchProgress& progress) const;
  std::optional<int64_t> EvaluationsLeft(const SearchProgress& progress) const;
  std::optional<int64_t> NanosecondsLeft(const SearchProgress& progress) const;
  std::string ToText() const;
  // Whether `other` surely holds, at once or before, where this condition holds.
  bool Implies(const Node& other) const;

  Kind kind;
  int64_t count = 0;
  double number = 0;
  std::vector<AbortCondition> operands = {};

  static AbortCondition Make(Node node);
  static const Node& Of(const AbortCondition& condition) { return *condition.node_; }
  // `kind` of a and b; chains of one kind are one node.
  static AbortCondition Join(Kind kind, AbortCondition a, AbortCondition b);

 private:
  bool LeafImplies(const Node& leaf) const;
};

}  // namespace mdh
