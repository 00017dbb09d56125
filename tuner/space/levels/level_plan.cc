#include "tuner/space/levels/level_plan.h"

#include <algorithm>
#include <utility>

#include "tuner/space/levels/table_plan.h"

namespace mdh {
namespace {

// More sets are merged, which only keeps values for longer.
constexpr size_t kMaxPaths = 8;

void AddPath(uint64_t path, GatePaths& paths) {
  for (uint64_t present : paths) {
    if ((present & path) == present) return;
  }
  std::erase_if(paths, [path](uint64_t present) { return (present & path) == path; });
  if (paths.size() < kMaxPaths) {
    paths.push_back(path);
  } else {
    const uint64_t merged = paths.back() & path;
    paths.pop_back();
    AddPath(merged, paths);
  }
}

class Planner {
 public:
  Planner(SpacePlan& plan, const std::vector<RootCondition>& roots,
          const std::vector<int>& parameter_of_level)
      : plan_(plan), roots_(roots), parameter_of_level_(parameter_of_level) {}

  void Run() {
    FindLevels();
    const int levels = static_cast<int>(parameter_of_level_.size());
    plan_.levels.resize(levels);
    plan_.cuts.resize(levels + 1);
    for (int cut = 1; cut < levels; ++cut) PlanCut(cut);
    for (int level = 0; level < levels; ++level) PlanLevel(level);
  }

 private:
  const Operation& OperationOf(int number) const { return plan_.graph.operations()[number]; }
  int size() const { return static_cast<int>(plan_.graph.operations().size()); }

  void FindLevels() {
    std::vector<int> level_of_parameter(plan_.values.size());
    for (size_t level = 0; level < parameter_of_level_.size(); ++level) {
      level_of_parameter[parameter_of_level_[level]] = static_cast<int>(level);
    }
    parameters_ = ParametersOfOperations(plan_.graph);
    levels_.resize(size());
    for (int number = 0; number < size(); ++number) {
      for (int parameter : parameters_[number]) {
        levels_[number].push_back(level_of_parameter[parameter]);
      }
      std::ranges::sort(levels_[number]);
    }
    is_used_ = UsedOperations(plan_.graph, roots_);
    is_root_.resize(size());
    for (const RootCondition& root : roots_) is_root_[root.operation] = true;
  }

  bool IsKnown(int number, int cut) const {
    return levels_[number].empty() || levels_[number].back() < cut;
  }
  bool IsMixed(int number, int cut) const {
    return !IsKnown(number, cut) && levels_[number].front() < cut;
  }
  bool DependsOn(int number, int level) const {
    return std::ranges::binary_search(levels_[number], level);
  }

  int GateOf(const Cut& cut, int operation) const {
    for (size_t bit = 0; bit < cut.gates.size(); ++bit) {
      if (cut.gates[bit].operation == operation) return static_cast<int>(bit);
    }
    return -1;
  }

  bool CanBeGate(int number, int cut) const {
    const Operation& operation = OperationOf(number);
    return is_used_[number] && operation.kind == ValueKind::kCondition &&
           operation.code != OperationCode::kPredicate && IsMixed(number, cut);
  }

  // Gates stay gates until they are known: what was forgotten because of them stays forgotten.
  void ChooseGates(int number) {
    Cut& cut = plan_.cuts[number];
    const auto add = [&](int operation) {
      if (cut.gates.size() < Cut::kMaxGates && GateOf(cut, operation) < 0) {
        cut.gates.push_back({.operation = operation, .paths = {}, .is_root = is_root_[operation]});
      }
    };
    for (const Gate& gate : plan_.cuts[number - 1].gates) {
      if (IsMixed(gate.operation, number)) add(gate.operation);
    }
    for (bool roots : {true, false}) {
      for (int operation = 0; operation < size(); ++operation) {
        if (is_root_[operation] == roots && CanBeGate(operation, number)) add(operation);
      }
    }
    // From the roots downwards, so that what is above is decided first.
    std::ranges::sort(cut.gates, std::ranges::greater{}, &Gate::operation);
  }

  void PlanCut(int number) {
    ChooseGates(number);
    Cut& cut = plan_.cuts[number];
    std::vector<GatePaths> paths(size());
    for (int operation = size() - 1; operation >= 0; --operation) {
      if (!is_used_[operation]) continue;
      const int bit = GateOf(cut, operation);
      if (IsKnown(operation, number)) {
        const bool is_kept = !paths[operation].empty() && !levels_[operation].empty();
        if (is_kept) cut.slots.push_back({operation, paths[operation]});
        continue;
      }
      if (is_root_[operation]) AddPath(0, paths[operation]);
      if (bit >= 0) cut.gates[bit].paths = paths[operation];
      for (uint64_t path : paths[operation]) {
        const uint64_t below = bit >= 0 ? path | uint64_t{1} << bit : path;
        for (int operand : OperationOf(operation).operands) AddPath(below, paths[operand]);
      }
    }
    std::ranges::reverse(cut.slots);
  }

