// Constraints as a solver looks at them: what each of them rules out, given what is still open.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/constraints/operation_graph.h"
#include "tuner/space/constraints/parameter_values.h"
#include "tuner/space/solver/open_values.h"

namespace mdh {

// An operation on several parameters that several others look at: what one rule tells of it, others
// know. Its values are integers or conditions.
struct Term {
  int operation = -1;
  bool is_condition = false;
  int64_t least = 0;  // the value at position 0
  uint32_t size = 0;
  // The last position is also all values beyond, and that it overflows, where it can.
  int64_t greatest = 0;
  bool can_overflow = false;

  Bounds At(uint32_t first, uint32_t last) const;
  // Positions of what an operation can come to.
  PositionRange PositionsOf(const Bounds& bounds) const;
};

// A part of a constraint that must hold by itself; or that a term has one of its open values.
struct Rule {
  // Of a variable, which are the parameters and then the terms: the operations that are it, and
  // those above, operands first.
  struct Use {
    int variable = -1;
    bool is_direct = false;  // no other term stands between some of these operations and the rule's
    std::vector<int> leaves{};
    std::vector<int> steps{};
  };
  int operation = -1;
  int group = -1;  // of its constraint; -1: it always holds
  int term = -1;   // variable, whose operation it is; -1: it is a constraint
  std::vector<Use> uses{};
  std::vector<int> steps{};  // operations, operands first
};

struct RuleSystem {
  std::vector<ParameterValues> values;  // by parameter
  OperationGraph graph;
  std::vector<Term> terms;
  std::vector<int> term_of_operation;  // variable; -1
  std::vector<Rule> rules;

  int parameters() const { return static_cast<int>(values.size()); }
  bool IsCondition(int variable) const {
    return variable >= parameters() && terms[variable - parameters()].is_condition;
  }
  int variables() const { return parameters() + static_cast<int>(terms.size()); }
};

// `group_of_constraint`: as of ConstraintSolver. Expects constraints that CheckFormula accepts.
RuleSystem RulesOf(const std::vector<TuningParameter>& parameters,
                   const std::vector<Constraint>& constraints,
                   const std::vector<int>& group_of_constraint);

// Not thread-safe. Keeps a reference.
class RuleReader {
 public:
  explicit RuleReader(const RuleSystem& system) : system_(system), values_(system.graph.bounds()) {}

  enum class Finding : uint8_t {
    kBroken,   // no choice among the open values satisfies the rule, or none of a variable is left
    kSettled,  // all of them do
    kOpen,
  };
  // Closes values for which the rule cannot hold; appends the variables that have lost some.
  // It is broken because of itself and of why values of its variables were closed before.
  Finding Read(const Rule& rule, OpenValues& open, std::vector<int>& changed);

 private:
  void Load(const Rule::Use& use, uint32_t first, uint32_t last);
  void Run(const std::vector<int>& steps);
  void RunStep(int number);
  void Clip(int number, int variable);
  bool NarrowTerm(const Rule& rule, OpenValues& open, std::vector<int>& changed);
  Finding FindingOf(const Rule& rule) const;
  void RunPredicate(const Operation& operation, Bounds& result) const;
  bool CanHold(const Rule& rule) const;
  bool CanHoldAt(const Rule& rule, const Rule::Use& use, uint32_t first, uint32_t last);
  // False if no value is left.
  bool Narrow(const Rule& rule, const Rule::Use& use, bool tries_all, OpenValues& open);
  bool FindEnd(const Rule& rule, const Rule::Use& use, PositionRange run, bool from_below,
               uint32_t most_off, uint32_t* end);

  const RuleSystem& system_;
  std::vector<Bounds> values_;  // by operation
  const OpenValues* open_ = nullptr;
  bool is_term_empty_ = false;  // no open value of a term is one of its operation
  Bounds unclipped_;            // of the term that the rule is about
  int own_ = -1;                // this term's operation
};

}  // namespace mdh
