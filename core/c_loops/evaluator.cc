// Expressions.
#include "core/c_loops/evaluator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "core/c_loops/math_functions.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

std::optional<ScalarOp> ComparisonOf(const std::string& op) {
  static const auto* operators = new std::map<std::string, ScalarOp>{
      {"==", ScalarOp::kEq}, {"!=", ScalarOp::kNe}, {"<", ScalarOp::kLt},
      {"<=", ScalarOp::kLe}, {">", ScalarOp::kGt},  {">=", ScalarOp::kGe}};
  const auto found = operators->find(op);
  return found == operators->end() ? std::nullopt : std::optional<ScalarOp>(found->second);
}

std::optional<ScalarOp> ArithmeticOf(const std::string& op) {
  static const auto* operators = new std::map<std::string, ScalarOp>{
      {"+", ScalarOp::kAdd},   {"-", ScalarOp::kSub},   {"*", ScalarOp::kMul},
      {"/", ScalarOp::kDiv},   {"%", ScalarOp::kRem},   {"&", ScalarOp::kBitAnd},
      {"|", ScalarOp::kBitOr}, {"^", ScalarOp::kBitXor}};
  const auto found = operators->find(op);
  return found == operators->end() ? std::nullopt : std::optional<ScalarOp>(found->second);
}

}  // namespace

int FieldNumber(const CType& record, const std::string& name) {
  for (size_t n = 0; n < record.fields.size(); ++n) {
    if (record.fields[n].name == name) return static_cast<int>(n);
  }
  return -1;
}

Status Evaluator::Count(const CNode& node) {
  constexpr int kMaxEvaluated = 100'000;
  if (++evaluated_ <= kMaxEvaluated && builder_.instructions().size() <= kMaxEvaluated) {
    return absl::OkStatus();
  }
  return ErrorAt(node, "the loop body, with the functions that it calls, is too long");
}

Result<int> Evaluator::Scalar(const CNode& node) {
  MDH_ASSIGN_OR_RETURN(const CValue value, Value(node));
  if (!node.type.is_scalar() || value.size() != 1) {
    return ErrorAt(node, "expected a number, found a value of type '", node.type.spelling, "'");
  }
  return builder_.Cast(node.type.scalar, value[0]);
}

Result<int> Evaluator::Condition(const CNode& node) {
  MDH_ASSIGN_OR_RETURN(const CValue value, Value(node));
  if (!node.type.is_scalar() || value.size() != 1) {
    return ErrorAt(node, "expected a condition, found a value of type '", node.type.spelling, "'");
  }
  return builder_.Cast(ScalarType::kBool, value[0]);
}

Result<CValue> Evaluator::Value(const CNode& node) {
  MDH_RETURN_IF_ERROR(Count(node));
  switch (node.kind) {
    case Kind::kLiteral:
      return CValue{builder_.Constant(*node.value)};
    case Kind::kReference:
    case Kind::kSubscript:
    case Kind::kDereference:
    case Kind::kMember:
      return ReadVariable(node);
    case Kind::kConvert:
      return Convert(node);
    case Kind::kUnary:
      return Unary(node);
    case Kind::kBinary:
      return Binary(node);
    case Kind::kConditional:
      return Conditional(node);
    case Kind::kCall:
      return AnyCall(node);
    case Kind::kList:
      return List(node);
    case Kind::kAssign:
      return ErrorAt(node, "an assignment inside of an expression is not supported");
    default:
      return ErrorAt(node, node.text, " is not supported here");
  }
}

Result<CValue> Evaluator::ReadVariable(const CNode& node) {
  if (node.kind == Kind::kMember && !node.children.empty() && node.children[0].type.is_record()) {
    const CNode& record = node.children[0];
    MDH_ASSIGN_OR_RETURN(const CValue value, Value(record));
    const int field = FieldNumber(record.type, node.text);
    if (field < 0 || field >= static_cast<int>(value.size())) {
      return ErrorAt(node, "'", node.text, "' cannot be read");
    }
    if (value[field] >= 0) return CValue{value[field]};
    return ErrorAt(node, "'", node.text, "' has no value as yet");
  }
  const auto local = state_.find(node.declaration);
  if (node.kind != Kind::kReference || local == state_.end()) return memory_.Read(node, this);
  if (local->second.empty()) return ErrorAt(node, "pointers are not supported as values");
  if (!node.type.is_record() && local->second[0] < 0) {
    return ErrorAt(node, "'", node.text, "' has no value as yet");
  }
  return local->second;
}

