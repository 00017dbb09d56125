// Outcomes of a level's conditions for all positions, looked up instead of evaluated: prefixes
// differ in many words, a condition looks at few of them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tuner/space/levels/child_state.h"
#include "tuner/space/levels/level_plan.h"
#include "tuner/space/levels/state_columns.h"
#include "tuner/space/levels/step_evaluator.h"

namespace mdh {

// Not thread-safe.
class LevelTables {
 public:
  // Forgets all entries. Expects a level with tables; `columns` are those of all states before it.
  // False if states differ in so much that there can be no tables.
  bool Enter(const LevelPlan& level, const Cut& before, const Cut& after,
             const StateColumns& columns);

  // Looks a state up by its number; `evaluator` evaluates what is not there yet. False if a
  // condition is undefined at some position: tables do not tell then.
  bool Find(const uint64_t* state, uint32_t number, StepEvaluator& evaluator);

  // For the state that was found: places in positions() where all conditions can hold.
  uint64_t holds() const { return holds_; }
  const std::vector<uint32_t>& positions() const { return positions_; }
  // The state after a position, given by its place. Expects `child` to have begun with the state.
  void WriteChild(int place, ChildState& child) const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  // A word that a table looks at: the cell of a state is the sum of what its words add.
  struct Word {
    int word;
    uint64_t stride;
    std::vector<uint32_t> kinds{};  // of gates: by number, which of them are the same to the table
  };
  struct Table {
    const TablePlan* plan = nullptr;
    std::vector<Word> words;
    bool is_dense = false;
    std::vector<uint32_t> cells;                     // entries; kNone: not evaluated yet
    absl::flat_hash_map<uint64_t, uint32_t> sparse;  // idem, of tables with many cells
    std::vector<uint64_t> holds;                     // by entry
    std::vector<uint64_t> evaluated;                 // by entry: places
    std::vector<uint64_t> outcomes;                  // by entry and place: `stride` words
    size_t stride = 0;   // gates that are decided and that hold, if any; slots
    uint32_t found = 0;  // entry of the state
  };

  static Word GatesOf(int word, uint64_t mask, const std::vector<uint64_t>& values,
                      uint32_t& kinds);
  // False if cells cannot be numbered.
  bool MakeCells(const StateColumns& columns, Table& table) const;
  static uint32_t& EntryOf(const uint32_t* numbers, Table& table);
  bool Evaluate(uint64_t places, Table& table, StepEvaluator& evaluator);
  bool EvaluateAt(const TablePlan& plan, uint64_t* outcome, bool& is_undefined,
                  const StepEvaluator& evaluator) const;

  const Cut* before_ = nullptr;
  const Cut* after_ = nullptr;
  const StateColumns* columns_ = nullptr;
  std::vector<uint32_t> positions_;
  std::vector<Table> tables_;
  uint64_t holds_ = 0;
};

}  // namespace mdh
