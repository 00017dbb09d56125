// Sums of arithmetic progressions, and unions of their products.
#include "core/expression/progression.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace mdh {
namespace {

constexpr size_t kMaxSteps = 200'000;  // of counting one union

// Those values that lie in [0, extent).
Progression Inside(const Progression& all, int64_t extent) {
  const int64_t skipped = all.first < 0 ? CeilDivide(-all.first, all.stride) : 0;
  const int64_t first = all.first + skipped * all.stride;
  if (skipped >= all.count || first >= extent) return Interval(0, -1);
  const int64_t count = std::min(all.count - skipped, (extent - 1 - first) / all.stride + 1);
  return {first, count == 1 ? 1 : all.stride, count};
}

// Sums of one value each of several progressions that begin at 0, added with growing strides. They
// are kept as sums of a set `below_` and a progression `top_` whose stride is larger than the span
// of that set, so that all sums are different.
class SumSet {
 public:
  void Add(int64_t stride, int64_t count) {
    const int64_t span = below_span_ + (top_.count - 1) * top_.stride;
    span_ = span + (count - 1) * stride;
    divisor_ = std::gcd(divisor_, stride);
    Remember({0, stride, count});
    if (top_.count > 1 && stride % top_.stride == 0 && stride / top_.stride <= top_.count) {
      top_.count += stride / top_.stride * (count - 1);  // longer, without a gap
      Remember(top_);
      return;
    }
    if (stride > span) {
      below_ = below_ * CountBounds{top_.count, top_.count};
      top_ = {0, stride, count};
      below_span_ = span;
      return;
    }
    below_ = WithOverlap({0, stride, count});
    top_ = {};
    below_span_ = span_;
  }

  IndexValues Values(int64_t first) const {
    IndexValues values;
    values.hull = {first, std::max<int64_t>(divisor_, 1), divisor_ == 0 ? 1 : span_ / divisor_ + 1};
    values.inner = longest_;
    values.inner.first = first;
    values.count = below_ * CountBounds{top_.count, top_.count};
    values.count.upper = std::min(values.count.upper, values.hull.count);
    values.count.lower = std::max(values.count.lower, values.inner.count);
    return values;
  }

 private:
  void Remember(const Progression& part) {
    if (part.count > longest_.count) longest_ = part;
  }

  // Different sums with another progression, of a larger stride than all before. Those of two
  // progressions: with strides p and q without a common divisor, (a, b) and (a + q, b - p) have the
  // same sum, and no others. Of any two sets there are at least as many as of two intervals.
  CountBounds WithOverlap(const Progression& other) const {
    const int64_t divisor = std::gcd(top_.stride, other.stride);
    const int64_t pairs = MultiplyOrLargest(top_.count, other.count);
    if (top_.count > 1 && divisor > below_span_) {
      const int64_t again =
          MultiplyOrLargest(std::max<int64_t>(0, top_.count - other.stride / divisor),
                            std::max<int64_t>(0, other.count - top_.stride / divisor));
      return below_ * CountBounds{pairs - again, pairs - again};
    }
    return {AddOrLargest(MultiplyOrLargest(below_.lower, top_.count), other.count - 1),
            MultiplyOrLargest(below_.upper, pairs)};
  }

