// Constraints to operations: types are decided, conjunctions are taken apart, sums and products are
// flattened where any association gives the same.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "tuner/space/constraints/integer_bounds.h"
#include "tuner/space/constraints/operation_graph.h"
#include "tuner/space/constraints/step_function.h"
#include "tuner/space/formula/range.h"

namespace mdh {
namespace {

using Code = OperationCode;

struct Typed {
  int number;
  ValueKind kind;
  bool is_permutation = false;
};

Code ArithmeticCode(FormulaOp op) {
  switch (op) {
    case FormulaOp::kAdd:
      return Code::kAdd;
    case FormulaOp::kSubtract:
      return Code::kSubtract;
    case FormulaOp::kMultiply:
      return Code::kMultiply;
    case FormulaOp::kDivide:
      return Code::kDivide;
    case FormulaOp::kFloorDivide:
      return Code::kFloorDivide;
    case FormulaOp::kRemainder:
      return Code::kRemainder;
    case FormulaOp::kPower:
      return Code::kPower;
    case FormulaOp::kNegate:
      return Code::kNegate;
    case FormulaOp::kAbsolute:
      return Code::kAbsolute;
    case FormulaOp::kMin:
      return Code::kMin;
    case FormulaOp::kMax:
      return Code::kMax;
    case FormulaOp::kCeilDivide:
      return Code::kCeilDivide;
    case FormulaOp::kDivides:
      return Code::kDivides;
    case FormulaOp::kEqual:
    case FormulaOp::kNotEqual:
      return Code::kEqual;
    case FormulaOp::kLess:
    case FormulaOp::kGreater:
      return Code::kLess;
    default:
      return Code::kLessEqual;
  }
}

class Compiler {
 public:
  Compiler(const std::vector<TuningParameter>& parameters, const StringRanks& strings,
           OperationGraph& graph)
      : parameters_(parameters), strings_(strings), graph_(graph) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      numbers_[parameters[i].name] = static_cast<int>(i);
    }
  }

  int Condition(const Formula& formula) {
    const std::optional<Typed> direct = TryCondition(formula);
    return direct ? direct->number : Opaque(formula);
  }

  std::optional<Operand> Number(const Formula& formula) {
    const std::optional<Typed> number = Compile(formula);
    if (!number.has_value() || number->kind == ValueKind::kCondition) return std::nullopt;
    return Operand{number->number, number->kind == ValueKind::kReal};
  }

 private:
  // nullopt: contains what operations cannot express (permutations that are computed or compared
  // with permutations of other items).
  std::optional<Typed> Compile(const Formula& formula) {
    const auto known = done_.find(formula.identity());
    if (!formula.operands().empty() && known != done_.end()) return known->second;
    std::optional<Typed> result = CompileNew(formula);
    if (!formula.operands().empty()) done_.emplace(formula.identity(), result);
    return result;
  }

  std::optional<Typed> CompileNew(const Formula& formula) {
    switch (formula.op()) {
      case FormulaOp::kConstant:
        return ConstantOf(formula.constant());
      case FormulaOp::kParameter:
        return ParameterNamed(formula.parameter());
      case FormulaOp::kPosition:
        return PositionOf(formula);
      case FormulaOp::kIf:
        return Choice(formula);
      case FormulaOp::kAnd:
      case FormulaOp::kOr:
      case FormulaOp::kNot:
      case FormulaOp::kEqual:
      case FormulaOp::kNotEqual:
      case FormulaOp::kLess:
      case FormulaOp::kLessEqual:
      case FormulaOp::kGreater:
      case FormulaOp::kGreaterEqual:
      case FormulaOp::kDivides:
      case FormulaOp::kPredicate:
        return Typed{Condition(formula), ValueKind::kCondition};
      default:
        return Arithmetic(formula);
    }
  }

