// Low-level BUFs (paper, Definition 13) as the low-level interpreter keeps them: inputs in regions
// and layouts of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/decomposition/index_box.h"
#include "core/expression/interpreter.h"

namespace mdh {

inline int64_t ElementsOf(const IndexBox& box) {
  int64_t elements = 1;
  for (size_t x = 0; x < box.first.size(); ++x) elements *= box.last[x] - box.first[x] + 1;
  return elements;
}

// Where an index of the box lies if the dimensions are stored in the order `layout`, outermost
// first.
int64_t PlaceInLayout(const IndexBox& box, const std::vector<int>& layout,
                      const std::vector<int64_t>& index);

// Calls visit(index) for every index of the box, the last dimension fastest; once for a box without
// dimensions.
template <typename Visit>
void ForEachIndex(const IndexBox& box, const Visit& visit) {
  std::vector<int64_t> index = box.first;
  while (true) {
    visit(index);
    size_t x = index.size();
    while (x > 0 && index[x - 1] == box.last[x - 1]) {
      index[x - 1] = box.first[x - 1];
      --x;
    }
    if (x == 0) return;
    ++index[x - 1];
  }
}

// What levels read an input from. Elements are bytes.
class LowLevelInput {
 public:
  virtual ~LowLevelInput() = default;
  // The element of the buffer at an index, which the boundary may provide.
  virtual const std::byte* Read(const std::vector<int64_t>& index) const = 0;
};

// The user's buffer; `bytes` must outlive it.
std::unique_ptr<LowLevelInput> UserInput(const Buffer& buffer, const BufferBytes& bytes);
// A copy of the box's elements of `from`.
std::unique_ptr<LowLevelInput> CopiedInput(const Buffer& buffer, IndexBox box,
                                           std::vector<int> layout, const LowLevelInput& from);

}  // namespace mdh
