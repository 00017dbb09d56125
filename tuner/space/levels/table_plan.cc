#include "tuner/space/levels/table_plan.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

// Word of an operation's value at a cut, behind the gates; -1.
int SlotOf(const Cut& cut, int operation) {
  for (size_t slot = 0; slot < cut.slots.size(); ++slot) {
    if (cut.slots[slot].operation == operation) return static_cast<int>(slot);
  }
  return -1;
}

class TablePlanner {
 public:
  TablePlanner(const SpacePlan& plan, int level,
               const std::function<std::vector<Step>(int operation)>& steps_of,
               const std::function<bool(int operation)>& depends)
      : plan_(plan),
        level_(plan.levels[level]),
        before_(plan.cuts[level]),
        after_(plan.cuts[level + 1]),
        steps_of_(steps_of),
        depends_(depends) {}

  std::vector<TablePlan> Run() {
    if (!Pays()) return {};
    for (const LevelRoot& root : level_.roots)
      TableWith(root.operation).roots.push_back(root.operation);
    for (size_t slot = 0; slot < after_.slots.size(); ++slot) {
      const int operation = level_.slot_sources[slot].operation;
      if (operation >= 0) TableWith(operation).slots.push_back(static_cast<int>(slot));
    }
    for (size_t bit = 0; bit < after_.gates.size(); ++bit) {
      const int operation = level_.gate_sources[bit].operation;
      if (operation >= 0) TableWith(operation).gate_bits.push_back(static_cast<int>(bit));
    }
    // Those that rule out most for the least work first; those without conditions last.
    std::ranges::stable_sort(tables_, [](const TablePlan& a, const TablePlan& b) {
      return std::make_pair(a.roots.empty(), a.steps.size()) <
             std::make_pair(b.roots.empty(), b.steps.size());
    });
    return std::move(tables_);
  }

 private:
  bool Pays() const {
    uint32_t positions = 0;
    for (const PositionRun& run : level_.domain) {
      positions = std::min(positions + (run.last - run.first) + 1, kMaxTablePositions + 1);
    }
    const bool is_opaque = std::ranges::any_of(level_.roots, &LevelRoot::is_predicate);
    return positions <= kMaxTablePositions && !is_opaque && !level_.roots.empty() &&
           !level_.has_deciding_words && before_.words() > 1;
  }

  void AddWord(int operand, TablePlan& table) const {
    const int word = SlotOf(before_, operand);
    if (word >= 0) table.words.push_back(word);
  }

  // The table whose entries tell of an operation.
  TablePlan& TableWith(int operation) {
    TablePlan wanted;
    for (const Step& step : steps_of_(operation)) {
      (depends_(step.operation) ? wanted.steps : wanted.prelude).push_back(step);
      wanted.gates |= step.gate;
      if (step.rest >= 0) {
        AddWord(step.a, wanted);
        continue;
      }
      for (int operand : plan_.graph.operations()[step.operation].operands) {
        AddWord(operand, wanted);
      }
    }
    std::ranges::sort(wanted.words);
    wanted.words.erase(std::unique(wanted.words.begin(), wanted.words.end()), wanted.words.end());
    const auto is_part = [](const std::vector<int>& a, const std::vector<int>& b) {
      return std::includes(b.begin(), b.end(), a.begin(), a.end());
    };
    const auto other = std::ranges::find_if(tables_, [&](const TablePlan& table) {
      return is_part(wanted.words, table.words) || is_part(table.words, wanted.words);
    });
    if (other == tables_.end()) return tables_.emplace_back(std::move(wanted));
    if (wanted.words.size() > other->words.size()) other->words = std::move(wanted.words);
    other->gates |= wanted.gates;
    AddSteps(wanted.prelude, other->prelude);
    AddSteps(wanted.steps, other->steps);
    return *other;
  }

  static void AddSteps(const std::vector<Step>& more, std::vector<Step>& steps) {
    for (const Step& step : more) {
      const bool is_there = std::ranges::any_of(
          steps, [&](const Step& other) { return other.operation == step.operation; });
      if (!is_there) steps.push_back(step);
    }
  }

  const SpacePlan& plan_;
  const LevelPlan& level_;
  const Cut& before_;
  const Cut& after_;
  const std::function<std::vector<Step>(int operation)>& steps_of_;
  const std::function<bool(int operation)>& depends_;
  std::vector<TablePlan> tables_;
};

}  // namespace

std::vector<TablePlan> PlanTables(const SpacePlan& plan, int level,
                                  const std::function<std::vector<Step>(int operation)>& steps_of,
                                  const std::function<bool(int operation)>& depends) {
  return TablePlanner(plan, level, steps_of, depends).Run();
}

}  // namespace mdh
