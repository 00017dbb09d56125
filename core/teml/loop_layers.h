// The loops around an assignment, sorted by what runs them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/teml/nest_path.h"

namespace mdh {

// Loops are outermost first in all lists.
struct LoopLayers {
  std::vector<PathLoop> cores;                // parallel; of an iterator one at most
  std::vector<std::vector<PathLoop>> groups;  // sequential; in a group, of an iterator one at most
  std::vector<PathLoop> registers;            // unrolled inside of all others
  std::optional<int> lanes;                   // the iterator of the vectorized loop
};

// Told what is done in another way than the loops say.
using LoopNotice = std::function<void(const Token& token, const std::string& message)>;

// `names`: of the iterators, for notices. The vectorized loop is a sequential one, too: from vector
// to vector.
LoopLayers SortLoops(const std::vector<PathLoop>& path, const std::vector<std::string>& names,
                     const LoopNotice& notice);

}  // namespace mdh
