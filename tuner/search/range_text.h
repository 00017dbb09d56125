// Ranges as text, complete, unlike those for messages.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tuner/space/formula/range.h"

namespace mdh {

// "1..64", "1..64 step 3", {1, 2, 4} with values as formulas spell them, permutations of "i", "j".
std::string RangeToText(const Range& range);
// Errors: InvalidArgument.
Result<Range> ParseRange(std::string_view text);

}  // namespace mdh
