#include "tuner/space/constraints/operation_graph.h"

#include <algorithm>

namespace mdh {

bool IsChain(OperationCode code) {
  switch (code) {
    case OperationCode::kAdd:
    case OperationCode::kMultiply:
    case OperationCode::kMin:
    case OperationCode::kMax:
    case OperationCode::kAnd:
    case OperationCode::kOr:
      return true;
    default:
      return false;
  }
}

namespace {

// One value for certain.
bool IsCertain(const Operation& operation, const Bounds& bounds) {
  if (operation.kind == ValueKind::kCondition) {
    return bounds.can == kCanBeTrue || bounds.can == kCanBeFalse;
  }
  if (bounds.can != kCanBeDefined) return false;
  return operation.kind == ValueKind::kReal ? bounds.lo.r == bounds.hi.r
                                            : bounds.lo.i == bounds.hi.i;
}

std::vector<int64_t> KeyOf(const Operation& operation) {
  std::vector<int64_t> key;
  key.reserve(operation.operands.size() + 3);
  key.push_back(static_cast<int64_t>(operation.code) << 16 |
                static_cast<int64_t>(operation.kind) << 8 | operation.of_reals << 1 |
                static_cast<int>(operation.of_conditions));
  key.push_back(operation.number);
  key.push_back(operation.items);
  for (int operand : operation.operands) key.push_back(operand);
  for (const TableStep& step : operation.steps) {
    key.push_back(step.at_most);
    key.push_back(step.value);
  }
  return key;
}

}  // namespace

Bounds OperationGraph::BoundsOf(const Operation& operation) const {
  if (operation.code == OperationCode::kParameter) return parameter_bounds_[operation.number];
  if (operation.code == OperationCode::kCode) return Bounds::Integers(0, Range::kMaxSize);
  if (operation.code == OperationCode::kPredicate) {
    Bounds anything;
    anything.can = kCanBeFalse | kCanBeTrue | kCanBeUndefined;
    return anything;
  }
  return BoundsOf(operation, bounds_);
}

Bounds OperationGraph::BoundsOf(const Operation& operation, const std::vector<Bounds>& operands) {
  Bounds result;
  if (!IsChain(operation.code)) {
    EvaluateBounds(operation, operands.data(), result);
    return result;
  }
  // Bounds of chains do not depend on how they are associated, but for overflow of ends.
  Operation pair = operation;
  pair.operands = {0, 1};
  Bounds values[2] = {operands[operation.operands[0]], {}};
  for (size_t i = 1; i < operation.operands.size(); ++i) {
    values[1] = operands[operation.operands[i]];
    EvaluateBounds(pair, values, result);
    values[0] = result;
  }
  return values[0];
}

std::vector<Bounds> OperationGraph::Evaluate(absl::Span<const Bounds> values,
                                             absl::Span<const Bounds> codes) const {
  std::vector<Bounds> results = bounds_;
  for (size_t n = 0; n < operations_.size(); ++n) {
    const Operation& operation = operations_[n];
    if (operation.code == OperationCode::kParameter) results[n] = values[operation.number];
    if (operation.code == OperationCode::kCode) results[n] = codes[operation.number];
    const bool is_known = IsLeafOfParameter(operation.code) ||
                          operation.code == OperationCode::kConstant ||
                          operation.code == OperationCode::kPredicate;
    if (!is_known) results[n] = BoundsOf(operation, results);
  }
  return results;
}

int OperationGraph::Add(Operation operation) {
  if (IsChain(operation.code) && operation.operands.size() == 1) return operation.operands[0];
  const auto [found, is_new] =
      numbers_.try_emplace(KeyOf(operation), static_cast<int>(operations_.size()));
  if (!is_new) return found->second;
  const Bounds bounds = BoundsOf(operation);
  if (IsCertain(operation, bounds)) {
    const int constant = AddConstant(operation.kind, bounds);
    numbers_[KeyOf(operation)] = constant;
    return constant;
  }
  operations_.push_back(std::move(operation));
  bounds_.push_back(bounds);
  return static_cast<int>(operations_.size()) - 1;
}

int OperationGraph::AddConstant(ValueKind kind, const Bounds& value) {
  const int64_t bits = kind == ValueKind::kCondition ? value.can : value.lo.i;
  const std::vector<int64_t> key = {-1, static_cast<int64_t>(kind), bits};
  const auto [found, is_new] = numbers_.try_emplace(key, static_cast<int>(operations_.size()));
  if (!is_new) return found->second;
  operations_.push_back({.code = OperationCode::kConstant, .kind = kind});
  bounds_.push_back(value);
  return static_cast<int>(operations_.size()) - 1;
}

int OperationGraph::AddPredicate(OpaqueCondition condition, std::vector<int> operands) {
  const bool is_certain = std::ranges::all_of(operands, [this](int operand) {
    return operations_[operand].code == OperationCode::kConstant;
  });
  if (is_certain) {
    std::vector<int64_t> codes;
    for (int operand : operands) {
      const Bounds& value = bounds_[operand];
      const bool is_condition = operations_[operand].kind == ValueKind::kCondition;
      codes.push_back(is_condition ? (value.can == kCanBeTrue ? 1 : 0) : value.lo.i);
    }
    Bounds value;
    value.can = condition(codes);
    return AddConstant(ValueKind::kCondition, value);
  }
  predicates_.push_back(std::move(condition));
  return Add({.code = OperationCode::kPredicate,
              .kind = ValueKind::kCondition,
              .number = static_cast<int>(predicates_.size()) - 1,
              .operands = std::move(operands)});
}

void OperationGraph::SetParameterBounds(std::vector<Bounds> parameter_bounds) {
  parameter_bounds_ = std::move(parameter_bounds);
  for (size_t number = 0; number < operations_.size(); ++number) {
    if (operations_[number].code == OperationCode::kConstant) continue;
    bounds_[number] = BoundsOf(operations_[number]);
  }
}

std::vector<bool> UsedOperations(const OperationGraph& graph,
                                 const std::vector<RootCondition>& roots) {
  std::vector<bool> is_used(graph.operations().size());
  for (const RootCondition& root : roots) is_used[root.operation] = true;
  for (size_t number = is_used.size(); number-- > 0;) {
    if (!is_used[number]) continue;
    for (int operand : graph.operations()[number].operands) is_used[operand] = true;
  }
  return is_used;
}

namespace {

// Copies operations, with chains taken apart in the order of levels.
class Ordering {
 public:
  Ordering(const OperationGraph& source, const std::vector<int>& level_of_parameter,
           OperationGraph& target)
      : source_(source), level_of_parameter_(level_of_parameter), target_(target) {}

