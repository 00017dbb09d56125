#include "tuner/space/diagram/tree_construction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tuner/space/diagram/unique_nodes.h"

namespace mdh {
namespace {

// Longer ranges are better cut into runs.
constexpr uint32_t kMaxValues = 1 << 16;

// Conditions are decided once for all values that they look at if there are at most so many
// combinations of them.
constexpr size_t kMaxTabulated = 1 << 16;

// Whether a level's conditions are all opaque and look at nothing but `known` parameters, as
// operations.
bool HasOnlyPredicates(const OperationGraph& graph, const LevelPlan& level,
                       const std::vector<int>& known) {
  const auto is_known = [&](int operand) {
    return std::ranges::find(known, operand) != known.end();
  };
  const auto is_predicate = [&](const LevelRoot& root) {
    const std::vector<int>& operands = graph.operations()[root.operation].operands;
    return root.is_predicate && root.is_complete && std::ranges::all_of(operands, is_known);
  };
  return level.domain.back().last - level.domain.front().first < kMaxValues &&
         std::ranges::all_of(level.roots, is_predicate);
}

// Whether prefixes that differ before a level do so behind it.
bool KeepsPrefixesApart(const SpacePlan& plan, int number) {
  const LevelPlan& level = plan.levels[number];
  if (!plan.cuts[number + 1].gates.empty()) return false;
  const auto passed = static_cast<size_t>(std::ranges::count_if(
      level.slot_sources, [](const SlotSource& source) { return source.word >= 0; }));
  return passed == plan.cuts[number].slots.size() && (level.is_injective || level.is_uniform);
}

class TreeBuilder {
 public:
  TreeBuilder(const SpacePlan& plan, int first, int end, int64_t max_bytes)
      : plan_(plan), max_prefixes_(max_bytes / static_cast<int64_t>(sizeof(RawEdge))) {
    for (int number = first; number < end; ++number) AddLevel(number, number + 1 == end);
  }

  TreeOutcome Run(LevelGraph& graph) {
    const uint32_t root = Visit(0);
    if (has_stopped_) return TreeOutcome::kTooLarge;
    if (is_undefined_ || root == kNothing) return TreeOutcome::kUnclear;
    for (Level& level : levels_) {
      GraphLevel& built = graph.emplace_back();
      built.begin = std::move(level.nodes.begin());
      built.edges = std::move(level.nodes.edges());
    }
    return TreeOutcome::kComplete;
  }

 private:
  static constexpr uint32_t kNothing = UniqueNodes::kNone;

  // A predicate and what it looks at.
  struct Condition {
    const OpaqueCondition* holds;
    std::vector<int64_t> codes;
  };
  // One operand of a condition, of this level's parameter.
  struct Place {
    size_t condition;
    size_t operand;
  };
  struct Level {
    bool is_last = false;
    bool is_uniform = false;
    std::vector<uint32_t> positions;  // of the domain
    std::vector<int64_t> codes;       // by place in `positions`
    std::vector<Place> places;
    std::vector<size_t> conditions;  // that this level decides
    size_t current = 0;              // place in `positions`
    // If conditions are tabulated: levels before this one that they look at, and for each
    // combination of places in those levels' positions the places here at which they hold.
    bool is_tabulated = false;
    std::vector<size_t> looked_at;
    std::vector<std::vector<uint32_t>> table;
    std::vector<bool> is_known;
    std::vector<uint32_t> holding;  // if they are not tabulated
    UniqueNodes nodes;
  };

  void AddLevel(int number, bool is_last) {
    const LevelPlan& planned = plan_.levels[number];
    Level& level = levels_.emplace_back();
    level.is_last = is_last;
    level.is_uniform = is_last || planned.is_uniform;
    const ParameterValues& values = plan_.values[planned.parameter];
    const bool has_code = std::ranges::any_of(planned.leaves, [&](int leaf) {
      return plan_.graph.operations()[leaf].code == OperationCode::kCode;
    });
    for (const PositionRun& run : planned.domain) {
      for (uint32_t position = run.first; position <= run.last; ++position) {
        level.positions.push_back(position);
        level.codes.push_back(has_code ? position : values.At(position).i);
      }
    }
    parameters_.push_back(planned.parameter);
    for (const LevelRoot& root : planned.roots) AddCondition(root);
    Tabulate();
  }

