#include "tuner/space/solver/rules.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace mdh {
namespace {

// Of rules with more parameters that are open, what stands behind terms is left to the rules of
// these, and of parameters with more work to try all values, only the ends are looked at.
constexpr int kMostTried = 4;
constexpr size_t kMostSteps = 1 << 8;
// Of terms with more steps and values, so many parts are looked at.
constexpr size_t kFewSteps = 4;
constexpr uint32_t kFewValues = 64;
constexpr uint32_t kParts = 16;
// Values of terms.
constexpr uint64_t kMostOfTerm = uint64_t{1} << 31;

using Below = std::vector<std::vector<int>>;  // parameters of operations

void FindTerms(const std::vector<RootCondition>& roots, const Below& below, RuleSystem& system) {
  const std::vector<Operation>& operations = system.graph.operations();
  const std::vector<bool> is_used = UsedOperations(system.graph, roots);
  std::vector<int> lookers(operations.size());
  for (size_t n = 0; n < operations.size(); ++n) {
    if (!is_used[n]) continue;
    for (const int operand : operations[n].operands) ++lookers[operand];
  }
  system.term_of_operation.assign(operations.size(), -1);
  for (size_t n = 0; n < operations.size(); ++n) {
    const Bounds& bounds = system.graph.bounds()[n];
    const bool is_condition = operations[n].kind == ValueKind::kCondition;
    if (lookers[n] < 2 || below[n].size() < 2) continue;
    if ((bounds.can & kCanDivideByZero) != 0) continue;
    Term term{.operation = static_cast<int>(n)};
    term.is_condition = is_condition;
    term.can_overflow = (bounds.can & kCanOverflow) != 0;
    if (term.is_condition) {
      if (term.can_overflow) continue;
      term.size = 2;
    } else {
      if (operations[n].kind != ValueKind::kInteger) continue;
      const auto width = static_cast<uint64_t>(bounds.hi.i) - static_cast<uint64_t>(bounds.lo.i);
      term.least = bounds.lo.i;
      term.greatest = bounds.hi.i;
      term.size = static_cast<uint32_t>(std::min(width, kMostOfTerm)) + 1;
    }
    system.term_of_operation[n] = system.variables();
    system.terms.push_back(term);
  }
}

// The operands of an operation, and theirs, down to terms and parameters: these.
std::vector<int> DirectLeaves(const RuleSystem& system, int operation) {
  const std::vector<Operation>& operations = system.graph.operations();
  std::vector<int> leaves, pending = {operation};
  std::vector<bool> is_seen(operation + 1);
  while (!pending.empty()) {
    const int n = pending.back();
    pending.pop_back();
    if (is_seen[n]) continue;
    is_seen[n] = true;
    const bool is_term = n != operation && system.term_of_operation[n] >= 0;
    if (is_term || IsLeafOfParameter(operations[n].code)) {
      leaves.push_back(n);
    } else {
      pending.insert(pending.end(), operations[n].operands.begin(), operations[n].operands.end());
    }
  }
  return leaves;
}

// The variables of an operation, and the steps to it: constants and what is made of them are known.
Rule RuleOf(const RuleSystem& system, const Below& below, int operation, int group, int term) {
  Rule rule{.operation = operation, .group = group, .term = term};
  const std::vector<Operation>& operations = system.graph.operations();
  const std::vector<bool> is_used = UsedOperations(system.graph, {{operation, -1}});
  for (const int parameter : below[operation]) rule.uses.push_back({.variable = parameter});
  std::vector<std::vector<size_t>> uses(operation + 1);  // of operations: places in rule.uses
  for (int n = 0; n <= operation; ++n) {
    if (!is_used[n] || below[n].empty()) continue;
    const bool is_leaf = IsLeafOfParameter(operations[n].code);
    if (is_leaf) {
      const auto place =
          std::lower_bound(below[operation].begin(), below[operation].end(), operations[n].number);
      uses[n] = {static_cast<size_t>(place - below[operation].begin())};
      rule.uses[uses[n][0]].leaves.push_back(n);
      continue;
    }
    rule.steps.push_back(n);
    for (const int operand : operations[n].operands) {
      uses[n].insert(uses[n].end(), uses[operand].begin(), uses[operand].end());
    }
    std::ranges::sort(uses[n]);
    uses[n].erase(std::unique(uses[n].begin(), uses[n].end()), uses[n].end());
    for (const size_t place : uses[n]) rule.uses[place].steps.push_back(n);
    if (system.term_of_operation[n] < 0) continue;
    uses[n].push_back(rule.uses.size());
    rule.uses.push_back({.variable = system.term_of_operation[n], .leaves = {n}});
  }
  const std::vector<int> direct = DirectLeaves(system, operation);
  for (Rule::Use& use : rule.uses) {
    use.is_direct = std::ranges::any_of(
        use.leaves, [&](int leaf) { return std::ranges::find(direct, leaf) != direct.end(); });
  }
  return rule;
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
  RuleSystem system{std::move(values), std::move(graph), {}, {}, {}};
  const std::vector<std::vector<int>> below = ParametersOfOperations(system.graph);
  FindTerms(roots, below, system);
  for (const RootCondition& root : roots) {
    const int group = group_of_constraint.empty() ? -1 : group_of_constraint[root.constraint];
    system.rules.push_back(RuleOf(system, below, root.operation, group, -1));
  }
  for (int n = system.parameters(); n < system.variables(); ++n) {
    const int operation = system.terms[n - system.parameters()].operation;
    system.rules.push_back(RuleOf(system, below, operation, -1, n));
  }
  return system;
}

Bounds Term::At(uint32_t first, uint32_t last) const {
  Bounds bounds;
  if (is_condition) {
    bounds.can =
        static_cast<uint8_t>((first == 0 ? kCanBeFalse : 0) | (last == 1 ? kCanBeTrue : 0));
    return bounds;
  }
  const bool has_last = last + 1 == size;
  bounds = Bounds::Integers(least + first, has_last ? greatest : least + last);
  if (has_last && can_overflow) bounds.can |= kCanOverflow;
  return bounds;
}

PositionRange Term::PositionsOf(const Bounds& bounds) const {
  if (is_condition) {
    return {bounds.can == kCanBeTrue ? 1u : 0u, bounds.can == kCanBeFalse ? 0u : 1u};
  }
  const auto position = [&](int64_t value) {
    const auto steps = static_cast<uint64_t>(value) - static_cast<uint64_t>(least);
    return static_cast<uint32_t>(std::min<uint64_t>(steps, size - 1));
  };
  const bool is_defined = (bounds.can & kCanBeDefined) != 0;
  const bool overflows = (bounds.can & kCanOverflow) != 0;
  return {is_defined ? position(bounds.lo.i) : size - 1,
          overflows ? size - 1 : position(bounds.hi.i)};
}

bool RuleReader::CanHold(const Rule& rule) const {
  if (is_term_empty_) return false;
  return rule.term >= 0 || (values_[rule.operation].can & kCanBeTrue) != 0;
}

// Sets a variable to some of its values. Terms keep to what their operands make of them.
void RuleReader::Load(const Rule::Use& use, uint32_t first, uint32_t last) {
  for (const int leaf : use.leaves) {
    if (use.variable >= system_.parameters()) {
      values_[leaf] = system_.terms[use.variable - system_.parameters()].At(first, last);
    } else if (system_.graph.operations()[leaf].code == OperationCode::kCode) {
      values_[leaf] = Bounds::Integers(first, last);
    } else {
      const ParameterValues& values = system_.values[use.variable];
      values_[leaf] = first == last ? values.BoundsAt(first) : values.BoundsOf(first, last);
    }
  }
}

// Leaves of an operation's values those that are open.
void RuleReader::Clip(int number, int variable) {
  Bounds& value = values_[number];
  if (number == own_) unclipped_ = value;
  const Term& term = system_.terms[variable - system_.parameters()];
  const Bounds open = term.At(open_->first(variable), open_->last(variable));
  value.can &= open.can;
  if (!term.is_condition && (value.can & kCanBeDefined) != 0) {
    value.lo.i = std::max(value.lo.i, open.lo.i);
    value.hi.i = std::min(value.hi.i, open.hi.i);
    if (value.lo.i > value.hi.i) value.can &= static_cast<uint8_t>(~kCanBeDefined);
  }
  is_term_empty_ |= value.can == 0;
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
  const int term = system_.term_of_operation[number];
  if (term >= 0) Clip(number, term);
}

void RuleReader::Run(const std::vector<int>& steps) {
  for (const int step : steps) RunStep(step);
}

bool RuleReader::CanHoldAt(const Rule& rule, const Rule::Use& use, uint32_t first, uint32_t last) {
  is_term_empty_ = false;
  Load(use, first, last);
  Run(use.steps);
  return CanHold(rule);
}

// The outermost position of a run for which the rule can hold, but for so many steps; false if
// there is none.
bool RuleReader::FindEnd(const Rule& rule, const Rule::Use& use, PositionRange run, bool from_below,
                         uint32_t most_off, uint32_t* end) {
  if (!CanHoldAt(rule, use, run.first, run.last)) return false;
  if (run.last - run.first <= most_off) {
    *end = from_below ? run.first : run.last;
    return true;
  }
  const uint32_t middle = run.first + (run.last - run.first) / 2;
  const auto is_in = [&](PositionRange half) {
    return FindEnd(rule, use, half, from_below, most_off, end);
  };
  const PositionRange lower{run.first, middle}, upper{middle + 1, run.last};
  return from_below ? is_in(lower) || is_in(upper) : is_in(upper) || is_in(lower);
}

bool RuleReader::Narrow(const Rule& rule, const Rule::Use& use, bool tries_all, OpenValues& open) {
  const int v = use.variable;
  const size_t most_steps = tries_all ? kMostSteps : kMostSteps / 4;
  if (!open.is_listed(v) || open.count(v) * use.steps.size() > most_steps) {
    const PositionRange all{open.first(v), open.last(v)};
    // Ends that creep are left to choices.
    const bool is_exact = v < system_.parameters() || use.steps.size() <= kFewSteps ||
                          all.last - all.first <= kFewValues;
    const uint32_t most_off = is_exact ? 0 : (all.last - all.first) / kParts;
    uint32_t first = 0, last = 0;
    if (!FindEnd(rule, use, all, /*from_below=*/true, most_off, &first)) return false;
    FindEnd(rule, use, {first, all.last}, /*from_below=*/false, most_off, &last);
    open.CloseBelow(v, first);
    open.CloseAbove(v, last);
  } else {
    const uint32_t last = open.last(v);
    for (uint32_t position = open.first(v);;) {
      const uint32_t next = position == last ? position : open.Next(v, position);
      if (!CanHoldAt(rule, use, position, position)) open.Close(v, position);
      if (position == last) break;
      position = next;
    }
  }
  return open.count(v) > 0;
}

// Of a rule about a term: what its operands leave of it.
bool RuleReader::NarrowTerm(const Rule& rule, OpenValues& open, std::vector<int>& changed) {
  if (is_term_empty_) return false;
  const int v = rule.term;
  const uint32_t count = open.count(v);
  const PositionRange left =
      system_.terms[v - system_.parameters()].PositionsOf(values_[rule.operation]);
  open.CloseBelow(v, left.first);
  open.CloseAbove(v, left.last);
  if (open.count(v) != count) changed.push_back(v);
  return open.count(v) > 0;
}

RuleReader::Finding RuleReader::FindingOf(const Rule& rule) const {
  if (rule.term < 0) {
    return values_[rule.operation].can == kCanBeTrue ? Finding::kSettled : Finding::kOpen;
  }
  const Bounds& value = values_[rule.operation];
  const bool has_ends = (value.can & kCanBeDefined) != 0;
  const bool is_inside =
      value.can == unclipped_.can &&
      (!has_ends || (value.lo.i == unclipped_.lo.i && value.hi.i == unclipped_.hi.i));
  return is_inside ? Finding::kSettled : Finding::kOpen;
}

RuleReader::Finding RuleReader::Read(const Rule& rule, OpenValues& open,
                                     std::vector<int>& changed) {
  open_ = &open;
  own_ = rule.term < 0 ? -1 : rule.operation;
  is_term_empty_ = false;
  int free = 0;
  for (const Rule::Use& use : rule.uses) {
    if (use.variable >= system_.parameters()) continue;
    Load(use, open.first(use.variable), open.last(use.variable));
    free += open.count(use.variable) > 1 ? 1 : 0;
  }
  Run(rule.steps);
  if (!CanHold(rule)) return Finding::kBroken;
  if (rule.term >= 0 && !NarrowTerm(rule, open, changed)) return Finding::kBroken;
  if (FindingOf(rule) == Finding::kSettled) return Finding::kSettled;
  for (const Rule::Use& use : rule.uses) {
    const uint32_t count = open.count(use.variable);
    const bool is_term = use.variable >= system_.parameters();
    if (count == 1 || use.variable == rule.term) continue;
    if (free > kMostTried && !use.is_direct) continue;
    const bool is_left = Narrow(rule, use, free <= kMostTried, open);
    if (open.count(use.variable) != count) changed.push_back(use.variable);
    if (!is_left) return Finding::kBroken;
    is_term_empty_ = false;
    if (is_term) {
      RunStep(use.leaves[0]);
    } else {
      Load(use, open.first(use.variable), open.last(use.variable));
    }
    Run(use.steps);
  }
  return FindingOf(rule);
}

}  // namespace mdh
