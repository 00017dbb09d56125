// Deciding whether two accesses of an output view write one element (paper, Definition 10): exact
// for affine index functions on boxes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/index_function.h"

namespace mdh {

// Two MDA points whose images are the same buffer element.
struct Collision {
  std::vector<int64_t> first;   // under the first index function
  std::vector<int64_t> second;  // under the second
};

// Two different points of one index function with the same image, nullopt if it is injective on the
// box [0, sizes_d). Dimensions without any coefficient count: leave them out by giving size 1.
// `steps` is decreased by the work done.
// Errors: ResourceExhausted if the steps do not suffice to decide.
Result<std::optional<Collision>> FindSelfCollision(const IndexFunction& access,
                                                   absl::Span<const int64_t> sizes, int64_t* steps);

// Any point of `first` and any of `second` (perhaps the same) with the same image, nullopt if the
// images are disjoint. Errors: as above.
Result<std::optional<Collision>> FindCollision(const IndexFunction& first,
                                               const IndexFunction& second,
                                               absl::Span<const int64_t> sizes, int64_t* steps);

}  // namespace mdh
