// Parsing and typing literals.
#include "core/text/literal_syntax.h"

#include <charconv>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/text/type_syntax.h"

namespace mdh {
namespace {

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
  if (literal.size.has_value()) {
    value = static_cast<double>(*literal.size);
  } else if (literal.token.Is("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (literal.token.Is("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    // Straight to the type that is computed with: fp32 through fp64 would round twice.
    value = type == ScalarType::kFloat64 ? ParseReal<double>(literal.token.text)
                                         : ParseReal<float>(literal.token.text);
  }
  if (!value.has_value() || ScalarValue::IsTooLarge(type, *value)) return std::nullopt;
  return ScalarValue::Real(type, literal.is_negative ? -*value : *value);
}

std::optional<ScalarValue> IntegerLiteral(const LiteralSyntax& literal, ScalarType type) {
  if (literal.size.has_value()) {
    const ScalarValue value = ScalarValue::Integer(type, *literal.size);
    const bool fits = value.as_int64() == *literal.size && (IsSigned(type) || *literal.size >= 0);
    return fits ? std::optional(value) : std::nullopt;
  }
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

Status CheckShape(const ConstantSyntax& constant, const ElementType& type,
                  const TokenStream& stream) {
  if (constant.is_record != type.is_record()) {
    return stream.ErrorAt(
        constant.start,
        type.is_record()
            ? absl::StrCat("a value of type ", TypeText(type), " has its fields in braces, as in {",
                           type.fields()[0].name, ": ...}")
            : absl::StrCat("a value of type ", TypeText(type), " is written without braces"));
  }
  if (constant.literals.size() != type.fields().size()) {
    return stream.ErrorAt(constant.start, constant.literals.size(), " values for the ",
                          type.fields().size(), " fields of ", TypeText(type));
  }
  for (size_t n = 0; n < constant.names.size(); ++n) {
    const Token& name = constant.names[n];
    if (name.Is(type.fields()[n].name)) continue;
    return stream.ErrorAt(name, "expected field '", type.fields()[n].name, "', found '", name.text,
                          "'; the type is ", TypeText(type));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsNumber(const Token& token) {
  return token.kind == Token::Kind::kInteger || token.kind == Token::Kind::kReal ||
         token.Is("inf") || token.Is("nan");
}

bool IsLiteral(const Token& token) {
  return IsNumber(token) || token.Is("true") || token.Is("false");
}

Result<LiteralSyntax> ParseLiteral(TokenStream* stream) {
  LiteralSyntax literal;
  literal.is_negative = stream->Accept("-");
  literal.token = stream->Peek();
  const bool fits = literal.is_negative ? IsNumber(literal.token) : IsLiteral(literal.token);
  if (!fits) return stream->Unexpected("a literal");
  stream->Next();
  return literal;
}

Result<ConstantSyntax> ParseConstant(TokenStream* stream) {
  ConstantSyntax constant{stream->Peek(), stream->Accept("{"), {}, {}};
  const bool has_names = constant.is_record && stream->Peek(1).Is(":");
  const auto parse = [&]() -> Status {
    if (has_names) {
      MDH_ASSIGN_OR_RETURN(const Token name, stream->ExpectName("the name of a field"));
      constant.names.push_back(name);
      MDH_RETURN_IF_ERROR(stream->Expect(":"));
    }
    MDH_ASSIGN_OR_RETURN(const LiteralSyntax literal, ParseLiteral(stream));
    constant.literals.push_back(literal);
    return absl::OkStatus();
  };
  if (!constant.is_record) {
    MDH_RETURN_IF_ERROR(parse());
    return constant;
  }
  MDH_RETURN_IF_ERROR(ParseCommaSeparated(stream, parse));
  MDH_RETURN_IF_ERROR(stream->Expect("}"));
  return constant;
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
  const std::string size =
      literal.size.has_value() ? absl::StrCat(", which is ", *literal.size, ",") : "";
  return stream.ErrorAt(literal.token, "'", literal.is_negative ? "-" : "", literal.token.text, "'",
                        size, " is no value of type ", Name(type));
}

Result<std::vector<ScalarValue>> TypeConstant(const ConstantSyntax& constant,
                                              const ElementType& type, const TokenStream& stream) {
  MDH_RETURN_IF_ERROR(CheckShape(constant, type, stream));
  std::vector<ScalarValue> values;
  for (size_t n = 0; n < constant.literals.size(); ++n) {
    MDH_ASSIGN_OR_RETURN(const ScalarValue value,
                         TypeLiteral(constant.literals[n], type.fields()[n].type, stream));
    values.push_back(value);
  }
  return values;
}

}  // namespace mdh
