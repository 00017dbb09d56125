#include "codegen/choose/counting/fragment_table.h"

#include <algorithm>
#include <bit>

namespace mdh {
namespace {

constexpr size_t kMostMoving = 3;   // dimensions
constexpr int kLogarithms = 5;      // of points along one: 1 to 16
constexpr int kMostLogarithm = 6;   // of all points
constexpr int64_t kMostBox = 4096;  // elements around what is touched

// Every access moves alike, and no index moves backwards.
bool IsStencil(const Buffer& buffer) {
  if (buffer.accesses.size() < 2) return false;
  for (const IndexFunction& access : buffer.accesses) {
    for (size_t x = 0; x < access.indices.size(); ++x) {
      const std::vector<int64_t>& coefficients = access.indices[x].coefficients;
      if (coefficients != buffer.accesses[0].indices[x].coefficients) return false;
      if (std::ranges::any_of(coefficients, [](int64_t c) { return c < 0; })) return false;
    }
  }
  return true;
}

// 0: too many.
int DistinctElements(const Buffer& buffer, absl::Span<const int> dimensions,
                     absl::Span<const int64_t> points) {
  std::vector<int64_t> first, strides;
  int64_t box = 1;
  for (size_t x = buffer.extents.size(); x-- > 0;) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const IndexFunction& access : buffer.accesses) {
      low = std::min(low, access.indices[x].constant);
      high = std::max(high, access.indices[x].constant);
    }
    for (size_t n = 0; n < dimensions.size(); ++n) {
      high += buffer.accesses[0].indices[x].coefficients[dimensions[n]] * (points[n] - 1);
    }
    first.insert(first.begin(), low);
    strides.insert(strides.begin(), box);
    if (high - low >= kMostBox) return 0;
    box *= high - low + 1;
    if (box > kMostBox) return 0;
  }
  // Where the box of points is, and where each access moves it.
  std::vector<int64_t> places = {0};
  for (size_t n = 0; n < dimensions.size(); ++n) {
    int64_t step = 0;
    for (size_t x = 0; x < first.size(); ++x) {
      step += buffer.accesses[0].indices[x].coefficients[dimensions[n]] * strides[x];
    }
    const size_t before = places.size();
    for (int64_t point = 1; point < points[n]; ++point) {
      for (size_t p = 0; p < before; ++p) places.push_back(places[p] + point * step);
    }
  }
  std::vector<bool> is_touched(static_cast<size_t>(box), false);
  for (const IndexFunction& access : buffer.accesses) {
    int64_t moved = 0;
    for (size_t x = 0; x < first.size(); ++x) {
      moved += (access.indices[x].constant - first[x]) * strides[x];
    }
    for (const int64_t place : places) is_touched[static_cast<size_t>(moved + place)] = true;
  }
  return static_cast<int>(std::ranges::count(is_touched, true));
}

}  // namespace

FragmentTable::FragmentTable(const Buffer& buffer) {
  if (!IsStencil(buffer)) return;
  for (int d = 0; d < buffer.mda_rank; ++d) {
    if (buffer.DependsOn(d)) dimensions_.push_back(d);
  }
  if (dimensions_.empty() || dimensions_.size() > kMostMoving) return;
  size_t entries = 1;
  for (size_t n = 0; n < dimensions_.size(); ++n) entries *= kLogarithms;
  elements_.assign(entries, 0);
  std::vector<int64_t> points(dimensions_.size());
  for (size_t entry = 0; entry < entries; ++entry) {
    int sum = 0;
    size_t rest = entry;
    for (int64_t& along : points) {
      const int logarithm = static_cast<int>(rest % kLogarithms);
      rest /= kLogarithms;
      sum += logarithm;
      along = int64_t{1} << logarithm;
    }
    if (sum <= kMostLogarithm) elements_[entry] = DistinctElements(buffer, dimensions_, points);
  }
}

std::optional<double> FragmentTable::Elements(absl::Span<const int64_t> points) const {
  if (elements_.empty()) return std::nullopt;
  size_t entry = 0;
  for (size_t n = dimensions_.size(); n-- > 0;) {
    const auto along = static_cast<uint64_t>(points[dimensions_[n]]);
    if (!std::has_single_bit(along) || std::bit_width(along) > kLogarithms) return std::nullopt;
    entry = entry * kLogarithms + static_cast<size_t>(std::bit_width(along) - 1);
  }
  if (elements_[entry] == 0) return std::nullopt;
  return elements_[entry];
}

}  // namespace mdh