  void AddCondition(const LevelRoot& root) {
    const Operation& operation = plan_.graph.operations()[root.operation];
    const size_t condition = conditions_.size();
    conditions_.push_back({&plan_.graph.predicates()[operation.number],
                           std::vector<int64_t>(operation.operands.size())});
    levels_.back().conditions.push_back(condition);
    for (size_t operand = 0; operand < operation.operands.size(); ++operand) {
      const int parameter = plan_.graph.operations()[operation.operands[operand]].number;
      const auto found = std::ranges::find(parameters_, parameter);
      const auto number = static_cast<size_t>(found - parameters_.begin());
      levels_[number].places.push_back({condition, operand});
      std::vector<size_t>& looked_at = levels_.back().looked_at;
      if (number + 1 < levels_.size() && std::ranges::find(looked_at, number) == looked_at.end()) {
        looked_at.push_back(number);
      }
    }
  }

  void Tabulate() {
    Level& level = levels_.back();
    size_t combinations = 1;
    for (const size_t number : level.looked_at) {
      combinations *= levels_[number].positions.size();
      if (combinations * level.positions.size() > kMaxTabulated) return;
    }
    level.is_tabulated = true;
    level.table.resize(combinations);
    level.is_known.resize(combinations);
  }

  void Set(Level& level, size_t place) {
    level.current = place;
    for (const Place& at : level.places) {
      conditions_[at.condition].codes[at.operand] = level.codes[place];
    }
  }

  bool Holds(const Level& level) {
    for (const size_t number : level.conditions) {
      const Condition& condition = conditions_[number];
      const uint8_t can = (*condition.holds)(condition.codes);
      if (can == kCanBeTrue) continue;
      is_undefined_ |= can != kCanBeFalse;
      return false;
    }
    return true;
  }

  void FindHolding(Level& level, std::vector<uint32_t>& holding) {
    holding.clear();
    for (uint32_t place = 0; place < level.positions.size(); ++place) {
      Set(level, place);
      if (Holds(level)) holding.push_back(place);
    }
  }

  // Places at which the level's conditions hold now.
  const std::vector<uint32_t>& Holding(Level& level) {
    if (!level.is_tabulated) {
      FindHolding(level, level.holding);
      return level.holding;
    }
    size_t combination = 0;
    for (const size_t number : level.looked_at) {
      combination = combination * levels_[number].positions.size() + levels_[number].current;
    }
    if (!level.is_known[combination]) {
      FindHolding(level, level.table[combination]);
      level.is_known[combination] = true;
    }
    return level.table[combination];
  }

  // The node of what can follow; kNothing if nothing can.
  uint32_t Visit(size_t number) {
    Level& level = levels_[number];
    const std::vector<uint32_t>& holding = Holding(level);
    prefixes_ += static_cast<int64_t>(holding.size());
    has_stopped_ |= prefixes_ > max_prefixes_;
    if (holding.empty() || has_stopped_ || is_undefined_) return kNothing;
    uint32_t child = level.is_last ? 0 : kNothing;
    if (level.is_uniform && !level.is_last) {
      child = Visit(number + 1);
      if (child == kNothing) return kNothing;
    }
    for (const uint32_t place : holding) {
      if (!level.is_uniform) {
        Set(level, place);
        child = Visit(number + 1);
        if (child == kNothing) continue;
      }
      level.nodes.Add({level.positions[place], level.positions[place], child});
    }
    return level.nodes.is_open() ? level.nodes.Close() : kNothing;
  }

  const SpacePlan& plan_;
  const int64_t max_prefixes_;
  std::vector<int> parameters_;  // by level
  std::vector<Level> levels_;
  std::vector<Condition> conditions_;
  int64_t prefixes_ = 0;
  bool has_stopped_ = false;
  bool is_undefined_ = false;
};

}  // namespace

int EndOfTree(const SpacePlan& plan, int level) {
  if (plan.cuts[level].words() != 0) return level;
  bool has_conditions = false;
  std::vector<int> known;
  for (int end = level; end < plan.level_count(); ++end) {
    const std::vector<int>& leaves = plan.levels[end].leaves;
    known.insert(known.end(), leaves.begin(), leaves.end());
    if (!HasOnlyPredicates(plan.graph, plan.levels[end], known)) return level;
    has_conditions |= !plan.levels[end].roots.empty();
    if (plan.cuts[end + 1].words() == 0) return has_conditions ? end + 1 : level;
    if (!KeepsPrefixesApart(plan, end)) return level;
  }
  return level;
}

TreeOutcome ConstructTree(const SpacePlan& plan, int first, int end, int64_t max_bytes,
                          LevelGraph& graph) {
  return TreeBuilder(plan, first, end, max_bytes).Run(graph);
}

}  // namespace mdh
