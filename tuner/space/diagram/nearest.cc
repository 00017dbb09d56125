#include "tuner/space/diagram/nearest.h"

#include <algorithm>

namespace mdh {
namespace {

// The best way on from a node.
struct Choice {
  Distance distance;
  uint32_t position = 0;
  uint32_t child = 0;
};

// Of the edge's positions the one closest to `wanted`.
uint32_t Closest(const DiagramLevel& level, uint32_t edge, uint32_t wanted, uint32_t size) {
  if (wanted >= size) return level.first[edge];
  return std::clamp(wanted, level.first[edge], level.last[edge]);
}

}  // namespace

std::vector<uint32_t> NearestPositions(const Diagram& diagram, const std::vector<uint32_t>& sizes,
                                       const std::vector<uint32_t>& wanted) {
  const int depth = diagram.depth();
  std::vector<std::vector<Choice>> choices(depth + 1);
  choices[depth].resize(1);
  for (int number = depth - 1; number >= 0; --number) {
    const DiagramLevel& level = diagram.levels()[number];
    choices[number].resize(level.nodes());
    for (uint32_t node = 0; node < level.nodes(); ++node) {
      Choice& best = choices[number][node];
      for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
        const uint32_t position = Closest(level, edge, wanted[number], sizes[number]);
        const Distance distance = DistanceOf(position, wanted[number], sizes[number]) +
                                  choices[number + 1][level.child[edge]].distance;
        if (edge == level.begin[node] || distance < best.distance) {
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
