// Types of everything in the body of a function.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/text/function_syntax.h"
#include "core/text/type_syntax.h"

namespace mdh {

// What a function is applied to and gives.
struct FunctionSignature {
  std::vector<TypePointer> parameters;  // one per parameter of the syntax
  std::vector<TypePointer> results;     // one per result of the syntax
};

// The type of every node; null for tables and for let-names of tables, which have none. Types flow
// up from names, then down into literals. Errors: InvalidArgument with position for types that do
// not fit and for literals without a type.
Result<std::vector<TypePointer>> InferTypes(const FunctionSyntax& syntax,
                                            const FunctionSignature& signature,
                                            const TokenStream& stream);

}  // namespace mdh
