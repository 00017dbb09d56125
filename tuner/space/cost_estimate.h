// What a configuration may cost, before anything is evaluated.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace mdh {

// Pure and thread-safe.
class CostEstimate {
 public:
  virtual ~CostEstimate() = default;

  // More than 0, in any unit: only quotients of estimates mean anything.
  virtual double Of(absl::Span<const int64_t> configuration) const = 0;
};

}  // namespace mdh
