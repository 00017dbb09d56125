#include "tuner/space/diagram/nearest.h"

#include <limits>

namespace mdh {
namespace {

// Of nodes without completions; so many parameters more are no overflow.
constexpr Distance kNowhere = {std::numeric_limits<int>::max() / 2, 0};

// The best way on from a node.
struct Choice {
  Distance distance = kNowhere;
  uint32_t position = 0;
  uint32_t child = 0;
};

// Of the edge's positions that are left the one closest to `wanted`.
uint32_t Closest(const DiagramLevel& level, uint32_t edge, uint32_t wanted, const Domain& domain) {
  if (wanted >= domain.size()) return domain.At(level.first[edge], 0);
  return domain.Nearest(level.first[edge], level.last[edge], wanted);
}

}  // namespace

std::vector<uint32_t> NearestPositions(const Diagram& diagram, const Domains& domains,
                                       const std::vector<uint32_t>& wanted) {
  const int depth = diagram.depth();
  std::vector<std::vector<Choice>> choices(depth + 1);
  choices[depth].push_back({.distance = {}});
  for (int number = depth - 1; number >= 0; --number) {
    const DiagramLevel& level = diagram.levels()[number];
    const Domain domain = domains[number];
    choices[number].resize(level.nodes());
    for (uint32_t node = 0; node < level.nodes(); ++node) {
      Choice& best = choices[number][node];
      for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
        const Distance below = choices[number + 1][level.child[edge]].distance;
        if (!(below < kNowhere)) continue;
        if (domain.CountIn(level.first[edge], level.last[edge]) == 0) continue;
        const uint32_t position = Closest(level, edge, wanted[number], domain);
        const Distance distance = DistanceOf(position, wanted[number], domain.size()) + below;
        if (distance < best.distance) {
          best = {distance, position, level.child[edge]};
        }
      }
    }
  }
  std::vector<uint32_t> positions(depth);
  uint32_t node = 0;
  for (int number = 0; number < depth; ++number) {
    positions[number] = choices[number][node].position;
    node = choices[number][node].child;
  }
  return positions;
}

}  // namespace mdh
