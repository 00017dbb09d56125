// Einstein summation strings, as numpy's einsum takes them, as a front end: "ij,jk->ik".
#pragma once

#include <string>
#include <string_view>

#include "core/expression.h"
#include "core/scalar_type.h"
#include "core/status.h"
#include "core/text/parser.h"

namespace mdh {

// "OPERAND{,OPERAND}[->OUTPUT]": each operand is a word of letters, one per dimension of a buffer;
// blanks mean nothing. A letter that occurs several times in an operand reads its diagonal. Without
// "->" the output has the letters that occur once, in alphabetical order.
//
// `sizes`: a value for each letter. All buffers are of type `type`. The dimensions are the letters
// of the output, then the others in the order of their first appearance; inputs are called A, B,
// ... without names of dimensions, the output is `out`. f is the product of the operands from the
// left; letters that are not in the output are reduced with + (bool: && and ||).
//
// Errors: InvalidArgument with position and caret for anything else than letters, "...", letters of
// the output that are unknown or occur twice, letters without a size or with one that is no
// positive integer; InvalidArgument for sizes of letters that do not occur; what Expression::Create
// says.
Result<Expression> ParseEinsum(std::string_view text, const Bindings& sizes, ScalarType type,
                               std::string_view source_name = "<einsum>");

// "a=24,b=16" as bindings, added to *sizes. Errors: InvalidArgument for another form, and for two
// different values of a letter.
Status AddSizes(std::string_view text, Bindings* sizes);

}  // namespace mdh