  std::optional<Typed> TryCondition(const Formula& formula) {
    switch (formula.op()) {
      case FormulaOp::kAnd:
      case FormulaOp::kOr: {
        std::vector<int> operands;
        for (const Formula& operand : formula.operands()) operands.push_back(Condition(operand));
        return Add({.code = formula.op() == FormulaOp::kAnd ? Code::kAnd : Code::kOr,
                    .kind = ValueKind::kCondition,
                    .operands = std::move(operands)});
      }
      case FormulaOp::kNot:
        return Not(Condition(formula.operands()[0]));
      case FormulaOp::kPredicate:
        return OpaqueOf(formula);
      case FormulaOp::kConstant:
        return ConstantOf(formula.constant());
      case FormulaOp::kParameter:
        return ParameterNamed(formula.parameter());
      case FormulaOp::kIf:
        return Choice(formula);
      default:
        return Comparison(formula);
    }
  }

  Typed Add(Operation operation) {
    const ValueKind kind = operation.kind;
    return {graph_.Add(std::move(operation)), kind};
  }

  Typed Not(int condition) {
    return Add({.code = Code::kNot, .kind = ValueKind::kCondition, .operands = {condition}});
  }

  Typed ParameterNamed(const std::string& name) {
    const int number = numbers_.at(name);
    const Range& range = parameters_[number].range;
    const ValueKind kind = range.type() == ValueType::kBool   ? ValueKind::kCondition
                           : range.type() == ValueType::kReal ? ValueKind::kReal
                                                              : ValueKind::kInteger;
    Typed result = Add({.code = Code::kParameter, .kind = kind, .number = number});
    result.is_permutation = range.type() == ValueType::kPermutation;
    return result;
  }

  std::optional<Typed> ConstantOf(const Value& value) {
    switch (TypeOf(value)) {
      case ValueType::kBool:
        return Typed{
            graph_.AddConstant(ValueKind::kCondition, Bounds::Condition(std::get<bool>(value))),
            ValueKind::kCondition};
      case ValueType::kInteger:
        return Integer(std::get<int64_t>(value));
      case ValueType::kReal:
        return Typed{graph_.AddConstant(ValueKind::kReal, Bounds::Real(std::get<double>(value))),
                     ValueKind::kReal};
      case ValueType::kString:
        return Integer(strings_.at(std::get<std::string>(value)));
      default:
        return std::nullopt;
    }
  }

  Typed Integer(int64_t value) {
    return {graph_.AddConstant(ValueKind::kInteger, Bounds::Integer(value)), ValueKind::kInteger};
  }

  std::optional<Typed> PositionOf(const Formula& formula) {
    const Formula& permutation = formula.operands()[0];
    if (permutation.op() != FormulaOp::kParameter) return std::nullopt;
    const std::vector<std::string>& items =
        parameters_[numbers_.at(permutation.parameter())].range.items();
    const auto item =
        std::ranges::find(items, std::get<std::string>(formula.operands()[1].constant()));
    if (item == items.end()) return std::nullopt;
    const int operand = ParameterNamed(permutation.parameter()).number;
    return Add({.code = Code::kPosition,
                .kind = ValueKind::kInteger,
                .number = static_cast<int>(item - items.begin()),
                .items = static_cast<int>(items.size()),
                .operands = {operand}});
  }

  std::optional<Typed> Choice(const Formula& formula) {
    const int condition = Condition(formula.operands()[0]);
    std::optional<Typed> then = Compile(formula.operands()[1]);
    std::optional<Typed> otherwise = Compile(formula.operands()[2]);
    if (!then || !otherwise || then->is_permutation || otherwise->is_permutation) {
      return std::nullopt;
    }
    if (then->kind != otherwise->kind) {
      then = Real(*then);
      otherwise = Real(*otherwise);
    }
    std::optional<Operation> table =
        StepFunction(graph_, condition, then->number, otherwise->number);
    if (table) return Add(*std::move(table));
    return Add({.code = Code::kIf,
                .kind = then->kind,
                .operands = {condition, then->number, otherwise->number}});
  }

  Typed Real(Typed number) {
    if (number.kind == ValueKind::kReal) return number;
    return Add({.code = Code::kToReal, .kind = ValueKind::kReal, .operands = {number.number}});
  }

  // Operands of one kind; reals if one of them is.
  std::optional<std::vector<Typed>> Operands(const Formula& formula, bool as_reals) {
    std::vector<Typed> operands;
    for (const Formula& operand : formula.operands()) {
      const std::optional<Typed> typed = Compile(operand);
      if (!typed) return std::nullopt;
      as_reals |= typed->kind == ValueKind::kReal;
      operands.push_back(*typed);
    }
    if (as_reals) {
      for (Typed& operand : operands) operand = Real(operand);
    }
    return operands;
  }

