// What is made of the sums of a summation string: "max(out + bias[j], 0) + skip[i,j]".
#pragma once

#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// A value of the text form (core/text/grammar.md), in which `out` is the sum and NAME[INDEX,...] an
// element of a buffer of type `type`; indices are affine in the letters, which as values are
// indices. Elements are converted to `accumulate`, in which all is computed.
//
// `reduced`: per dimension whether it is summed over. Errors: InvalidArgument with position, for
// what depends on such a dimension, too.
Result<StoreFunction> ParseEpilogue(std::string_view text, const std::vector<Dimension>& dimensions,
                                    const std::vector<bool>& reduced, ScalarType type,
                                    ScalarType accumulate);

}  // namespace mdh