  uint64_t GateBit(int cut, int operation) const {
    const int bit = GateOf(plan_.cuts[cut], operation);
    return bit < 0 ? 0 : uint64_t{1} << bit;
  }

  // Steps for all operations below `number` that are accepted, operands first.
  template <typename Accepts>
  void CollectSteps(int number, int level, const Accepts& accepts, std::vector<bool>& seen,
                    std::vector<Step>& steps) const {
    if (seen[number]) return;
    seen[number] = true;
    const Operation& operation = OperationOf(number);
    if (IsLeafOfParameter(operation.code) || operation.code == OperationCode::kConstant) return;
    if (IsKnown(number, level)) return;
    for (int operand : operation.operands) CollectSteps(operand, level, accepts, seen, steps);
    if (accepts(number)) {
      steps.push_back(
          StepOf(plan_.graph, number, IsKnown(number, level + 1), GateBit(level, number)));
    }
  }

  // Whether a step adds something to its first operand that only later parameters decide.
  bool AddsRest(const Step& step, int level) const {
    const Operation& operation = OperationOf(step.operation);
    if (operation.code != OperationCode::kAdd || operation.of_reals || step.is_point) return false;
    if ((plan_.graph.bounds()[step.operation].can & kCanOverflow) != 0) return false;
    return !levels_[step.b].empty() && levels_[step.b].front() > level;
  }

  // (((x + a) + b) + c), where a, b and c are not yet known: all of them are added at once.
  void ShortenSums(int level, std::vector<Step>& steps) {
    std::vector<int> uses(size());
    for (const Step& step : steps) {
      for (int operand : OperationOf(step.operation).operands) ++uses[operand];
    }
    std::vector<bool> is_dropped(steps.size());
    std::vector<int> step_of(size(), -1);
    for (size_t n = 0; n < steps.size(); ++n) {
      Step& step = steps[n];
      step_of[step.operation] = static_cast<int>(n);
      if (!AddsRest(step, level)) continue;
      Bounds rest = plan_.graph.bounds()[step.b];
      const int inner = step_of[step.a];
      if (inner >= 0 && steps[inner].rest >= 0 && uses[step.a] == 1) {
        const Bounds& before = plan_.rests[steps[inner].rest];
        rest.lo.i += before.lo.i;
        rest.hi.i += before.hi.i;
        rest.can |= before.can;
        step.a = steps[inner].a;
        is_dropped[inner] = true;
      }
      step.rest = static_cast<int>(plan_.rests.size());
      plan_.rests.push_back(rest);
    }
    size_t kept = 0;
    for (size_t n = 0; n < steps.size(); ++n) {
      if (!is_dropped[n]) steps[kept++] = steps[n];
    }
    steps.resize(kept);
  }

  void PlanLevel(int number) {
    LevelPlan& level = plan_.levels[number];
    level.parameter = parameter_of_level_[number];
    level.domain = {{0, plan_.values[level.parameter].size() - 1}};
    std::vector<bool> in_prelude(size());
    for (const RootCondition& root : roots_) {
      if (!DependsOn(root.operation, number)) continue;
      // Predicates tell nothing before all their operands are known.
      const bool is_predicate = OperationOf(root.operation).code == OperationCode::kPredicate;
      if (is_predicate && !IsKnown(root.operation, number + 1)) continue;
      LevelRoot planned{.operation = root.operation,
                        .constraint = root.constraint,
                        .is_complete = IsKnown(root.operation, number + 1),
                        .gate = GateBit(number, root.operation),
                        .steps = {}};
      std::vector<bool> seen(size());
      CollectSteps(
          root.operation, number, [&](int operation) { return DependsOn(operation, number); }, seen,
          planned.steps);
      ShortenSums(number, planned.steps);
      CollectSteps(
          root.operation, number,
          [&](int operation) {
            return !DependsOn(operation, number) && IsMixed(operation, number);
          },
          in_prelude, level.prelude);
      planned.is_predicate = is_predicate;
      level.roots.push_back(std::move(planned));
    }
    // Complete conditions first: they cost least and decide most.
    std::ranges::stable_sort(level.roots, [](const LevelRoot& a, const LevelRoot& b) {
      return std::make_pair(!a.is_complete, a.steps.size()) <
             std::make_pair(!b.is_complete, b.steps.size());
    });
    ShareSteps(level.roots);
    FindLeaves(number);
    FindSources(number);
    FindFactors(number);
    FindDecidingWords(number);
    PlanTablesOf(number);
  }

  void PlanTablesOf(int number) {
    const auto depends = [&](int operation) { return DependsOn(operation, number); };
    const auto steps_of = [&](int operation) {
      std::vector<bool> seen(size());
      std::vector<Step> steps;
      CollectSteps(
          operation, number, [&](int below) { return depends(below) || IsMixed(below, number); },
          seen, steps);
      ShortenSums(number, steps);
      return steps;
    };
    plan_.levels[number].tables = PlanTables(plan_, number, steps_of, depends);
  }

