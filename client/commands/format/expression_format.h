// Expressions and pipelines in files: text, binary messages, messages as JSON.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/pipeline/computation.h"

namespace mdh {

enum class ExpressionFormat { kText, kBinary, kJson };

// kBinary for *.binpb, kJson for *.json, kText for all others.
ExpressionFormat FormatOfFile(const std::string& file);

// "text", "binpb" or "json". Errors: InvalidArgument, naming them.
Result<ExpressionFormat> FormatFromName(const std::string& name);

// From a message mdh.v1.Expression or mdh.v1.Pipeline; `format` is not kText. `source` is for
// messages. Errors: InvalidArgument or OutOfRange.
Result<Computation> ReadMessage(const std::string& bytes, ExpressionFormat format,
                                const std::string& source);

// Ends with a newline unless it is binary.
std::string WriteComputation(const Computation& computation, ExpressionFormat format);

}  // namespace mdh