  std::vector<int> Run(const std::vector<bool>& is_used) {
    const std::vector<Operation>& operations = source_.operations();
    for (size_t number = 0; number < operations.size(); ++number) {
      int level = -1;
      if (!is_used[number]) {
        levels_.push_back(level);
        numbers_.push_back(-1);
        continue;
      }
      Operation operation = operations[number];
      for (int& operand : operation.operands) level = std::max(level, levels_[operand]);
      if (IsLeafOfParameter(operation.code)) level = level_of_parameter_[operation.number];
      levels_.push_back(level);
      numbers_.push_back(Copy(static_cast<int>(number), std::move(operation)));
    }
    return numbers_;
  }

 private:
  int Copy(int number, Operation operation) {
    if (operation.code == OperationCode::kConstant) {
      return target_.AddConstant(operation.kind, source_.bounds()[number]);
    }
    if (operation.code == OperationCode::kPredicate) {
      for (int& operand : operation.operands) operand = numbers_[operand];
      return target_.AddPredicate(source_.predicates()[operation.number], operation.operands);
    }
    if (IsChain(operation.code)) return CopyChain(operation);
    for (int& operand : operation.operands) operand = numbers_[operand];
    return target_.Add(std::move(operation));
  }

  int CopyChain(const Operation& operation) {
    std::vector<int> operands = operation.operands;
    // What decides from left to right, and reals, whose sums are rounded, stay as they are.
    const bool is_free = operands.size() > 2 && operation.code != OperationCode::kAnd &&
                         operation.code != OperationCode::kOr && !operation.of_reals;
    if (is_free) {
      std::ranges::stable_sort(operands, [this](int a, int b) { return levels_[a] < levels_[b]; });
    }
    int result = numbers_[operands[0]];
    for (size_t i = 1; i < operands.size(); ++i) {
      Operation pair = operation;
      pair.operands = {result, numbers_[operands[i]]};
      result = target_.Add(std::move(pair));
    }
    return result;
  }

  const OperationGraph& source_;
  const std::vector<int>& level_of_parameter_;
  OperationGraph& target_;
  std::vector<int> levels_;
  std::vector<int> numbers_;
};

}  // namespace

OperationGraph OrderedByLevel(const OperationGraph& graph, std::vector<RootCondition>& roots,
                              const std::vector<int>& level_of_parameter,
                              std::vector<Bounds> parameter_bounds) {
  OperationGraph ordered(std::move(parameter_bounds));
  const std::vector<int> numbers =
      Ordering(graph, level_of_parameter, ordered).Run(UsedOperations(graph, roots));
  for (RootCondition& root : roots) root.operation = numbers[root.operation];
  return ordered;
}

std::vector<std::vector<int>> ParametersOfOperations(const OperationGraph& graph) {
  std::vector<std::vector<int>> parameters(graph.operations().size());
  for (size_t number = 0; number < parameters.size(); ++number) {
    const Operation& operation = graph.operations()[number];
    std::vector<int>& below = parameters[number];
    if (IsLeafOfParameter(operation.code)) below.push_back(operation.number);
    for (int operand : operation.operands) {
      below.insert(below.end(), parameters[operand].begin(), parameters[operand].end());
    }
    std::ranges::sort(below);
    below.erase(std::unique(below.begin(), below.end()), below.end());
  }
  return parameters;
}

}  // namespace mdh
