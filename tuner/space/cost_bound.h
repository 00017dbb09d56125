// What no configuration of a part of a space can cost less than.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tuner/space/search_space.h"

namespace mdh {

// By parameter: the codes that are open, at least one, in any order.
using OpenCodes = absl::Span<const absl::Span<const int64_t>>;

// Pure and thread-safe.
class CostBound {
 public:
  virtual ~CostBound() = default;

  // Of all configurations of these codes that are in the space, in the unit of costs; 0: nothing is
  // known. Never less for fewer codes.
  virtual double Of(OpenCodes open) const = 0;

  // Of one configuration.
  double OfOne(absl::Span<const int64_t> configuration) const;
};

// All codes of the parameters, and codes as a bound is asked for them.
std::vector<std::vector<int64_t>> AllCodes(const SearchSpace& space);
std::vector<absl::Span<const int64_t>> SpansOf(const std::vector<std::vector<int64_t>>& codes);

}  // namespace mdh
