// Statements and functions.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/c_loops/evaluator.h"
#include "core/c_loops/loop_nest.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

bool HasReturn(const CNode& node) {
  return node.kind == Kind::kReturn || std::ranges::any_of(node.children, HasReturn);
}

// The variable that an lvalue is, or is a field of.
const CNode& RecordOf(const CNode& lvalue) {
  return lvalue.kind == Kind::kMember && !lvalue.children.empty() ? lvalue.children[0] : lvalue;
}

}  // namespace

Status Evaluator::Run(const CNode& statement) {
  MDH_RETURN_IF_ERROR(Count(statement));
  switch (statement.kind) {
    case Kind::kCompound:
    case Kind::kDeclarations:
      for (const CNode& child : statement.children) MDH_RETURN_IF_ERROR(Run(child));
      return absl::OkStatus();
    case Kind::kDeclaration:
      return Declare(statement);
    case Kind::kAssign:
      return Assign(statement);
    case Kind::kUnary:
      if (statement.text == "++" || statement.text == "--") return Increment(statement);
      break;
    case Kind::kIf:
      return If(statement);
    case Kind::kEmpty:
      return absl::OkStatus();
    case Kind::kConvert:
      return Run(statement.children[0]);
    case Kind::kCall:
      return ErrorAt(statement, "a call of '", statement.text,
                     "' for its side effects is not supported");
    case Kind::kFor:
      return ErrorAt(statement, "a loop is not supported here: loops must be nested perfectly");
    case Kind::kReturn:
      return ErrorAt(statement, "'return' is not supported here");
    case Kind::kOther:
      return ErrorAt(statement, statement.text, " is not supported");
    default:
      break;
  }
  return ErrorAt(statement, "this statement has no effect");
}

Status Evaluator::Declare(const CNode& declaration) {
  const size_t fields = declaration.type.ScalarTypes().size();
  if (fields == 0) {
    return ErrorAt(declaration, "a variable of type '", declaration.type.spelling,
                   "' is not supported here");
  }
  state_[declaration.declaration] = CValue(fields, -1);
  if (declaration.children.empty()) return absl::OkStatus();
  const CNode& initial = declaration.children[0];
  MDH_ASSIGN_OR_RETURN(CValue value, Value(initial));
  if (value.size() != fields) return ErrorAt(declaration, "this initial value is not supported");
  if (declaration.type.is_scalar()) {
    value[0] = builder_.Cast(declaration.type.scalar, value[0]);
    memory_.Declared(declaration.declaration, initial);
  }
  state_[declaration.declaration] = std::move(value);
  return absl::OkStatus();
}

Status Evaluator::Assign(const CNode& node) {
  const CNode &lvalue = node.children[0], &right = node.children[1];
  if (node.text == "=") {
    MDH_ASSIGN_OR_RETURN(CValue value, Value(right));
    if (lvalue.type.is_scalar()) value[0] = builder_.Cast(lvalue.type.scalar, value[0]);
    return Store(lvalue, std::move(value));
  }
  for (const CNode* side : {&lvalue, &right}) {
    if (!side->type.is_scalar()) return NoNumber(node, side->type);
  }
  const std::string op = node.text.substr(0, node.text.size() - 1);
  MDH_ASSIGN_OR_RETURN(const int former, Scalar(lvalue));
  int value = -1;
  if (op == "<<" || op == ">>") {
    MDH_ASSIGN_OR_RETURN(value, Shift(node, op, former, right));
  } else {
    // clang has converted the right side to the type in which C computes.
    MDH_ASSIGN_OR_RETURN(const int operand, Scalar(right));
    MDH_ASSIGN_OR_RETURN(value,
                         Arithmetic(node, op, builder_.Cast(right.type.scalar, former), operand));
  }
  return Store(lvalue, {builder_.Cast(lvalue.type.scalar, value)});
}

Status Evaluator::Increment(const CNode& node) {
  const CNode& lvalue = node.children[0];
  if (!lvalue.type.is_scalar() || lvalue.type.scalar == ScalarType::kBool) {
    return ErrorAt(node, "'", node.text, "' is supported for numbers only");
  }
  const ScalarType type = lvalue.type.scalar;
  MDH_ASSIGN_OR_RETURN(const int former, Scalar(lvalue));
  const int one =
      builder_.Cast(type, builder_.Constant(ScalarValue::Integer(ScalarType::kInt32, 1)));
  const ScalarOp op = node.text == "++" ? ScalarOp::kAdd : ScalarOp::kSub;
  return Store(lvalue, {builder_.Binary(op, former, one)});
}

Status Evaluator::Store(const CNode& lvalue, CValue value) {
  if (value.size() != lvalue.type.ScalarTypes().size()) {
    return ErrorAt(lvalue, "an assignment to a value of type '", lvalue.type.spelling,
                   "' is not supported");
  }
  const CNode& target = RecordOf(lvalue);
  const auto local = state_.find(target.declaration);
  if (target.kind == Kind::kReference && local != state_.end()) {
    if (&target == &lvalue) {
      local->second = std::move(value);
    } else {
      local->second.at(FieldNumber(target.type, lvalue.text)) = value[0];
    }
    memory_.Assigned(target.declaration);
    return absl::OkStatus();
  }
  if (&target == &lvalue || !target.type.is_record()) {
    return memory_.Write(lvalue, std::move(value), this);
  }
  // A field of a record: the other ones keep their values.
  MDH_ASSIGN_OR_RETURN(CValue record, memory_.Read(target, this));
  record.at(FieldNumber(target.type, lvalue.text)) = value[0];
  return memory_.Write(target, std::move(record), this);
}