Result<CValue> Evaluator::Convert(const CNode& node) {
  MDH_ASSIGN_OR_RETURN(CValue value, Value(node.children[0]));
  if (node.type.is_record() && node.children[0].type.is_record()) return value;
  if (!node.type.is_scalar() || value.size() != 1) {
    return ErrorAt(node, "a conversion from '", node.children[0].type.spelling, "' to '",
                   node.type.spelling, "' is not supported");
  }
  // A comparison is an int in C, but stays a truth value for as long as it is used as one.
  const bool is_truth =
      builder_.type(value[0]) == ScalarType::kBool && node.type.scalar == ScalarType::kInt32 &&
      node.children[0].type.is_scalar() && node.children[0].type.scalar == ScalarType::kInt32;
  if (is_truth) return value;
  // The value that C would convert is an int, even if here it is a truth value; both are 0 or 1.
  return CValue{builder_.Cast(node.type.scalar, value[0])};
}

Result<CValue> Evaluator::Unary(const CNode& node) {
  const CNode& operand = node.children[0];
  if (node.text == "!") {
    MDH_ASSIGN_OR_RETURN(const int value, Condition(operand));
    return CValue{builder_.Unary(ScalarOp::kNot, value)};
  }
  if (node.text == "&") return ErrorAt(node, "addresses are not supported");
  if (node.text == "++" || node.text == "--") {
    return ErrorAt(node, "'", node.text, "' inside of an expression is not supported");
  }
  MDH_ASSIGN_OR_RETURN(const int value, Scalar(operand));
  if (node.text == "+") return CValue{value};
  if (node.text == "-") return CValue{builder_.Unary(ScalarOp::kNeg, value)};
  if (!IsInteger(operand.type.scalar)) return ErrorAt(node, "this operator needs integers");
  const int ones = builder_.Constant(ScalarValue::Integer(operand.type.scalar, -1));
  return CValue{builder_.Binary(ScalarOp::kBitXor, value, ones)};
}

Result<CValue> Evaluator::Binary(const CNode& node) {
  const CNode &left = node.children[0], &right = node.children[1];
  if (node.text == "&&" || node.text == "||") {
    MDH_ASSIGN_OR_RETURN(const int a, Condition(left));
    MDH_ASSIGN_OR_RETURN(const int b, Condition(right));
    return CValue{builder_.Binary(node.text == "&&" ? ScalarOp::kAnd : ScalarOp::kOr, a, b)};
  }
  for (const CNode* side : {&left, &right}) {
    if (!side->type.is_scalar()) return NoNumber(node, side->type);
  }
  MDH_ASSIGN_OR_RETURN(const int a, Scalar(left));
  if (node.text == "<<" || node.text == ">>") {
    MDH_ASSIGN_OR_RETURN(const int value, Shift(node, node.text, a, right));
    return CValue{value};
  }
  MDH_ASSIGN_OR_RETURN(const int b, Scalar(right));
  if (const std::optional<ScalarOp> op = ComparisonOf(node.text); op.has_value()) {
    return CValue{builder_.Binary(*op, a, b)};
  }
  MDH_ASSIGN_OR_RETURN(const int value, Arithmetic(node, node.text, a, b));
  return CValue{value};
}

Status Evaluator::NoNumber(const CNode& node, const CType& type) const {
  if (type.kind == CType::Kind::kPointer || type.kind == CType::Kind::kArray) {
    return ErrorAt(node, "pointer arithmetic is not supported");
  }
  const bool is_complex = absl::StrContains(type.spelling, "omplex");
  return ErrorAt(node, "values of type '", type.spelling, "' are not supported",
                 is_complex ? "; a complex number is a struct of its two parts, "
                              "or a number in each of two buffers"
                            : "");
}

Result<int> Evaluator::Arithmetic(const CNode& node, const std::string& op, int a, int b) {
  const std::optional<ScalarOp> found = ArithmeticOf(op);
  const ScalarType type = builder_.type(a);
  if (!found.has_value() || !ResultType(*found, {type, builder_.type(b)}).ok()) {
    return ErrorAt(node, "'", op, "' is not supported for values of type ", Name(type));
  }
  return builder_.Binary(*found, a, b);
}

