#include "tuner/space/solver/rules.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace mdh {
namespace {

// Rules with more parameters that are open are only looked at as a whole.
constexpr int kMostNarrowed = 8;
// Of more values that are open, only the ends are looked at.
constexpr uint32_t kMostTried = 64;

// Constants and what is made of them are known.
void AddOperation(const OperationGraph& graph, const std::vector<int>& parameters, int number,
                  Rule& rule) {
  if (parameters.empty()) return;
  const bool is_leaf = IsLeafOfParameter(graph.operations()[number].code);
  if (!is_leaf) rule.steps.push_back(number);
  for (Rule::Use& use : rule.uses) {
    if (!std::binary_search(parameters.begin(), parameters.end(), use.parameter)) continue;
    (is_leaf ? use.leaves : use.steps).push_back(number);
  }
}

}  // namespace

RuleSystem RulesOf(const std::vector<TuningParameter>& parameters,
                   const std::vector<Constraint>& constraints,
                   const std::vector<int>& group_of_constraint) {
  const StringRanks strings = RankStrings(parameters, constraints);
  std::vector<ParameterValues> values;
  std::vector<Bounds> bounds;
  std::vector<int> levels;
  for (const TuningParameter& parameter : parameters) {
    levels.push_back(static_cast<int>(levels.size()));
    values.emplace_back(parameter.range, strings);
    bounds.push_back(values.back().BoundsOf(0, values.back().size() - 1));
  }
  OperationGraph compiled(bounds);
  std::vector<RootCondition> roots = CompileConstraints(constraints, parameters, strings, compiled);
  OperationGraph graph = OrderedByLevel(compiled, roots, levels, std::move(bounds));
  const std::vector<std::vector<int>> below = ParametersOfOperations(graph);
  std::vector<Rule> rules;
  for (const RootCondition& root : roots) {
    Rule rule{.operation = root.operation};
    if (!group_of_constraint.empty()) rule.group = group_of_constraint[root.constraint];
    for (const int parameter : below[root.operation]) rule.uses.push_back({parameter});
    const std::vector<bool> is_used = UsedOperations(graph, {root});
    for (int number = 0; number < std::ssize(is_used); ++number) {
      if (is_used[number]) AddOperation(graph, below[number], number, rule);
    }
    rules.push_back(std::move(rule));
  }
  return {std::move(values), std::move(graph), std::move(rules)};
}

void RuleReader::Load(const Rule::Use& use, uint32_t first, uint32_t last) {
  for (const int leaf : use.leaves) {
    if (system_.graph.operations()[leaf].code == OperationCode::kCode) {
      values_[leaf] = Bounds::Integers(first, last);
    } else {
      const ParameterValues& values = system_.values[use.parameter];
      values_[leaf] = first == last ? values.BoundsAt(first) : values.BoundsOf(first, last);
    }
  }
}

// Predicates tell nothing before all that they look at is known.
void RuleReader::RunPredicate(const Operation& operation, Bounds& result) const {
  absl::InlinedVector<int64_t, 16> codes;
  for (const int operand : operation.operands) {
    const Bounds& value = values_[operand];
    const bool is_condition = system_.graph.operations()[operand].kind == ValueKind::kCondition;
    const bool is_known = is_condition ? value.can == kCanBeTrue || value.can == kCanBeFalse
                                       : value.lo.i == value.hi.i;
    if (!is_known) {
      result.can = kCanBeFalse | kCanBeTrue | kCanBeUndefined;
      return;
    }
    codes.push_back(is_condition ? static_cast<int64_t>(value.can == kCanBeTrue) : value.lo.i);
  }
  result.can = system_.graph.predicates()[operation.number](codes);
}

void RuleReader::RunStep(int number) {
  const Operation& operation = system_.graph.operations()[number];
  if (operation.code == OperationCode::kPredicate) {
    RunPredicate(operation, values_[number]);
  } else {
    EvaluateBounds(operation, values_.data(), values_[number]);
  }
}

void RuleReader::Run(const std::vector<int>& steps) {
  for (const int step : steps) RunStep(step);
}

bool RuleReader::CanHoldAt(const Rule& rule, const Rule::Use& use, uint32_t first, uint32_t last) {
  Load(use, first, last);
  Run(use.steps);
  return CanHold(rule);
}

// The outermost position of a run for which the rule can hold; false if there is none.
bool RuleReader::FindEnd(const Rule& rule, const Rule::Use& use, uint32_t first, uint32_t last,
                         bool from_below, uint32_t* end) {
  if (!CanHoldAt(rule, use, first, last)) return false;
  if (first == last) {
    *end = first;
    return true;
  }
  const uint32_t middle = first + (last - first) / 2;
  const auto lower = [&] { return FindEnd(rule, use, first, middle, from_below, end); };
  const auto upper = [&] { return FindEnd(rule, use, middle + 1, last, from_below, end); };
  return from_below ? lower() || upper() : upper() || lower();
}

bool RuleReader::Narrow(const Rule& rule, const Rule::Use& use, OpenValues& open) {
  const int p = use.parameter;
  if (open.count(p) > kMostTried) {
    uint32_t first = 0, last = 0;
    if (!FindEnd(rule, use, open.first(p), open.last(p), true, &first)) return false;
    FindEnd(rule, use, open.first(p), open.last(p), false, &last);
    open.CloseBelow(p, first);
    open.CloseAbove(p, last);
  } else {
    const uint32_t last = open.last(p);
    for (uint32_t position = open.first(p);;) {
      const uint32_t next = position == last ? position : open.Next(p, position);
      const bool may_close = open.is_listed(p) || position == open.first(p) || position == last;
      if (may_close && !CanHoldAt(rule, use, position, position)) open.Close(p, position);
      if (position == last) break;
      position = next;
    }
  }
  return open.count(p) > 0;
}

RuleReader::Finding RuleReader::Read(const Rule& rule, OpenValues& open,
                                     std::vector<int>& changed) {
  int free = 0;
  for (const Rule::Use& use : rule.uses) {
    Load(use, open.first(use.parameter), open.last(use.parameter));
    free += open.count(use.parameter) > 1 ? 1 : 0;
  }
  Run(rule.steps);
  if (!CanHold(rule)) return Finding::kBroken;
  if (values_[rule.operation].can == kCanBeTrue) return Finding::kSettled;
  if (free > kMostNarrowed) return Finding::kOpen;
  for (const Rule::Use& use : rule.uses) {
    const uint32_t count = open.count(use.parameter);
    if (count == 1) continue;
    const bool is_left = Narrow(rule, use, open);
    if (open.count(use.parameter) != count) changed.push_back(use.parameter);
    if (!is_left) return Finding::kBroken;
    Load(use, open.first(use.parameter), open.last(use.parameter));
    Run(use.steps);
  }
  return values_[rule.operation].can == kCanBeTrue ? Finding::kSettled : Finding::kOpen;
}

}  // namespace mdh
