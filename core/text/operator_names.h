// What the operations of scalar functions are called in the text form.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "core/scalar/scalar_function.h"
#include "core/text/token_stream.h"

namespace mdh {

// The operation between two operands that the token stands for: +, &&, ...
std::optional<ScalarOpInfo> InfixOperator(const Token& token);

// The operation that is written as a call: min, sqrt, ...
std::optional<ScalarOpInfo> FunctionNamed(absl::string_view name);

}  // namespace mdh
