// Prints expressions in the text form; ParseExpression of the result gives the same expression.
#pragma once

#include <string>

#include "core/expression/expression.h"

namespace mdh {

// Types, sizes and extents are printed as literals, layouts as strides. Parameters and results keep
// their names where the text form can say them.
std::string ToText(const Expression& expression);

// "{ w = M * v }": the body of a function, with `let` for values that are used more than once.
// Fields of records are written as they are called, "a.x".
std::string ToText(const ScalarFunction& function);

// "(i,k) -> (i, 2*k+1)".
std::string ToText(const IndexFunction& index, const std::vector<Dimension>& dimensions);

}  // namespace mdh
