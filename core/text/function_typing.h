// From the syntax of a function to a typed ScalarFunction.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/scalar_function.h"
#include "core/status.h"
#include "core/text/function_syntax.h"

namespace mdh {

// Types literals by their context: a literal has the type of the other operand, of the result that
// it is assigned to, or of the conversion around it. There are no implicit conversions. The syntax
// must have as many parameters and results as there are types. Errors: InvalidArgument with
// position for types that do not fit and literals without a type.
Result<ScalarFunction> TypeFunction(const FunctionSyntax& syntax, const TokenStream& stream,
                                    absl::Span<const ScalarType> parameters,
                                    absl::Span<const ScalarType> results);

// The value of a literal. Errors: InvalidArgument if there is no such value of the type.
Result<ScalarValue> TypeLiteral(const LiteralSyntax& literal, ScalarType type,
                                const TokenStream& stream);

}  // namespace mdh