  std::optional<Typed> Arithmetic(const Formula& formula) {
    std::optional<std::vector<Typed>> operands =
        Operands(formula, formula.op() == FormulaOp::kDivide);
    if (!operands) return std::nullopt;
    if (formula.op() == FormulaOp::kPower && operands->back().kind == ValueKind::kInteger &&
        graph_.bounds()[operands->back().number].lo.i < 0) {
      for (Typed& operand : *operands) operand = Real(operand);
    }
    Operation operation{.code = ArithmeticCode(formula.op()),
                        .kind = operands->front().kind,
                        .of_reals = operands->front().kind == ValueKind::kReal};
    for (const Typed& operand : *operands) operation.operands.push_back(operand.number);
    Flatten(operation);
    return Add(std::move(operation));
  }

  // (a * b) * c -> a * b * c, in the order of operations, so that equal ones are found.
  void Flatten(Operation& operation) {
    const bool is_sum = operation.code == Code::kAdd;
    const bool is_selection = operation.code == Code::kMin || operation.code == Code::kMax;
    if (operation.of_reals || !(is_sum || is_selection || operation.code == Code::kMultiply)) {
      return;
    }
    std::vector<int> operands;
    for (int operand : operation.operands) {
      const Operation& inner = graph_.operations()[operand];
      if (inner.code == operation.code && !inner.of_reals) {
        operands.insert(operands.end(), inner.operands.begin(), inner.operands.end());
      } else {
        operands.push_back(operand);
      }
    }
    if (!is_selection && !AnyAssociation(operands, is_sum)) return;
    std::ranges::sort(operands);
    operation.operands = std::move(operands);
  }

  // Whether no association overflows unless all do.
  bool AnyAssociation(const std::vector<int>& operands, bool is_sum) const {
    bool grows = true;
    uint8_t overflow = 0;
    int64_t size = is_sum ? 0 : 1;
    for (int operand : operands) {
      const Bounds& bounds = graph_.bounds()[operand];
      overflow |= bounds.can & kCanOverflow;
      grows &= bounds.lo.i >= (is_sum ? 0 : 1);
      const int64_t greatest =
          std::max({bounds.hi.i, bounds.lo.i == kLeastInteger ? kGreatestInteger : -bounds.lo.i,
                    int64_t{1}});
      size = is_sum ? SaturatingAdd(size, greatest, overflow)
                    : SaturatingMultiply(size, greatest, overflow);
    }
    return grows || overflow == 0;
  }

  std::optional<Typed> Comparison(const Formula& formula) {
    if (const std::optional<Typed> same = SamePermutation(formula)) return same;
    std::optional<std::vector<Typed>> operands = Operands(formula, false);
    if (!operands || operands->front().is_permutation || operands->back().is_permutation) {
      return std::nullopt;
    }
    if (formula.op() == FormulaOp::kGreater || formula.op() == FormulaOp::kGreaterEqual) {
      std::swap(operands->front(), operands->back());
    }
    return Compared(formula, operands->front().number, operands->back().number,
                    operands->front().kind);
  }

  Typed Compared(const Formula& formula, int a, int b, ValueKind kind) {
    const Typed result = Add({.code = ArithmeticCode(formula.op()),
                              .kind = ValueKind::kCondition,
                              .of_reals = kind == ValueKind::kReal,
                              .of_conditions = kind == ValueKind::kCondition,
                              .operands = {a, b}});
    return formula.op() == FormulaOp::kNotEqual ? Not(result.number) : result;
  }

