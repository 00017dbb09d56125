// Literals of the text form, and the values they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/expression/element_type.h"
#include "core/scalar/scalar_value.h"
#include "core/text/token_stream.h"

namespace mdh {

// A literal with its sign, or a size parameter, which is as good as one.
struct LiteralSyntax {
  Token token;  // 1, 2.5, true, false, inf, nan, or the parameter
  bool is_negative = false;
  std::optional<int64_t> size = std::nullopt;  // the parameter's value
};

// A literal, or one per field of a record: {0, -inf} or {x: 0, y: -inf}.
struct ConstantSyntax {
  Token start;
  bool is_record = false;
  std::vector<Token> names;  // of the fields; empty if they are not written
  std::vector<LiteralSyntax> literals;
};

// 1, 2.5, inf, nan: what may have a sign.
bool IsNumber(const Token& token);
// Any literal without its sign.
bool IsLiteral(const Token& token);

// Errors: InvalidArgument with position.
Result<LiteralSyntax> ParseLiteral(TokenStream* stream);
Result<ConstantSyntax> ParseConstant(TokenStream* stream);

// The value of a literal. Errors: InvalidArgument if there is no such value of the type.
Result<ScalarValue> TypeLiteral(const LiteralSyntax& literal, ScalarType type,
                                const TokenStream& stream);

// One value per field of the type, which is one value for a scalar. Errors: InvalidArgument if
// number, names or values do not fit the fields.
Result<std::vector<ScalarValue>> TypeConstant(const ConstantSyntax& constant,
                                              const ElementType& type, const TokenStream& stream);

}  // namespace mdh
