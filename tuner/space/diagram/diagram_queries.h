// Questions about a diagram that are no single descent by index.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "tuner/space/diagram/diagram.h"

namespace mdh {

// Coordinates in [0, 1) by level: the proportion of the configurations of a node. Values outside
// are clamped; what is not a number counts as 0.
std::vector<uint32_t> PositionsAtCoordinates(const Diagram& diagram,
                                             absl::Span<const double> coordinates);
// The middle of the positions' cell.
std::vector<double> CoordinatesOfPositions(const Diagram& diagram,
                                           absl::Span<const uint32_t> positions);

// Positions of a level that can replace that of a configuration, itself included.
void AppendAlternatives(const Diagram& diagram, absl::Span<const uint32_t> positions,
                        absl::Span<const uint32_t> nodes, int level,
                        std::vector<PositionRun>& runs);
// The node before every level, and the end, on the way of a configuration of the diagram.
std::vector<uint32_t> NodesOf(const Diagram& diagram, absl::Span<const uint32_t> positions);

// In the order of indices, while `visit` returns true.
void EnumeratePositions(const Diagram& diagram,
                        const std::function<bool(absl::Span<const uint32_t>)>& visit);

}  // namespace mdh
