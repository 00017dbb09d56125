// Whether groups of constraints leave anything, and which of them leave nothing together: values
// are closed as far as single constraints tell, then one parameter is chosen, or whether a
// condition of several constraints holds, and so on. What is refuted tells which earlier choices
// and which groups that is due to: the next other choice is the latest of these (conflict-directed
// backjumping: Prosser, 1993), and what is due to no choice is due to the groups alone. Variables
// of constraints that were often broken are chosen first (Boussemart et al., 2004).
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/range.h"
#include "tuner/space/solver/rules.h"

namespace mdh {

// Not thread-safe: later questions profit from earlier ones.
class ConstraintSolver {
 public:
  struct Answer {
    enum class Outcome : uint8_t {
      kFound,
      kEmpty,    // there is none
      kUnknown,  // more choices are needed to tell
      kGivenUp,
    };
    Outcome outcome = Outcome::kUnknown;
    std::vector<int64_t> configuration = {};  // kFound: a code per parameter
    // kEmpty: of those asked for, some that leave nothing, together with what always holds.
    std::vector<int> groups = {};
  };
  // Asked now and then; empty: never.
  using GivesUp = std::function<bool()>;

  // `group_of_constraint`: 0.. of those that hold when they are asked for, -1 of those that always
  // do; empty: all of them. Where constraints are undefined they do not hold. Expects constraints
  // that CheckFormula accepts.
  ConstraintSolver(const std::vector<TuningParameter>& parameters,
                   const std::vector<Constraint>& constraints,
                   const std::vector<int>& group_of_constraint = {});
  ConstraintSolver(const ConstraintSolver&) = delete;
  ConstraintSolver& operator=(const ConstraintSolver&) = delete;

  // A configuration that satisfies these groups. `most_choices`: then it is unknown.
  static constexpr int64_t kMostChoices = 10000;
  Answer Find(const std::vector<int>& groups, const GivesUp& gives_up = {},
              int64_t most_choices = kMostChoices);

 private:
  struct State {
    OpenValues open;
    std::vector<uint8_t> is_settled;  // by rule; also of groups that are not asked for
  };
  enum class End : uint8_t { kFound, kRefuted, kStopped };

  static constexpr size_t kAllReads = ~size_t{0};
  size_t MostReads() const { return 2 * system_.rules.size(); }
  bool Narrow(State& state, std::vector<int> rules, size_t most_reads = kAllReads);
  void NoteWhy(const Rule& rule, const OpenValues& open);
  std::vector<int> OpenRules(const State& state) const;
  int VariableToChoose(const State& state) const;
  // The run of positions of a variable that is tried first.
  PositionRange ValuesToTry(const OpenValues& open, int variable);
  void Choose(int variable, PositionRange values, int choice, OpenValues& open);
  End Dive(State state, int depth);
  bool Stops();

  const std::vector<TuningParameter> parameters_;
  const RuleSystem system_;
  RuleReader reader_;
  int groups_ = 0;
  std::vector<std::vector<int>> rules_of_;  // by variable
  std::vector<double> weights_;             // by rule: how often it was broken
  State certain_;                           // what follows from the rules that always hold
  bool is_possible_ = true;
  std::vector<uint32_t> wanted_;  // positions that are tried first

  // Of one question.
  Reasons conflict_, why_;  // why the last one was refuted; why values are closed
  std::vector<uint32_t> found_;
  std::mt19937_64 rng_{1};
  bool is_random_ = false;
  int64_t left_ = 0;  // choices
  const GivesUp* gives_up_ = nullptr;
  bool has_given_up_ = false;
};

}  // namespace mdh
