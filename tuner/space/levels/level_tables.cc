#include "tuner/space/levels/level_tables.h"

#include <algorithm>
#include <bit>

#include "tuner/space/levels/table_plan.h"

namespace mdh {
namespace {

// Tables with more cells than that, and a few for every state, hold only those that occur.
constexpr uint64_t kManyCells = 4096;
constexpr uint64_t kCellsPerState = 4;

}  // namespace

bool LevelTables::Enter(const LevelPlan& level, const Cut& before, const Cut& after,
                        const StateColumns& columns) {
  before_ = &before;
  after_ = &after;
  columns_ = &columns;
  positions_.clear();
  for (const PositionRun& run : level.domain) {
    for (uint32_t position = run.first; position <= run.last; ++position) {
      positions_.push_back(position);
    }
  }
  tables_.clear();
  for (const TablePlan& plan : level.tables) {
    Table& table = tables_.emplace_back();
    table.plan = &plan;
    table.stride = plan.slots.size() + (plan.gate_bits.empty() ? 0 : 2);
    if (!MakeCells(columns, table)) return false;
  }
  return true;
}

// Numbers of gate words that are the same under the mask are of one kind.
LevelTables::Word LevelTables::GatesOf(int word, uint64_t mask, const std::vector<uint64_t>& values,
                                       uint32_t& kinds) {
  Word gates{.word = word, .stride = 0};
  std::vector<uint64_t> known;
  for (const uint64_t value : values) {
    const auto kind = std::ranges::find(known, value & mask);
    gates.kinds.push_back(static_cast<uint32_t>(kind - known.begin()));
    if (kind == known.end()) known.push_back(value & mask);
  }
  kinds = static_cast<uint32_t>(known.size());
  return gates;
}

bool LevelTables::MakeCells(const StateColumns& columns, Table& table) const {
  const TablePlan& plan = *table.plan;
  uint64_t cells = 1;
  bool fits = true;
  const auto add = [&](Word word, uint64_t count) {
    word.stride = cells;
    fits &= !__builtin_mul_overflow(cells, count, &cells);
    if (count > 1) table.words.push_back(std::move(word));
  };
  for (int word = 0; plan.gates != 0 && word < before_->gate_words(); ++word) {
    const uint64_t mask = before_->gate_words() == 1 ? plan.gates | plan.gates << 32 : plan.gates;
    uint32_t kinds = 0;
    Word gates = GatesOf(word, mask, columns.values(word), kinds);
    add(std::move(gates), kinds);
  }
  for (const int slot : plan.words) {
    const int word = before_->gate_words() + slot;
    add({.word = word, .stride = 0}, columns.values(word).size());
  }
  if (!fits) return false;
  table.is_dense = cells <= kManyCells + kCellsPerState * columns.states();
  if (table.is_dense) table.cells.assign(cells, kNone);
  return true;
}

uint32_t& LevelTables::EntryOf(const uint32_t* numbers, Table& table) {
  uint64_t cell = 0;
  for (const Word& word : table.words) {
    const uint32_t of_word = numbers[word.word];
    cell += word.stride * (word.kinds.empty() ? of_word : word.kinds[of_word]);
  }
  return table.is_dense ? table.cells[cell] : table.sparse.try_emplace(cell, kNone).first->second;
}

bool LevelTables::Find(const uint64_t* state, uint32_t number, StepEvaluator& evaluator) {
  holds_ = positions_.size() == kMaxTablePositions ? ~uint64_t{0}
                                                   : (uint64_t{1} << positions_.size()) - 1;
  const uint32_t* numbers = columns_->numbers(number);
  bool is_loaded = false;
  for (Table& table : tables_) {
    uint32_t& entry = EntryOf(numbers, table);
    if (entry == kNone) {
      entry = static_cast<uint32_t>(table.holds.size());
      table.holds.push_back(0);
      table.evaluated.push_back(0);
      table.outcomes.resize(table.outcomes.size() + positions_.size() * table.stride);
    }
    table.found = entry;
    const uint64_t missing = holds_ & ~table.evaluated[entry];
    if (missing != 0) {
      if (!is_loaded) evaluator.LoadState(state);
      is_loaded = true;
      if (!Evaluate(missing, table, evaluator)) return false;
    }
    holds_ &= table.holds[entry];
    if (holds_ == 0) return true;
  }
  return true;
}

// At those places, of the entry that was found. False if a condition is undefined at one of them.
bool LevelTables::Evaluate(uint64_t places, Table& table, StepEvaluator& evaluator) {
  const TablePlan& plan = *table.plan;
  evaluator.Run(plan.prelude, true);
  for (uint64_t left = places; left != 0; left &= left - 1) {
    const int place = std::countr_zero(left);
    evaluator.SetParameter(positions_[place], positions_[place]);
    evaluator.Run(plan.steps, false);
    bool is_undefined = false;
    const size_t outcome = (table.found * positions_.size() + place) * table.stride;
    const bool holds = EvaluateAt(plan, table.outcomes.data() + outcome, is_undefined, evaluator);
    if (is_undefined) return false;
    table.holds[table.found] |= uint64_t{holds} << place;
    table.evaluated[table.found] |= uint64_t{1} << place;
  }
  return true;
}

// Whether the conditions can hold at the parameter's position.
bool LevelTables::EvaluateAt(const TablePlan& plan, uint64_t* outcome, bool& is_undefined,
                             const StepEvaluator& evaluator) const {
  bool can_hold = true;
  for (const int root : plan.roots) {
    const uint8_t can = evaluator.value(root).can;
    if ((can & kCanBeTrue) != 0) continue;
    can_hold = false;
    is_undefined |= (can & kCanBeUndefined) != 0;
  }
  if (!plan.gate_bits.empty()) {
    uint64_t decided = 0, are_true = 0;
    for (const int bit : plan.gate_bits) {
      const uint8_t can = evaluator.value(after_->gates[bit].operation).can;
      decided |= uint64_t{can == kCanBeTrue || can == kCanBeFalse} << bit;
      are_true |= uint64_t{can == kCanBeTrue} << bit;
    }
    *outcome++ = decided;
    *outcome++ = are_true;
  }
  for (const int slot : plan.slots) *outcome++ = evaluator.WordOf(after_->slots[slot].operation);
  return can_hold;
}

void LevelTables::WriteChild(int place, ChildState& child) const {
  GateValues own;
  for (const Table& table : tables_) {
    const uint64_t* outcome =
        table.outcomes.data() + (table.found * positions_.size() + place) * table.stride;
    if (!table.plan->gate_bits.empty()) {
      own.decided |= *outcome++;
      own.are_true |= *outcome++;
    }
    for (const int slot : table.plan->slots) child.word(slot) = *outcome++;
  }
  child.Write(own);
}

}  // namespace mdh
