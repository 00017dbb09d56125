// Type inference for the scalar language: types flow up from names, then down into literals.
#include "core/text/function_typing.h"

#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Kind = ScalarNode::Kind;

bool GivesBool(ScalarOp op) {
  return op >= ScalarOp::kAnd || op == ScalarOp::kNot;  // comparisons follow && and ||
}

bool TakesBool(ScalarOp op) {
  return op == ScalarOp::kAnd || op == ScalarOp::kOr || op == ScalarOp::kNot;
}

class Typing {
 public:
  Typing(const FunctionSyntax& syntax, const TokenStream& stream,
         absl::Span<const ScalarType> parameters, absl::Span<const ScalarType> results)
      : syntax_(syntax),
        stream_(stream),
        parameters_(parameters),
        results_(results),
        types_(syntax.nodes.size()),
        instruction_of_(syntax.nodes.size(), -1) {}

  Result<ScalarFunction> Run() {
    MDH_RETURN_IF_ERROR(InferUpwards());
    MDH_RETURN_IF_ERROR(InferDownwards());
    for (size_t n = 0; n < syntax_.nodes.size(); ++n) MDH_RETURN_IF_ERROR(Emit(n));
    std::vector<int> result_instructions;
    for (int node : syntax_.result_nodes) result_instructions.push_back(instruction_of_[node]);
    Result<ScalarFunction> function = ScalarFunction::Create(
        std::string(syntax_.name.text), TypedNames(syntax_.parameters, parameters_),
        TypedNames(syntax_.results, results_), std::move(instructions_),
        std::move(result_instructions));
    if (!function.ok()) return stream_.ErrorAt(syntax_.name, function.status().message());
    return function;
  }

 private:
  static std::vector<TypedName> TypedNames(const std::vector<Token>& names,
                                           absl::Span<const ScalarType> types) {
    std::vector<TypedName> result;
    for (size_t n = 0; n < names.size(); ++n) {
      result.push_back({std::string(names[n].text), types[n]});
    }
    return result;
  }

  const ScalarNode& node(int n) const { return syntax_.nodes[n]; }
  const std::optional<ScalarType>& operand_type(const ScalarNode& node, int o) const {
    return types_[node.operands[o]];
  }
  // The operands that must have one type: both of a binary operation, the branches of a select.
  static std::pair<int, int> Matched(const ScalarNode& node) {
    if (node.op == ScalarOp::kSelect) return {1, 2};
    return {0, node.num_operands - 1};
  }

  Status InferUpwards() {
    size_t next_let = 0;
    for (size_t n = 0; n < syntax_.nodes.size(); ++n) {
      MDH_ASSIGN_OR_RETURN(types_[n], TypeFromOperands(node(n)));
      for (; next_let < syntax_.lets.size() && syntax_.lets[next_let].node == static_cast<int>(n);
           ++next_let) {
        if (types_[n].has_value()) continue;
        return NoType(syntax_.lets[next_let].name);
      }
    }
    return absl::OkStatus();
  }

  // nullopt: untyped as yet.
  Result<std::optional<ScalarType>> TypeFromOperands(const ScalarNode& node) const {
    using Type = std::optional<ScalarType>;
    switch (node.kind) {
      case Kind::kParameter:
        return Type(parameters_[node.reference]);
      case Kind::kLet:
        return types_[node.reference];
      case Kind::kCast:
        return Type(node.type);
      case Kind::kLiteral:
        if (node.token.Is("true") || node.token.Is("false")) return Type(ScalarType::kBool);
        return Type();
      case Kind::kOperation:
        break;
    }
    const auto [first, second] = Matched(node);
    const Type& a = operand_type(node, first);
    const Type& b = operand_type(node, second);
    if (a.has_value() && b.has_value() && *a != *b) {
      return stream_.ErrorAt(
          node.token,
          absl::StrCat("the operands of '", Info(node.op).name, "' have the types ", Name(*a),
                       " and ", Name(*b), "; convert one, as in ", Name(*a), "(...)"));
    }
    if (GivesBool(node.op)) return Type(ScalarType::kBool);
    return a.has_value() ? a : b;
  }

  Status InferDownwards() {
    for (size_t r = 0; r < syntax_.result_nodes.size(); ++r) {
      std::optional<ScalarType>& type = types_[syntax_.result_nodes[r]];
      if (!type.has_value()) type = results_[r];
      if (*type != results_[r]) {
        return stream_.ErrorAt(
            syntax_.result_tokens[r],
            absl::StrCat("result '", syntax_.results[r].text, "' has type ", Name(results_[r]),
                         ", but the value has type ", Name(*type), "; convert it, as in ",
                         Name(results_[r]), "(...)"));
      }
    }
    for (size_t n = syntax_.nodes.size(); n-- > 0;) {
      const ScalarNode& parent = node(n);
      for (int o = 0; o < parent.num_operands; ++o) {
        std::optional<ScalarType>& type = types_[parent.operands[o]];
        if (type.has_value()) continue;
        type = TypeForOperand(parent, static_cast<int>(n), o);
        if (!type.has_value()) return NoType(parent.token);
      }
    }
    return absl::OkStatus();
  }