  CountBounds below_{1, 1};
  int64_t below_span_ = 0;
  Progression top_;
  int64_t span_ = 0;     // largest minus smallest sum
  int64_t divisor_ = 0;  // common to all strides
  Progression longest_;
};

// Which of several boxes have a value in one index, or a combination of values.
using BoxSet = std::vector<bool>;

int64_t SizeOf(const ProgressionBox& box) {
  int64_t size = 1;
  for (const Progression& p : box) size = MultiplyOrLargest(size, p.count);
  return size;
}

// The values of one index, by the boxes that have them. Nullopt: too many steps.
std::optional<std::map<BoxSet, int64_t>> ValuesByBoxes(const std::vector<ProgressionBox>& boxes,
                                                       size_t x) {
  // All progressions are intervals of numbers of one residue.
  int64_t modulus = 1;
  for (const ProgressionBox& box : boxes) {
    modulus = MultiplyOrLargest(modulus / std::gcd(modulus, box[x].stride), box[x].stride);
  }
  if (modulus == std::numeric_limits<int64_t>::max()) return std::nullopt;
  struct Part {
    int64_t first, end;
    size_t box;
  };
  std::map<int64_t, std::vector<Part>> by_residue;
  size_t steps = 0;
  for (size_t n = 0; n < boxes.size(); ++n) {
    const Progression& p = boxes[n][x];
    const int64_t residues = std::min(p.count, modulus / p.stride);
    if ((steps += static_cast<size_t>(residues)) > kMaxSteps) return std::nullopt;
    for (int64_t k = 0; k < residues; ++k) {
      const int64_t value = p.first + k * p.stride, first = value / modulus;
      by_residue[value % modulus].push_back({first, first + (p.count - 1 - k) / residues + 1, n});
    }
  }
  std::map<BoxSet, int64_t> values;
  for (const auto& [residue, parts] : by_residue) {
    if ((steps += 2 * parts.size() * parts.size()) > kMaxSteps) return std::nullopt;
    std::vector<int64_t> cuts;
    for (const Part& part : parts) cuts.insert(cuts.end(), {part.first, part.end});
    std::ranges::sort(cuts);
    for (size_t c = 0; c + 1 < cuts.size(); ++c) {
      if (cuts[c] == cuts[c + 1]) continue;
      BoxSet in(boxes.size(), false);
      for (const Part& part : parts) {
        if (part.first <= cuts[c] && cuts[c] < part.end) in[part.box] = true;
      }
      values[in] += cuts[c + 1] - cuts[c];
    }
  }
  values.erase(BoxSet(boxes.size(), false));
  return values;
}

}  // namespace

Progression Interval(int64_t first, int64_t last) {
  return {first, 1, std::max<int64_t>(0, last - first + 1)};
}

IndexValues ValuesOf(const AffineIndex& index, const std::vector<Dimension>& dimensions) {
  std::vector<std::pair<int64_t, int64_t>> terms;
  int64_t first = index.constant;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t coefficient = index.coefficients[d], size = dimensions[d].size;
    if (coefficient == 0 || size == 1) continue;
    if (coefficient < 0) first += coefficient * (size - 1);
    terms.emplace_back(std::abs(coefficient), size);
  }
  std::ranges::sort(terms);
  SumSet sums;
  for (const auto& [stride, count] : terms) sums.Add(stride, count);
  return sums.Values(first);
}

IndexValues AtBoundary(const IndexValues& all, int64_t extent, Boundary::Kind boundary) {
  if (all.hull.first >= 0 && all.hull.last() < extent) return all;
  IndexValues values{all.count, Inside(all.inner, extent), Inside(all.hull, extent)};
  if (boundary == Boundary::Kind::kClamp) {
    const auto clamped = [&](const Progression& p) {
      return Interval(std::clamp<int64_t>(p.first, 0, extent - 1),
                      std::clamp<int64_t>(p.last(), 0, extent - 1));
    };
    if (all.inner.stride == 1) values.inner = clamped(all.inner);
    if (values.inner.count == 0) values.inner = {clamped(all.inner).first, 1, 1};
    values.hull = clamped(all.hull);
  }
  values.count = {values.inner.count, std::min(all.count.upper, values.hull.count)};
  return values;
}

std::optional<int64_t> SizeOfUnion(std::vector<ProgressionBox> boxes) {
  std::erase_if(boxes, [](const ProgressionBox& box) { return SizeOf(box) == 0; });
  std::ranges::sort(boxes);
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  if (boxes.empty()) return 0;
  if (boxes.size() == 1) return SizeOf(boxes[0]);
  std::map<BoxSet, int64_t> counted{{BoxSet(boxes.size(), true), 1}};
  for (size_t x = 0; x < boxes[0].size(); ++x) {
    const std::optional<std::map<BoxSet, int64_t>> values = ValuesByBoxes(boxes, x);
    if (!values.has_value()) return std::nullopt;
    if (counted.size() * values->size() * boxes.size() > kMaxSteps) return std::nullopt;
    std::map<BoxSet, int64_t> next;
    for (const auto& [in, count] : counted) {
      for (const auto& [also_in, size] : *values) {
        BoxSet both = in;
        for (size_t n = 0; n < both.size(); ++n) both[n] = in[n] && also_in[n];
        int64_t& sum = next[std::move(both)];
        sum = AddOrLargest(sum, MultiplyOrLargest(count, size));
      }
    }
    next.erase(BoxSet(boxes.size(), false));
    counted = std::move(next);
  }
  int64_t size = 0;
  for (const auto& [in, count] : counted) size = AddOrLargest(size, count);
  return size;
}

}  // namespace mdh