// By a constant: a product or quotient with a power of two. Of a negative value, which C's
// compilers shift with its sign, the quotient is rounded down.
Result<int> Evaluator::Shift(const CNode& node, const std::string& op, int a, const CNode& by) {
  const ScalarType type = builder_.type(a);
  const int bits = 8 * SizeBytes(type);
  if (!IsInteger(type) || !by.constant.has_value() || *by.constant < 0 || *by.constant >= bits) {
    return ErrorAt(node, "'", op, "' is supported for integers, by constants from 0 to ", bits - 1,
                   "; others are products and quotients");
  }
  // Also of unsigned values that C has promoted to int.
  const ScalarInstruction& value = builder_.at(a);
  const ScalarType before =
      value.op == ScalarOp::kCast ? builder_.type(value.operands[0]) : ScalarType::kInt64;
  const bool is_promoted = !IsSigned(before) && HoldsAllValues(type, before);
  if (*by.constant == 0) return a;
  const int64_t power = static_cast<int64_t>(uint64_t{1} << *by.constant);
  const int factor = builder_.Constant(ScalarValue::Integer(type, power));
  if (op == "<<") return builder_.Binary(ScalarOp::kMul, a, factor);
  if (!IsSigned(type) || is_promoted) return builder_.Binary(ScalarOp::kDiv, a, factor);
  const auto constant = [&](int64_t number) {
    return builder_.Constant(ScalarValue::Integer(type, number));
  };
  if (*by.constant == bits - 1) {  // the power is no value of the type
    const int is_negative = builder_.Binary(ScalarOp::kLt, a, constant(0));
    return builder_.Select(is_negative, constant(-1), constant(0));
  }
  const int rest = builder_.Binary(ScalarOp::kBitAnd, a, constant(power - 1));
  return builder_.Binary(ScalarOp::kDiv, builder_.Binary(ScalarOp::kSub, a, rest), factor);
}

Result<CValue> Evaluator::Conditional(const CNode& node) {
  MDH_ASSIGN_OR_RETURN(const int condition, Condition(node.children[0]));
  CValue sides[2];
  for (const int side : {0, 1}) {
    MDH_ASSIGN_OR_RETURN(sides[side], Value(node.children[side + 1]));
    if (!node.type.is_scalar()) continue;
    sides[side][0] = builder_.Cast(node.type.scalar, sides[side][0]);
  }
  if (node.type.ScalarTypes().size() != sides[0].size() || sides[0].size() != sides[1].size()) {
    return ErrorAt(node, "a choice of values of type '", node.type.spelling, "' is not supported");
  }
  CValue value;
  for (size_t n = 0; n < sides[0].size(); ++n) {
    value.push_back(builder_.Select(condition, sides[0][n], sides[1][n]));
  }
  return value;
}

// The values of a struct; what is not given is zero.
Result<CValue> Evaluator::List(const CNode& node) {
  const std::vector<ScalarType> types = node.type.ScalarTypes();
  if (types.empty() || node.children.size() > types.size()) {
    return ErrorAt(node, "this list of values is not supported");
  }
  CValue value;
  for (size_t n = 0; n < types.size(); ++n) {
    if (n >= node.children.size()) {
      value.push_back(builder_.Constant(ScalarValue::Zero(types[n])));
      continue;
    }
    MDH_ASSIGN_OR_RETURN(const int field, Scalar(node.children[n]));
    value.push_back(builder_.Cast(types[n], field));
  }
  return value;
}

Result<CValue> Evaluator::AnyCall(const CNode& node) {
  MDH_ASSIGN_OR_RETURN(const CFunction* function, node.declaration.empty()
                                                      ? Result<const CFunction*>(nullptr)
                                                      : unit_.Function(node.text));
  if (function == nullptr) return MathCall(node);
  std::vector<CValue> arguments;
  for (const CNode& argument : node.children) {
    MDH_ASSIGN_OR_RETURN(CValue value, Value(argument));
    if (argument.type.is_scalar()) value[0] = builder_.Cast(argument.type.scalar, value[0]);
    arguments.push_back(std::move(value));
  }
  MDH_ASSIGN_OR_RETURN(CValue result, Call(*function, arguments, node.begin));
  if (result.empty()) return ErrorAt(node, "'", node.text, "' gives no value");
  calls_.push_back({node.text, std::move(arguments), result});
  return result;
}

Result<CValue> Evaluator::MathCall(const CNode& node) {
  std::vector<int> arguments;
  for (const CNode& argument : node.children) {
    MDH_ASSIGN_OR_RETURN(const int value, Scalar(argument));
    arguments.push_back(value);
  }
  const std::optional<int> value = BuildMathCall(node.text, arguments, &builder_);
  if (value.has_value()) return CValue{*value};
  return ErrorAt(node, "the function '", node.text,
                 "' is neither defined in this file nor one of the supported "
                 "functions of math.h");
}

}  // namespace mdh