  // Permutations of the same items are compared by their codes.
  std::optional<Typed> SamePermutation(const Formula& formula) {
    if (formula.op() != FormulaOp::kEqual && formula.op() != FormulaOp::kNotEqual) {
      return std::nullopt;
    }
    const Formula* a = &formula.operands()[0];
    const Formula* b = &formula.operands()[1];
    if (a->op() != FormulaOp::kParameter) std::swap(a, b);
    if (a->op() != FormulaOp::kParameter) return std::nullopt;
    const Range& range = parameters_[numbers_.at(a->parameter())].range;
    if (range.type() != ValueType::kPermutation) return std::nullopt;
    const int left = ParameterNamed(a->parameter()).number;
    if (b->op() == FormulaOp::kConstant) {
      const std::optional<int64_t> rank =
          RankOfPermutation(std::get<std::vector<std::string>>(b->constant()), range.items());
      const int right = Integer(rank.value_or(-1)).number;
      return Compared(formula, left, right, ValueKind::kInteger);
    }
    if (b->op() != FormulaOp::kParameter ||
        parameters_[numbers_.at(b->parameter())].range.items() != range.items()) {
      return std::nullopt;
    }
    return Compared(formula, left, ParameterNamed(b->parameter()).number, ValueKind::kInteger);
  }

  Typed OpaqueOf(const Formula& formula) {
    std::vector<int> operands;
    for (const Formula& operand : formula.operands()) {
      operands.push_back(numbers_.at(operand.parameter()));
    }
    return {graph_.AddPredicate(
                [holds = formula.predicate().holds](absl::Span<const int64_t> codes) {
                  return holds(codes) ? kCanBeTrue : kCanBeFalse;
                },
                ParameterOperations(operands)),
            ValueKind::kCondition};
  }

  // What operations cannot express is evaluated as a whole.
  int Opaque(const Formula& formula) {
    std::vector<TuningParameter> looked_at;
    std::vector<int> operands;
    for (const std::string& name : formula.Parameters()) {
      operands.push_back(numbers_.at(name));
      looked_at.push_back(parameters_[operands.back()]);
    }
    return graph_.AddPredicate(
        [formula, looked_at](absl::Span<const int64_t> codes) -> uint8_t {
          const Result<Value> value = Evaluate(formula, looked_at, codes);
          if (!value.ok()) {
            return absl::IsOutOfRange(value.status()) ? kCanOverflow : kCanDivideByZero;
          }
          return std::get<bool>(*value) ? kCanBeTrue : kCanBeFalse;
        },
        ParameterOperations(operands));
  }

  std::vector<int> ParameterOperations(const std::vector<int>& parameters) {
    std::vector<int> operations;
    for (int parameter : parameters) {
      const ValueType type = parameters_[parameter].range.type();
      const bool code_is_value = type != ValueType::kReal && type != ValueType::kString;
      operations.push_back(code_is_value ? ParameterNamed(parameters_[parameter].name).number
                                         : Add({.code = Code::kCode, .number = parameter}).number);
    }
    return operations;
  }

  const std::vector<TuningParameter>& parameters_;
  const StringRanks& strings_;
  OperationGraph& graph_;
  absl::flat_hash_map<std::string, int> numbers_;
  // Formulas share subtrees.
  absl::flat_hash_map<const void*, std::optional<Typed>> done_;
};

}  // namespace

std::vector<RootCondition> CompileConstraints(const std::vector<Constraint>& constraints,
                                              const std::vector<TuningParameter>& parameters,
                                              const StringRanks& strings, OperationGraph& graph) {
  Compiler compiler(parameters, strings, graph);
  std::vector<RootCondition> roots;
  for (size_t i = 0; i < constraints.size(); ++i) {
    const int number = static_cast<int>(i);
    const int whole = compiler.Condition(constraints[i].formula);
    const Operation& operation = graph.operations()[whole];
    bool divides = operation.code == Code::kAnd;
    for (size_t j = 1; divides && j < operation.operands.size(); ++j) {
      divides = (graph.bounds()[operation.operands[j]].can & kCanBeUndefined) == 0;
    }
    if (!divides) {
      roots.push_back({whole, number});
      continue;
    }
    // Operations move when others are added, their operands do not.
    for (int operand : std::vector<int>(operation.operands)) roots.push_back({operand, number});
  }
  return roots;
}

std::optional<Operand> CompileNumber(const Formula& formula,
                                     const std::vector<TuningParameter>& parameters,
                                     const StringRanks& strings, OperationGraph& graph) {
  return Compiler(parameters, strings, graph).Number(formula);
}

}  // namespace mdh
