// Expressions in files: text, binary messages, messages as JSON.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

enum class ExpressionFormat { kText, kBinary, kJson };

// kBinary for *.binpb, kJson for *.json, kText for all others.
ExpressionFormat FormatOfFile(const std::string& file);

// "text", "binpb" or "json". Errors: InvalidArgument, naming them.
Result<ExpressionFormat> FormatFromName(const std::string& name);

// An expression from a message mdh.v1.Expression; `format` is not kText. `source` is for messages.
// Errors: InvalidArgument or OutOfRange.
Result<Expression> ReadMessage(const std::string& bytes, ExpressionFormat format,
                               const std::string& source);

// Ends with a newline unless it is binary.
std::string WriteExpression(const Expression& expression, ExpressionFormat format);

}  // namespace mdh