Status Evaluator::If(const CNode& node) {
  MDH_ASSIGN_OR_RETURN(const int condition, Condition(node.children[0]));
  const State before = state_;
  MDH_RETURN_IF_ERROR(Run(node.children[1]));
  const State then = std::move(state_);
  state_ = before;
  if (node.children.size() > 2) MDH_RETURN_IF_ERROR(Run(node.children[2]));
  const State otherwise = std::move(state_);
  state_ = before;
  return Merge(condition, then, otherwise, node);
}

Status Evaluator::Merge(int condition, const State& then, const State& otherwise,
                        const CNode& node) {
  State all = then;
  all.insert(otherwise.begin(), otherwise.end());
  for (const auto& [name, any] : all) {
    const bool is_memory = name[0] == '=';
    // Variables of the branches end with them.
    if (!is_memory && state_.count(name) == 0) continue;
    const auto of = [&, &variable = name](const State& state) {
      const auto found = state.find(variable);
      return found == state.end() ? memory_.Former(variable) : found->second;
    };
    CValue a = of(then), b = of(otherwise);
    for (size_t n = 0; n < a.size(); ++n) {
      if (a[n] == b[n]) continue;
      MDH_RETURN_IF_ERROR(Count(node));
      a[n] = a[n] < 0 || b[n] < 0 ? -1 : builder_.Select(condition, a[n], b[n]);
    }
    state_[name] = std::move(a);
  }
  return absl::OkStatus();
}

Result<CValue> Evaluator::Call(const CFunction& function, std::vector<CValue> arguments,
                               size_t offset) {
  const auto error = [&](absl::string_view message) {
    return unit_.source().ErrorAt(offset, "'", function.name, "' ", message);
  };
  if (std::ranges::find(active_calls_, function.name) != active_calls_.end()) {
    return error("calls itself, which is not supported");
  }
  if (arguments.size() != function.parameters.size()) {
    return error(
        absl::StrCat("has ", function.parameters.size(), " parameters, not ", arguments.size()));
  }
  const State before = state_;
  for (size_t n = 0; n < arguments.size(); ++n) {
    const CNode& parameter = function.parameters[n];
    if (parameter.type.ScalarTypes().size() != arguments[n].size()) {
      return error(absl::StrCat("has a parameter of type '", parameter.type.spelling,
                                "', which is not supported"));
    }
    state_[parameter.declaration] = std::move(arguments[n]);
  }
  active_calls_.push_back(function.name);
  std::vector<const CNode*> statements;
  for (const CNode& statement : function.body.children) statements.push_back(&statement);
  MDH_ASSIGN_OR_RETURN(CValue result, Body(std::move(statements)));
  active_calls_.pop_back();
  if (result.empty() && !function.result.ScalarTypes().empty()) {
    return error("does not always return a value");
  }
  if (function.result.is_scalar()) result[0] = builder_.Cast(function.result.scalar, result[0]);
  // What is written through pointers stays.
  State after = before;
  for (auto& [name, value] : state_) {
    if (name[0] == '=') after[name] = std::move(value);
  }
  state_ = std::move(after);
  return result;
}

// Runs the statements up to a return. What follows an if that may return belongs to both branches.
Result<CValue> Evaluator::Body(std::vector<const CNode*> statements) {
  for (size_t n = 0; n < statements.size(); ++n) {
    const CNode& statement = *statements[n];
    MDH_RETURN_IF_ERROR(Count(statement));
    if (statement.kind == Kind::kReturn) {
      if (statement.children.empty()) return CValue{};
      return Value(statement.children[0]);
    }
    if (!HasReturn(statement)) {
      MDH_RETURN_IF_ERROR(Run(statement));
      continue;
    }
    std::vector<const CNode*> rest(statements.begin() + n + 1, statements.end());
    if (statement.kind == Kind::kCompound) {
      std::vector<const CNode*> all;
      for (const CNode& child : statement.children) all.push_back(&child);
      all.insert(all.end(), rest.begin(), rest.end());
      return Body(std::move(all));
    }
    if (statement.kind != Kind::kIf) return ErrorAt(statement, "'return' is not supported here");
    MDH_ASSIGN_OR_RETURN(const int condition, Condition(statement.children[0]));
    const State before = state_;
    State after[2];
    CValue values[2];
    for (const size_t side : {0, 1}) {
      std::vector<const CNode*> branch = rest;
      if (side + 1 < statement.children.size()) {
        branch.insert(branch.begin(), &statement.children[side + 1]);
      }
      state_ = before;
      MDH_ASSIGN_OR_RETURN(values[side], Body(std::move(branch)));
      after[side] = std::move(state_);
    }
    state_ = before;
    MDH_RETURN_IF_ERROR(Merge(condition, after[0], after[1], statement));
    if (values[0].size() != values[1].size()) {
      return ErrorAt(statement, "a value is not returned in all cases");
    }
    for (size_t v = 0; v < values[0].size(); ++v) {
      const ScalarType type = builder_.type(values[0][v]);
      values[0][v] = builder_.Select(condition, values[0][v], builder_.Cast(type, values[1][v]));
    }
    return values[0];
  }
  return CValue{};
}

}  // namespace mdh
