// From the syntax of a function to a typed ScalarFunction.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_function.h"
#include "core/text/function_inference.h"
#include "core/text/function_syntax.h"

namespace mdh {

struct TypedFunction {
  // Records are taken apart: a parameter "a" of a record type is the parameters "a.x", "a.y", ...;
  // the same for results. Indices follow the other parameters.
  ScalarFunction function;
  std::vector<int> index_dimensions;  // those whose indices the syntax names, ascending
};

// The syntax must have as many parameters and results as the signature. `dimensions`: names of the
// dimensions whose indices may be used. There are no implicit conversions. Errors: InvalidArgument
// with position for types that do not fit, literals without a type, fields of results that are not
// assigned, indices where there are none, and functions that are too long.
Result<TypedFunction> TypeFunction(const FunctionSyntax& syntax, const TokenStream& stream,
                                   const FunctionSignature& signature,
                                   const std::vector<std::string>& dimensions);

}  // namespace mdh