  // What a condition has evaluated is there for those after it, unless it may be left out.
  void ShareSteps(std::vector<LevelRoot>& roots) const {
    std::vector<bool> is_done(size());
    for (LevelRoot& root : roots) {
      std::erase_if(root.steps, [&](const Step& step) { return is_done[step.operation]; });
      if (root.gate != 0) continue;
      for (const Step& step : root.steps) is_done[step.operation] = true;
    }
  }

  void FindDecidingWords(int number) {
    LevelPlan& level = plan_.levels[number];
    level.is_uniform =
        !level.keeps_parameter && std::ranges::all_of(level.roots, &LevelRoot::is_complete);
    if (!level.is_uniform || level.roots.empty()) return;
    std::vector<RootCondition> roots;
    for (const LevelRoot& root : level.roots) roots.push_back({root.operation, root.constraint});
    const std::vector<bool> decides = UsedOperations(plan_.graph, roots);
    const Cut& before = plan_.cuts[number];
    for (int word = 0; word < before.gate_words(); ++word) level.deciding_words.push_back(word);
    for (size_t slot = 0; slot < before.slots.size(); ++slot) {
      if (decides[before.slots[slot].operation]) {
        level.deciding_words.push_back(before.gate_words() + static_cast<int>(slot));
      }
    }
    level.has_deciding_words = static_cast<int>(level.deciding_words.size()) < before.words();
  }

  void FindFactors(int number) {
    LevelPlan& level = plan_.levels[number];
    std::vector<bool> is_known(size());
    for (int operation = 0; operation < size(); ++operation) {
      is_known[operation] = IsKnown(operation, number);
    }
    for (int leaf : level.leaves) {
      const Operation& operation = OperationOf(leaf);
      if (operation.code != OperationCode::kParameter || operation.kind != ValueKind::kInteger) {
        continue;
      }
      for (LevelRoot& root : level.roots) {
        root.factors = mdh::FindFactors(plan_.graph, root.operation, leaf, is_known);
      }
    }
  }

  void FindLeaves(int number) {
    LevelPlan& level = plan_.levels[number];
    for (int operation = 0; operation < size(); ++operation) {
      if (!is_used_[operation] || levels_[operation].empty()) continue;
      if (IsLeafOfParameter(OperationOf(operation).code) && DependsOn(operation, number)) {
        level.leaves.push_back(operation);
      }
      if (levels_[operation].front() > number) level.unknown.push_back(operation);
    }
  }

  void FindSources(int number) {
    LevelPlan& level = plan_.levels[number];
    const Cut& before = plan_.cuts[number];
    const Cut& after = plan_.cuts[number + 1];
    int passed = 0;
    bool keeps_leaf = false;
    for (const Slot& slot : after.slots) {
      SlotSource source;
      if (DependsOn(slot.operation, number)) {
        source.operation = slot.operation;
        level.keeps_parameter = true;
        keeps_leaf |= IsLeafOfParameter(OperationOf(slot.operation).code);
      } else {
        source.word = WordOf(before, slot.operation);
        ++passed;
      }
      level.slot_sources.push_back(source);
    }
    for (const Gate& gate : after.gates) {
      GateSource source;
      if (DependsOn(gate.operation, number)) {
        source.operation = gate.operation;
      } else {
        source.bit = GateOf(before, gate.operation);
      }
      level.gate_sources.push_back(source);
    }
    level.is_injective = keeps_leaf && before.gates.empty() && after.gates.empty() &&
                         passed == static_cast<int>(before.slots.size());
  }

  int WordOf(const Cut& cut, int operation) const {
    for (size_t slot = 0; slot < cut.slots.size(); ++slot) {
      if (cut.slots[slot].operation == operation) return cut.gate_words() + static_cast<int>(slot);
    }
    return -1;
  }

  SpacePlan& plan_;
  const std::vector<RootCondition>& roots_;
  const std::vector<int>& parameter_of_level_;
  std::vector<std::vector<int>> parameters_;
  std::vector<std::vector<int>> levels_;  // of operations, increasing
  std::vector<bool> is_used_;
  std::vector<bool> is_root_;
};

}  // namespace

Step StepOf(const OperationGraph& graph, int number, bool is_point, uint64_t gate) {
  const Operation& operation = graph.operations()[number];
  Step step{.operation = number, .is_point = is_point, .gate = gate, .code = operation.code};
  step.is_integer = operation.code >= OperationCode::kAdd &&
                    operation.code <= OperationCode::kLessEqual && !operation.of_reals &&
                    !operation.of_conditions;
  if (!operation.operands.empty()) {
    step.a = operation.operands.front();
    step.b = operation.operands.size() > 1 ? operation.operands[1] : step.a;
  }
  return step;
}

SpacePlan PlanLevels(OperationGraph graph, std::vector<ParameterValues> values,
                     const std::vector<RootCondition>& roots,
                     const std::vector<int>& parameter_of_level) {
  SpacePlan plan{std::move(graph), std::move(values), {}, {}};
  Planner(plan, roots, parameter_of_level).Run();
  return plan;
}

}  // namespace mdh
