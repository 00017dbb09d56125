// Expands prefixes: which values of the next parameter can follow, and to which states they lead.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/levels/child_state.h"
#include "tuner/space/levels/level_plan.h"
#include "tuner/space/levels/level_tables.h"
#include "tuner/space/levels/state_table.h"
#include "tuner/space/levels/step_evaluator.h"

namespace mdh {

// Positions first..last of a level's range lead to the same node of the next level.
struct RawEdge {
  uint32_t first;
  uint32_t last;
  uint32_t child;
};

// Where a constraint was undefined: the values of the prefix with that number, and a position.
struct Incident {
  int constraint = -1;
  int level = 0;
  uint32_t prefix = 0;
  uint32_t position = 0;
};

// Not thread-safe; one for each thread. Keeps a reference to the plan.
class Expander {
 public:
  // Expansion stops when there are more than so many edges (has_stopped).
  Expander(const SpacePlan& plan, size_t max_edges);

  // Appends the edges of a prefix with that state at the cut before `level`, in the order of
  // positions; numbers of children are those of `children`. `prefix` is for incidents.
  void Expand(int level, const uint64_t* state, uint32_t prefix, StateTable& children,
              std::vector<RawEdge>& edges);

  // The states that the prefixes of the next level are known by, with their numbers; nullptr: not
  // known, or too few for tables. Must outlive the level.
  void SetColumns(const StateColumns* columns) { columns_ = columns; }

  // The positions that satisfy conditions on one parameter, which are the roots of `level`.
  std::vector<PositionRun> Filter(const LevelPlan& level, uint32_t prefix);

  // The first divisions by zero, at most one per constraint, and the first overflow.
  const std::vector<Incident>& divisions_by_zero() const { return divisions_by_zero_; }
  const Incident& overflow() const { return overflow_; }
  // The constraint that ruled out the last value, -1 if none was.
  int last_obstacle();
  // Whether edges are missing because there were too many.
  bool has_stopped() const { return has_stopped_; }

 private:
  enum class Verdict { kNone, kAll, kUnclear };

  void Enter(int number, const LevelPlan& level, const Cut& before, const Cut& after);
  void ExpandLevel(const uint64_t* state, uint32_t prefix, StateTable& children,
                   std::vector<RawEdge>& edges);
  bool HoldsAt(uint32_t position);
  void NoteObstacle(int constraint) {
    last_obstacle_ = constraint;
    is_obstacle_pending_ = false;
  }
  void NoteUndefined(const LevelRoot& root, uint8_t can, uint32_t position);
  void ExpandPoint(uint32_t position);
  void ExpandRun(PositionRun run);
  // Looks only at positions that divisibility allows; false if it does not tell.
  bool ExpandFactors();
  void ExpandDomain();
  // By the level's tables; false if there are none, or if a condition is undefined somewhere.
  bool ExpandTables();
  // As for an earlier prefix with the same deciding words.
  void ExpandAsBefore();
  void GatherCodes();
  uint8_t EvaluatePredicate(size_t root);
  Verdict EvaluateRun(PositionRun run);
  // Writes the state after the level; false if it depends on the parameter's value.
  bool WriteChild();
  void AddEdge(uint32_t first, uint32_t last);

  const SpacePlan& plan_;
  StepEvaluator evaluator_;
  const StateColumns* columns_ = nullptr;
  bool has_tables_ = false;  // whether the level's tables are used
  LevelTables tables_;
  ChildState child_;
  std::vector<Incident> divisions_by_zero_;
  Incident overflow_;
  FactorPositions factor_positions_;

  // Operands of the level's predicates, and which of them are the level's parameter.
  struct PredicateCall {
    const OpaqueCondition* condition = nullptr;
    std::vector<int64_t> codes;
    std::vector<size_t> own;  // places of the parameter
  };
  std::vector<PredicateCall> calls_;  // by root of the level

  // What followed deciding words so far, at the level.
  StateTable decided_before_{0, false};
  std::vector<std::vector<PositionRun>> runs_before_;
  std::vector<uint64_t> words_;
  int last_obstacle_ = -1;
  // Of a state without any values to follow, whose obstacle nobody has asked for yet.
  bool is_obstacle_pending_ = false;
  const uint64_t* pending_state_ = nullptr;
  size_t max_edges_;
  bool has_stopped_ = false;

  // Of the prefix that is being expanded.
  int level_number_ = -1;
  const LevelPlan* level_ = nullptr;
  const Cut* before_ = nullptr;
  const Cut* after_ = nullptr;
  const uint64_t* state_ = nullptr;
  uint32_t prefix_ = 0;
  StateTable* children_ = nullptr;
  std::vector<RawEdge>* edges_ = nullptr;
  size_t first_edge_ = 0;
  bool is_tabulated_ = false;   // whether tables write its children
  int64_t uniform_child_ = -1;  // of a level that is uniform, once it is known
};

}  // namespace mdh
