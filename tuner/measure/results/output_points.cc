#include "tuner/measure/results/output_points.h"

#include <algorithm>
#include <utility>

#include "core/expression/integer_points.h"

namespace mdh {
namespace {

constexpr int64_t kMostSearchSteps = 10'000;

}  // namespace

OutputPoints::OutputPoints(const Expression& expression, int output)
    : expression_(expression), buffer_(expression.outputs()[output]) {
  for (const IndexFunction& access : buffer_.accesses) {
    Separate separate;
    std::vector<int> uses(static_cast<size_t>(expression.rank()), 0);
    bool is_separate = true;
    for (const AffineIndex& index : access.indices) {
      int& dimension = separate.dimension_of.emplace_back(-1);
      for (int d = 0; d < expression.rank(); ++d) {
        if (index.coefficients[d] == 0 || expression.dimensions()[d].size == 1) continue;
        is_separate = is_separate && dimension < 0 && ++uses[d] == 1;
        dimension = d;
      }
    }
    separate_.push_back(is_separate ? std::optional(std::move(separate)) : std::nullopt);
  }
}

// Strides keep elements apart, so that the largest ones can be taken off first. Indices with room
// between them have none there.
std::optional<std::vector<int64_t>> OutputPoints::IndexOf(int64_t element) const {
  const std::vector<int64_t> strides = buffer_.strides();
  std::vector<size_t> order;
  for (size_t x = 0; x < strides.size(); ++x) order.push_back(x);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  std::vector<int64_t> index(strides.size(), 0);
  for (const size_t x : order) {
    if (buffer_.extents[x] <= 1 || strides[x] == 0) continue;
    index[x] = std::min(element / strides[x], buffer_.extents[x] - 1);
    element -= index[x] * strides[x];
  }
  return element == 0 ? std::optional(std::move(index)) : std::nullopt;
}

std::optional<std::vector<int64_t>> OutputPoints::FindSeparate(
    size_t access, const std::vector<int64_t>& index) const {
  std::vector<int64_t> point(static_cast<size_t>(expression_.rank()), 0);
  for (size_t x = 0; x < index.size(); ++x) {
    const AffineIndex& affine = buffer_.accesses[access].indices[x];
    const int d = separate_[access]->dimension_of[x];
    const int64_t rest = index[x] - affine.constant;
    if (d < 0) {
      if (rest != 0) return std::nullopt;
      continue;
    }
    if (rest % affine.coefficients[d] != 0) return std::nullopt;
    point[d] = rest / affine.coefficients[d];
    if (point[d] < 0 || point[d] >= expression_.dimensions()[d].size) return std::nullopt;
  }
  return point;
}

Result<std::optional<std::vector<int64_t>>> OutputPoints::Find(int64_t element) const {
  const std::optional<std::vector<int64_t>> index = IndexOf(element);
  if (!index.has_value()) return std::nullopt;
  std::vector<IntegerInterval> box;
  for (int d = 0; d < expression_.rank(); ++d) {
    box.push_back({0, expression_.is_reduction(d) ? 0 : expression_.dimensions()[d].size - 1});
  }
  for (size_t a = 0; a < buffer_.accesses.size(); ++a) {
    if (separate_[a].has_value()) {
      if (auto point = FindSeparate(a, *index)) return point;
      continue;
    }
    std::vector<LinearEquation> equations;
    for (size_t x = 0; x < index->size(); ++x) {
      const AffineIndex& affine = buffer_.accesses[a].indices[x];
      equations.push_back({affine.coefficients, (*index)[x] - affine.constant});
    }
    int64_t steps = kMostSearchSteps;
    MDH_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> point,
                         FindIntegerPoint(equations, box, &steps));
    if (point.has_value()) return point;
  }
  return std::nullopt;
}

}  // namespace mdh
