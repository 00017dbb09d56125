// The configuration of a diagram that differs least from given positions.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/diagram/diagram.h"
#include "tuner/space/diagram/domains.h"

namespace mdh {

// How far values lie apart: first the number of parameters that differ, then how much.
struct Distance {
  int changes = 0;
  double amount = 0;

  friend bool operator<(const Distance& a, const Distance& b) {
    return a.changes != b.changes ? a.changes < b.changes : a.amount < b.amount;
  }
  friend Distance operator+(const Distance& a, const Distance& b) {
    return {a.changes + b.changes, a.amount + b.amount};
  }
};

inline Distance DistanceOf(uint32_t position, uint32_t wanted, uint32_t size) {
  if (position == wanted) return {};
  if (wanted >= size) return {1, 1};  // not in the range
  const uint32_t steps = position > wanted ? position - wanted : wanted - position;
  return {1, static_cast<double>(steps) / size};
}

// Of the configurations whose positions are in the domains, of which there is one. Wanted positions
// by level; those outside of their range differ from all values by 1.
std::vector<uint32_t> NearestPositions(const Diagram& diagram, const Domains& domains,
                                       const std::vector<uint32_t>& wanted);

}  // namespace mdh
