// Several translation units of generated C or CUDA C++ as one, so that they are compiled by one run
// of a compiler: starting it, and reading the headers, takes as long as a small kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mdh {

// The units one after the other; what the k-th one defines at file scope has NameSuffix(k) behind
// its name, and its macros end with it. Headers that several of them include must guard themselves
// against that, as all standard headers do. Functions that would be inlined in a unit of their own
// may not be in a large one, so that the code need not be the same.
std::string JoinUnits(absl::Span<const std::string> units);
std::string NameSuffix(size_t unit);

// What a unit defines or declares at file scope: functions, types and variables, in the order of
// their first appearance, and its macros.
struct UnitNames {
  std::vector<std::string> names;
  std::vector<std::string> macros;
};
UnitNames NamesOf(absl::string_view unit);

}  // namespace mdh
