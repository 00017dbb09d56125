// Collisions of affine index functions as integer points of linear systems.
#include "core/expression/injectivity.h"

#include <algorithm>
#include <utility>

#include "core/expression/integer_points.h"

namespace mdh {
namespace {

using Point = std::vector<int64_t>;

// The points i and i + difference, both in the box.
Collision PointsApart(const Point& difference) {
  Collision collision;
  for (int64_t delta : difference) {
    collision.first.push_back(std::max<int64_t>(0, -delta));
    collision.second.push_back(std::max<int64_t>(0, delta));
  }
  return collision;
}

bool SameLinearPart(const IndexFunction& a, const IndexFunction& b) {
  return std::ranges::equal(a.indices, b.indices, [](const AffineIndex& x, const AffineIndex& y) {
    return x.coefficients == y.coefficients;
  });
}

std::vector<IntegerInterval> Differences(absl::Span<const int64_t> sizes) {
  std::vector<IntegerInterval> box;
  for (int64_t size : sizes) box.push_back({1 - size, size - 1});
  return box;
}

// first(i) = second(i + difference), in terms of the difference.
std::vector<LinearEquation> DifferenceEquations(const IndexFunction& first,
                                                const IndexFunction& second) {
  std::vector<LinearEquation> equations;
  for (size_t x = 0; x < first.indices.size(); ++x) {
    equations.push_back(
        {first.indices[x].coefficients, first.indices[x].constant - second.indices[x].constant});
  }
  return equations;
}

// Whether a coefficient can be negated and a difference of constants formed.
bool FitsArithmetic(const IndexFunction& first, const IndexFunction& second) {
  for (size_t x = 0; x < first.indices.size(); ++x) {
    int64_t result;
    if (__builtin_sub_overflow(second.indices[x].constant, first.indices[x].constant, &result) ||
        __builtin_sub_overflow(first.indices[x].constant, second.indices[x].constant, &result)) {
      return false;
    }
    for (int64_t coefficient : second.indices[x].coefficients) {
      if (coefficient == INT64_MIN) return false;
    }
  }
  return true;
}

Status CoefficientsTooLarge() {
  return ResourceExhausted("coefficients are too large to compare accesses");
}

}  // namespace

Result<std::optional<Collision>> FindSelfCollision(const IndexFunction& access,
                                                   absl::Span<const int64_t> sizes,
                                                   int64_t* steps) {
  // One search per dimension that may be the first in which the points differ.
  const std::vector<LinearEquation> equations = DifferenceEquations(access, access);
  std::vector<IntegerInterval> box = Differences(sizes);
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<IntegerInterval> branch = box;
    branch[d].lowest = 1;
    MDH_ASSIGN_OR_RETURN(std::optional<Point> difference,
                         FindIntegerPoint(equations, std::move(branch), steps));
    if (difference.has_value()) return std::optional<Collision>(PointsApart(*difference));
    box[d] = {0, 0};
  }
  return std::optional<Collision>();
}

Result<std::optional<Collision>> FindCollision(const IndexFunction& first,
                                               const IndexFunction& second,
                                               absl::Span<const int64_t> sizes, int64_t* steps) {
  if (!FitsArithmetic(first, second)) return CoefficientsTooLarge();
  if (SameLinearPart(first, second)) {
    MDH_ASSIGN_OR_RETURN(
        std::optional<Point> difference,
        FindIntegerPoint(DifferenceEquations(first, second), Differences(sizes), steps));
    if (!difference.has_value()) return std::optional<Collision>();
    return std::optional<Collision>(PointsApart(*difference));
  }
  std::vector<IntegerInterval> box;
  for (int copy = 0; copy < 2; ++copy) {
    for (int64_t size : sizes) box.push_back({0, size - 1});
  }
  std::vector<LinearEquation> equations;
  for (size_t x = 0; x < first.indices.size(); ++x) {
    LinearEquation equation{first.indices[x].coefficients,
                            second.indices[x].constant - first.indices[x].constant};
    for (int64_t c : second.indices[x].coefficients) equation.coefficients.push_back(-c);
    equations.push_back(std::move(equation));
  }
  MDH_ASSIGN_OR_RETURN(std::optional<Point> points,
                       FindIntegerPoint(equations, std::move(box), steps));
  if (!points.has_value()) return std::optional<Collision>();
  const auto middle = points->begin() + static_cast<std::ptrdiff_t>(sizes.size());
  return std::optional<Collision>(
      Collision{Point(points->begin(), middle), Point(middle, points->end())});
}

}  // namespace mdh
