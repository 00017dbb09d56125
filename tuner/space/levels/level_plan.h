// What has to be done to choose the parameter of one level: which operations are evaluated, and
// what is kept of a prefix afterwards.
//
// A cut lies before every level and after the last one. What is kept of a prefix at a cut (its
// state) are the values of operations that are known by then and operands of ones that are not,
// and which conditions are already decided, whatever comes. Values that matter to decided
// conditions only are forgotten. Prefixes with equal states have the same completions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tuner/space/constraints/factors.h"
#include "tuner/space/constraints/operation_graph.h"
#include "tuner/space/constraints/parameter_values.h"

namespace mdh {

// Positions first..last of a range.
struct PositionRun {
  uint32_t first;
  uint32_t last;
};

// Sets of gates above something; it is needed while the gates of one set are all undecided.
using GatePaths = std::vector<uint64_t>;

// Whether something on these paths is needed while those gates are decided.
inline bool IsNeeded(const GatePaths& paths, uint64_t decided) {
  return std::ranges::any_of(paths, [&](uint64_t path) { return (path & decided) == 0; });
}

// A condition that is partly known at a cut and may be decided. Its number is its bit.
struct Gate {
  int operation;
  GatePaths paths;  // not its own
  bool is_root = false;
};

// A value that is kept.
struct Slot {
  int operation;
  GatePaths paths;
};

struct Cut {
  static constexpr size_t kMaxGates = 64;
  std::vector<Gate> gates;
  std::vector<Slot> slots;
  // Words of a state: gates if there are any (two words from 33 on), then slots.
  int words() const { return gate_words() + static_cast<int>(slots.size()); }
  int gate_words() const { return gates.empty() ? 0 : gates.size() <= 32 ? 1 : 2; }
};

// One operation to evaluate at a level.
struct Step {
  int operation;
  bool is_point;      // all operands are known
  uint64_t gate = 0;  // its bit at the cut before the level
  // Of the operation, again, so that steps lie close together.
  OperationCode code = OperationCode::kConstant;
  bool is_integer = false;  // integers to an integer or a condition
  int a = 0;
  int b = 0;
  // Number of bounds (SpacePlan::rests) that come to `a`, instead of what the operation says; -1.
  int rest = -1;
};

Step StepOf(const OperationGraph& graph, int operation, bool is_point, uint64_t gate = 0);

// A condition on the level's parameter.
struct LevelRoot {
  int operation;
  int constraint;
  bool is_complete;   // known after the level
  uint64_t gate = 0;  // its bit at the cut before the level
  std::vector<Step> steps;
  std::vector<Factor> factors{};  // what it implies for the parameter
  bool is_predicate = false;
};

// Where the words of the next cut come from: a word of the cut before, or the operation.
struct SlotSource {
  int word = -1;
  int operation = -1;
};

struct GateSource {
  int bit = -1;  // of the cut before, if the condition does not depend on the level's parameter
  int operation = -1;
};

// Conditions of a level, and values that are kept after it, that look at the same words of a state.
// What they come to, at all positions, is tabulated by these words.
struct TablePlan {
  std::vector<Step> prelude;   // all that they need and that does not depend on the parameter
  std::vector<Step> steps;     // all else that they need
  std::vector<int> words;      // of the cut before; behind its gates
  uint64_t gates = 0;          // of the cut before
  std::vector<int> roots;      // operations
  std::vector<int> slots;      // of the cut after
  std::vector<int> gate_bits;  // of the cut after
};

struct LevelPlan {
  int parameter = -1;
  std::vector<PositionRun> domain;  // positions that satisfy the parameter's own conditions
  std::vector<int> leaves;          // operations that are the parameter, or its code (kCode)
  std::vector<int> unknown;         // operations that only later parameters decide
  std::vector<Step> prelude;        // operations that do not depend on the parameter
  std::vector<LevelRoot> roots;
  std::vector<SlotSource> slot_sources;
  std::vector<GateSource> gate_sources;
  bool keeps_parameter = false;  // whether a value that depends on the parameter is kept
  bool is_uniform = false;       // whether all values that can follow lead to one state
  // Words of the cut before that decide which values can follow, if they are not all.
  std::vector<int> deciding_words{};
  bool has_deciding_words = false;
  std::vector<TablePlan> tables{};  // none: conditions are evaluated for each state
  bool is_injective = false;        // whether different prefixes have different states afterwards
};

struct SpacePlan {
  OperationGraph graph;
  std::vector<ParameterValues> values;  // by parameter
  std::vector<Cut> cuts;                // one more than levels
  std::vector<LevelPlan> levels;
  std::vector<Bounds> rests{};  // of sums of what only later parameters decide

  int level_count() const { return static_cast<int>(levels.size()); }
};

// Expects `graph` in the order of the levels (OrderedByLevel). Domains are whole ranges.
SpacePlan PlanLevels(OperationGraph graph, std::vector<ParameterValues> values,
                     const std::vector<RootCondition>& roots,
                     const std::vector<int>& parameter_of_level);

}  // namespace mdh
