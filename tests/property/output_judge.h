// What is wrong with the outputs of a kernel whose results are exact.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/expression.h"

namespace mdh {

// Which elements of each output are written at all.
std::vector<std::vector<bool>> ReachedElements(const Expression& expression);

// The first element of an output that is not bit by bit (but for the sign of zeros) what is
// expected, or the first byte that was written though no index function reaches it; an empty string
// if there is none. `poison`: the byte that the buffer was filled with before.
std::string DifferenceOf(const Buffer& buffer, const std::byte* got, const std::byte* expected,
                         const std::vector<bool>& reached, std::byte poison);

}  // namespace mdh
