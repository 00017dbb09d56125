// Constraints as a solver looks at them: what each of them rules out, given what is still open.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/constraints/operation_graph.h"
#include "tuner/space/constraints/parameter_values.h"
#include "tuner/space/solver/open_values.h"

namespace mdh {

// A part of a constraint that must hold by itself.
struct Rule {
  // Of a parameter: the operations that are it, and those above, operands first.
  struct Use {
    int parameter = -1;
    std::vector<int> leaves{};
    std::vector<int> steps{};
  };
  int operation = -1;
  int group = -1;  // of its constraint; -1: it always holds
  std::vector<Use> uses{};
  std::vector<int> steps{};  // operations, operands first
};

struct RuleSystem {
  std::vector<ParameterValues> values;  // by parameter
  OperationGraph graph;
  std::vector<Rule> rules;
};

// `group_of_constraint`: as of ConstraintSolver. Expects constraints that CheckFormula accepts.
RuleSystem RulesOf(const std::vector<TuningParameter>& parameters,
                   const std::vector<Constraint>& constraints,
                   const std::vector<int>& group_of_constraint);

// Not thread-safe. Keeps a reference.
class RuleReader {
 public:
  explicit RuleReader(const RuleSystem& system)
      : system_(system), values_(system.graph.bounds()) {}

  enum class Finding : uint8_t {
    kBroken,   // no choice among the open values satisfies the rule, or none of a parameter is left
    kSettled,  // all of them do
    kOpen,
  };
  // Closes values for which the rule cannot hold; appends the parameters that have lost some.
  // It is broken because of itself and of why values of its parameters were closed before.
  Finding Read(const Rule& rule, OpenValues& open, std::vector<int>& changed);

 private:
  void Load(const Rule::Use& use, uint32_t first, uint32_t last);
  void Run(const std::vector<int>& steps);
  void RunStep(int number);
  void RunPredicate(const Operation& operation, Bounds& result) const;
  bool CanHold(const Rule& rule) const { return (values_[rule.operation].can & kCanBeTrue) != 0; }
  bool CanHoldAt(const Rule& rule, const Rule::Use& use, uint32_t first, uint32_t last);
  // False if no value is left.
  bool Narrow(const Rule& rule, const Rule::Use& use, OpenValues& open);
  bool FindEnd(const Rule& rule, const Rule::Use& use, uint32_t first, uint32_t last,
               bool from_below, uint32_t* end);

  const RuleSystem& system_;
  std::vector<Bounds> values_;  // by operation
};

}  // namespace mdh
