// How many configurations of a diagram are left where positions of its levels are given up: in all,
// and with each position of a level.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "tuner/space/diagram/diagram.h"
#include "tuner/space/diagram/domains.h"

namespace mdh {

// Positions first..last, each of which has so many configurations.
struct CountedRun {
  uint32_t first;
  uint32_t last;
  mpz_class count;
};

// Immutable, thread-safe; keeps references to the diagram and the domains. Counts are exact. One
// pass from the end to the root counts completions of nodes, one from the root to the end ways to
// them, each over all edges; the second one is made when it is first needed.
class RestrictedCounts {
 public:
  // `like`, if not nullptr, is of domains of the same diagram that are equal but for `level`: what
  // does not depend on that level is shared.
  static std::shared_ptr<const RestrictedCounts> Create(const Diagram& diagram,
                                                        const Domains& domains,
                                                        const RestrictedCounts* like, int level);
  virtual ~RestrictedCounts() = default;

  virtual mpz_class count() const = 0;
  // Of the positions of a level that have configurations.
  virtual std::vector<CountedRun> PositionsAt(int level) const = 0;
  // The configuration with that index < count(), in the diagram's order.
  virtual void At(mpz_class index, absl::Span<uint32_t> positions) const = 0;
};

}  // namespace mdh
