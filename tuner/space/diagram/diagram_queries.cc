#include "tuner/space/diagram/diagram_queries.h"

#include <algorithm>
#include <cmath>

#include "tuner/space/levels/wide_integer.h"

namespace mdh {
namespace {

// Coordinates have so many bits.
constexpr int kBits = 53;

uint64_t BitsOf(double coordinate) {
  if (!(coordinate > 0)) return 0;
  constexpr uint64_t kEnd = uint64_t{1} << kBits;
  return std::min(static_cast<uint64_t>(std::min(coordinate, 1.0) * static_cast<double>(kEnd)),
                  kEnd - 1);
}

double CoordinateOf(const mpz_class& numerator, const mpz_class& denominator) {
  mpz_class bits = (numerator << kBits) / denominator;
  return std::ldexp(bits.get_d(), -kBits);
}

// The edge of the node that has configuration `index` of the node, and the place inside of it.
struct Place {
  uint32_t edge;
  uint32_t position;
};

Place PlaceOf(const Diagram& diagram, int number, uint32_t node, const mpz_class& index) {
  const DiagramLevel& level = diagram.levels()[number];
  uint32_t edge = level.begin[node];
  uint32_t size = level.begin[node + 1] - edge;
  while (size > 1) {
    const uint32_t half = size / 2;
    if (diagram.CountBefore(number, edge + half) <= index) edge += half;
    size -= half;
  }
  const mpz_class quotient =
      (index - diagram.CountBefore(number, edge)) / diagram.CountOf(number + 1, level.child[edge]);
  return {edge, level.first[edge] + static_cast<uint32_t>(quotient.get_ui())};
}

Place PlaceOf(const Diagram& diagram, int number, uint32_t node, uint64_t index) {
  const DiagramLevel& level = diagram.levels()[number];
  const auto begin = level.before.begin() + level.begin[node];
  const auto end = level.before.begin() + level.begin[node + 1];
  const auto edge =
      static_cast<uint32_t>(std::upper_bound(begin, end, index) - level.before.begin()) - 1;
  index -= level.before[edge];
  uint64_t below = 1;
  if (number + 1 < diagram.depth()) below = diagram.levels()[number + 1].count[level.child[edge]];
  return {edge, level.first[edge] + static_cast<uint32_t>(index / below)};
}

}  // namespace

std::vector<uint32_t> PositionsAtCoordinates(const Diagram& diagram,
                                             absl::Span<const double> coordinates) {
  std::vector<uint32_t> positions(diagram.depth());
  uint32_t node = 0;
  for (int number = 0; number < diagram.depth(); ++number) {
    const DiagramLevel& level = diagram.levels()[number];
    const uint64_t bits = BitsOf(coordinates[number]);
    Place place;
    if (level.limbs == 1) {
      place = PlaceOf(diagram, number, node,
                      static_cast<uint64_t>(Wide{bits} * level.count[node] >> kBits));
    } else {
      const mpz_class index = (diagram.CountOf(number, node) * bits) >> kBits;
      place = PlaceOf(diagram, number, node, index);
    }
    positions[number] = place.position;
    node = level.child[place.edge];
  }
  return positions;
}

std::vector<double> CoordinatesOfPositions(const Diagram& diagram,
                                           absl::Span<const uint32_t> positions) {
  std::vector<double> coordinates(positions.size(), 0.5);
  uint32_t node = 0;
  for (int number = 0; number < diagram.depth(); ++number) {
    const DiagramLevel& level = diagram.levels()[number];
    const int64_t found = diagram.EdgeAt(number, node, positions[number]);
    if (found < 0) break;
    const auto edge = static_cast<uint32_t>(found);
    const mpz_class below = diagram.CountOf(number + 1, level.child[edge]);
    const mpz_class places = positions[number] - level.first[edge];
    const mpz_class twice = 2 * (diagram.CountBefore(number, edge) + places * below) + below;
    coordinates[number] = CoordinateOf(twice, 2 * diagram.CountOf(number, node));
    node = level.child[edge];
  }
  return coordinates;
}

std::vector<uint32_t> NodesOf(const Diagram& diagram, absl::Span<const uint32_t> positions) {
  std::vector<uint32_t> nodes(diagram.depth() + 1);
  for (int number = 0; number < diagram.depth(); ++number) {
    const int64_t edge = diagram.EdgeAt(number, nodes[number], positions[number]);
    nodes[number + 1] = diagram.levels()[number].child[edge];
  }
  return nodes;
}

void AppendAlternatives(const Diagram& diagram, absl::Span<const uint32_t> positions,
                        absl::Span<const uint32_t> nodes, int number,
                        std::vector<PositionRun>& runs) {
  const DiagramLevel& level = diagram.levels()[number];
  const uint32_t node = nodes[number];
  for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
    uint32_t other = level.child[edge];
    int below = number + 1;
    // Once both ways meet, the rest is the same.
    while (other != nodes[below]) {
      const int64_t next = diagram.EdgeAt(below, other, positions[below]);
      if (next < 0) break;
      other = diagram.levels()[below].child[next];
      ++below;
    }
    if (other == nodes[below]) runs.push_back({level.first[edge], level.last[edge]});
  }
}

void EnumeratePositions(const Diagram& diagram,
                        const std::function<bool(absl::Span<const uint32_t>)>& visit) {
  std::vector<uint32_t> positions(diagram.depth());
  const std::function<bool(int, uint32_t)> descend = [&](int number, uint32_t node) {
    if (number == diagram.depth()) return visit(positions);
    const DiagramLevel& level = diagram.levels()[number];
    for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
      for (uint32_t position = level.first[edge]; position <= level.last[edge]; ++position) {
        positions[number] = position;
        if (!descend(number + 1, level.child[edge])) return false;
      }
    }
    return true;
  };
  descend(0, 0);
}

}  // namespace mdh