  // What node n asks of its untyped operand.
  std::optional<ScalarType> TypeForOperand(const ScalarNode& parent, int n, int o) const {
    if (parent.kind == Kind::kCast) return parent.type;
    if (TakesBool(parent.op) || (parent.op == ScalarOp::kSelect && o == 0)) {
      return ScalarType::kBool;
    }
    if (!GivesBool(parent.op)) return types_[n];
    return operand_type(parent, 1 - o);  // a comparison
  }

  Status NoType(const Token& at) const {
    return stream_.ErrorAt(
        at, absl::StrCat("the literals of '", at.text, "' have no type; give one, as in fp32(1)"));
  }

  Status Emit(size_t n) {
    const ScalarNode& node = syntax_.nodes[n];
    ScalarInstruction instruction{ScalarOp::kConstant, *types_[n], {}};
    switch (node.kind) {
      case Kind::kLet:
        instruction_of_[n] = instruction_of_[node.reference];
        return absl::OkStatus();
      case Kind::kParameter:
        instruction.op = ScalarOp::kParameter;
        instruction.parameter = node.reference;
        break;
      case Kind::kLiteral: {
        MDH_ASSIGN_OR_RETURN(instruction.constant, TypeLiteral(node.literal, *types_[n], stream_));
        break;
      }
      case Kind::kCast:
        instruction.op = ScalarOp::kCast;
        instruction.operands = {instruction_of_[node.operands[0]]};
        break;
      case Kind::kOperation: {
        MDH_RETURN_IF_ERROR(CheckOperation(node));
        instruction.op = node.op;
        for (int o = 0; o < node.num_operands; ++o) {
          instruction.operands.push_back(instruction_of_[node.operands[o]]);
        }
        break;
      }
    }
    instruction_of_[n] = static_cast<int>(instructions_.size());
    instructions_.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  Status CheckOperation(const ScalarNode& node) const {
    std::vector<ScalarType> types;
    for (int o = 0; o < node.num_operands; ++o) types.push_back(*operand_type(node, o));
    const Result<ScalarType> type = ResultType(node.op, types);
    return type.ok() ? absl::OkStatus() : stream_.ErrorAt(node.token, type.status().message());
  }

  const FunctionSyntax& syntax_;
  const TokenStream& stream_;
  absl::Span<const ScalarType> parameters_;
  absl::Span<const ScalarType> results_;
  std::vector<std::optional<ScalarType>> types_;  // one per node
  std::vector<int> instruction_of_;               // one per node
  std::vector<ScalarInstruction> instructions_;
};

// Straight to the type: fp32 through fp64 would round twice.
template <typename T>
std::optional<double> ParseReal(absl::string_view text) {
  T value = 0;
  const std::from_chars_result result =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<ScalarValue> RealLiteral(const LiteralSyntax& literal, ScalarType type) {
  std::optional<double> value;
  if (literal.token.Is("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (literal.token.Is("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (type == ScalarType::kFloat32) {
    value = ParseReal<float>(literal.token.text);
  } else {
    value = ParseReal<double>(literal.token.text);
  }
  if (!value.has_value()) return std::nullopt;
  return ScalarValue::Real(type, literal.is_negative ? -*value : *value);
}

std::optional<ScalarValue> IntegerLiteral(const LiteralSyntax& literal, ScalarType type) {
  uint64_t magnitude = 0;
  if (literal.token.kind != Token::Kind::kInteger ||
      !absl::SimpleAtoi(literal.token.text, &magnitude)) {
    return std::nullopt;
  }
  const int bits = 8 * SizeBytes(type) - (IsSigned(type) ? 1 : 0);
  const uint64_t largest = (bits == 64 ? 0 : uint64_t{1} << bits) - 1;
  const uint64_t limit = !literal.is_negative ? largest : IsSigned(type) ? largest + 1 : 0;
  if (magnitude > limit) return std::nullopt;
  const uint64_t value = literal.is_negative ? 0 - magnitude : magnitude;
  return ScalarValue::Integer(type, static_cast<int64_t>(value));
}

}  // namespace

Result<ScalarFunction> TypeFunction(const FunctionSyntax& syntax, const TokenStream& stream,
                                    absl::Span<const ScalarType> parameters,
                                    absl::Span<const ScalarType> results) {
  return Typing(syntax, stream, parameters, results).Run();
}

Result<ScalarValue> TypeLiteral(const LiteralSyntax& literal, ScalarType type,
                                const TokenStream& stream) {
  std::optional<ScalarValue> value;
  if (literal.token.Is("true") || literal.token.Is("false")) {
    if (type == ScalarType::kBool) value = ScalarValue::Bool(literal.token.Is("true"));
  } else if (IsFloatingPoint(type)) {
    value = RealLiteral(literal, type);
  } else if (IsInteger(type)) {
    value = IntegerLiteral(literal, type);
  }
  if (value.has_value()) return *value;
  return stream.ErrorAt(literal.token,
                        absl::StrCat("'", literal.is_negative ? "-" : "", literal.token.text,
                                     "' is no value of type ", Name(type)));
}

}  // namespace mdh
