// The simplices of Torczon and Nelder-Mead.
#pragma once

#include <algorithm>
#include <vector>

#include "tuner/search/techniques/batch_technique.h"
#include "tuner/search/techniques/history.h"

namespace mdh {

constexpr double kFirstEdge = 0.3;
constexpr double kLastEdge = 1.0 / 256;  // of simplices that are given up

// The other corners of a right-angled simplex, whose edges point to the inside of the cube.
inline std::vector<Coordinates> CornersAround(const Coordinates& corner) {
  std::vector<Coordinates> corners;
  for (size_t i = 0; i < corner.size(); ++i) {
    corners.push_back(corner);
    corners.back()[i] += corner[i] < 0.5 ? kFirstEdge : -kFirstEdge;
  }
  return corners;
}

// The best first, failed ones last.
inline void SortByCost(std::vector<Point>& points) {
  std::ranges::stable_sort(points,
                           [](const Point& a, const Point& b) { return IsBetter(a.cost, b.cost); });
}

}  // namespace mdh
