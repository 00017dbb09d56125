// What no configuration of a part of a space can cost less than.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

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
  double OfOne(absl::Span<const int64_t> configuration) const {
    std::vector<absl::Span<const int64_t>> open;
    open.reserve(configuration.size());
    for (const int64_t& code : configuration) open.emplace_back(&code, 1);
    return Of(open);
  }
};

}  // namespace mdh
