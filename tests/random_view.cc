// Random views.
#include "tests/random_view.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/random_type.h"

namespace mdh {
namespace {

using Dimensions = std::vector<Dimension>;

// Shifts the index so that it is never negative: its smallest value becomes `smallest`.
void Place(const Dimensions& dimensions, int64_t smallest, AffineIndex* index) {
  index->constant = smallest;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    index->constant -= std::min<int64_t>(0, index->coefficients[d] * (dimensions[d].size - 1));
  }
}

AffineIndex RandomInputIndex(Rng& rng, const Dimensions& dimensions) {
  const std::vector<int64_t> coefficients = {1, 1, 1, 1, 2, 3, -1, -2};
  AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
  const int64_t kind = Below(rng, 8);  // mostly one plain dimension, as in real views
  const int terms = kind == 0 ? 0 : kind < 6 ? 1 : 2;
  for (int t = 0; t < terms; ++t) {
    index.coefficients[Below(rng, static_cast<int64_t>(dimensions.size()))] =
        kind < 4 ? 1 : AnyOf(rng, coefficients);
  }
  Place(dimensions, kind < 3 ? 0 : Below(rng, 3), &index);
  return index;
}

// An index function that writes every element once: each dimension that is not reduced has an index
// of its own, or two share one like digits of a number.
IndexFunction RandomOutputAccess(Rng& rng, const Dimensions& dimensions,
                                 const std::vector<CombineOperator>& operators) {
  std::vector<int> free;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    if (!operators[d].is_point_wise()) free.push_back(d);
  }
  for (size_t n = free.size(); n > 1; --n) {
    if (Below(rng, 2) == 0) std::swap(free[n - 1], free[Below(rng, static_cast<int64_t>(n))]);
  }
  IndexFunction access;
  for (size_t n = 0; n < free.size(); ++n) {
    AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
    const int64_t kind = Below(rng, 10);
    index.coefficients[free[n]] = kind == 0 ? -1 : kind == 1 ? 2 : 1;
    if (kind == 2 && n + 1 < free.size()) {
      const int64_t digits = dimensions[free[n]].size + Below(rng, 2);
      index.coefficients[free[++n]] = digits;
    }
    Place(dimensions, kind == 3 ? Below(rng, 3) : 0, &index);
    access.indices.push_back(std::move(index));
  }
  if (Below(rng, 12) == 0) {
    access.indices.push_back({std::vector<int64_t>(dimensions.size(), 0), Below(rng, 3)});
  }
  return access;
}

// Spreads indices out: steps and shifts, diagonals, two dimensions with steps that do not nest.
void LeaveGaps(Rng& rng, const Dimensions& dimensions, IndexFunction* access) {
  for (AffineIndex& index : access->indices) {
    const int64_t step = 1 + Below(rng, 3);
    for (int64_t& coefficient : index.coefficients) coefficient *= step;
    Place(dimensions, Below(rng, 4), &index);
  }
  if (access->indices.empty()) return;
  const auto last = static_cast<int64_t>(access->indices.size());
  const int64_t kind = Below(rng, 6);
  if (kind == 0) access->indices.push_back(access->indices[Below(rng, last)]);
  if (kind == 1 && last > 1) {  // 2 i + 3 j
    AffineIndex& sum = access->indices[0];
    for (size_t d = 0; d < dimensions.size(); ++d) {
      sum.coefficients[d] = 2 * sum.coefficients[d] + 3 * access->indices.back().coefficients[d];
    }
    access->indices.pop_back();
    Place(dimensions, Below(rng, 2), &sum);
  }
}

void GiveExtents(Rng& rng, const Buffer& checked, Buffer* buffer) {
  buffer->extents_given = true;
  buffer->extents = checked.extents;
  for (int64_t& extent : buffer->extents) extent += Below(rng, 3);
}

// Extents that accesses leave at both ends, or at one, or at none after all.
void GiveBoundary(Rng& rng, const Buffer& checked, Buffer* buffer) {
  buffer->extents_given = true;
  buffer->extents = checked.extents;
  for (size_t x = 0; x < buffer->extents.size(); ++x) {
    buffer->extents[x] = std::max<int64_t>(1, buffer->extents[x] - Below(rng, 4));
    const int64_t shift = Below(rng, 3);
    for (IndexFunction& access : buffer->accesses) access.indices[x].constant -= shift;
  }
  if (Below(rng, 2) == 0) {
    buffer->boundary.kind = Boundary::Kind::kClamp;
    return;
  }
  buffer->boundary.kind = Boundary::Kind::kConstant;
  for (const ElementType::Field& field : buffer->type.fields()) {
    buffer->boundary.values.push_back(SmallConstant(rng, field.type));
  }
}

// Dimensions in another order, with or without gaps. `extents`: those that the buffer will have.
void GiveStrides(Rng& rng, const std::vector<int64_t>& extents, Buffer* buffer) {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t n = order.size(); n > 1; --n) {
    std::swap(order[n - 1], order[Below(rng, static_cast<int64_t>(n))]);
  }
  const bool has_gaps = Below(rng, 2) == 0;
  int64_t stride = has_gaps ? 1 + Below(rng, 2) : 1;
  buffer->given_strides.assign(extents.size(), 1);
  for (const size_t x : order) {
    buffer->given_strides[x] = stride;
    stride *= extents[x] + (has_gaps ? Below(rng, 2) : 0);
  }
}

}  // namespace

Buffer RandomInput(Rng& rng, const RandomExpressionOptions& options, const Dimensions& dimensions,
                   std::string name) {
  Buffer buffer{std::move(name), RandomElementType(rng, options), {}, {}};
  const int64_t most = std::min<int64_t>(3, static_cast<int64_t>(dimensions.size()) + 1);
  const int rank = Below(rng, 10) == 0 ? 0 : 1 + static_cast<int>(Below(rng, most));
  IndexFunction access;
  for (int x = 0; x < rank; ++x) access.indices.push_back(RandomInputIndex(rng, dimensions));
  buffer.accesses.push_back(access);
  while (buffer.accesses.size() < 4 && Below(rng, 4) == 0) {
    // A neighbour, as in stencils, or something unrelated.
    for (AffineIndex& index : access.indices) {
      if (Below(rng, 3) == 0)
        index = RandomInputIndex(rng, dimensions);
      else
        index.constant += Below(rng, 3);
    }
    buffer.accesses.push_back(access);
  }
  return buffer;
}

Buffer GivenInput(Rng& rng, const Dimensions& dimensions, const Buffer& memory, std::string name) {
  Buffer buffer{std::move(name), memory.type, memory.extents, {}, /*extents_given=*/true};
  buffer.given_strides = memory.given_strides;
  IndexFunction access;
  const bool is_plain = Below(rng, 4) != 0;
  for (size_t x = 0; x < memory.extents.size(); ++x) {
    std::vector<size_t> same;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      if (dimensions[d].size == memory.extents[x]) same.push_back(d);
    }
    const bool has_own = x < dimensions.size() && dimensions[x].size == memory.extents[x];
    AffineIndex index{std::vector<int64_t>(dimensions.size(), 0), 0};
    if (is_plain && has_own && Below(rng, 8) != 0) {
      index.coefficients[x] = 1;
    } else if (is_plain && !same.empty()) {
      index.coefficients[AnyOf(rng, same)] = 1;
    } else {
      index = RandomInputIndex(rng, dimensions);
    }
    access.indices.push_back(std::move(index));
  }
  buffer.accesses.push_back(access);
  if (!access.indices.empty() && Below(rng, 4) == 0) {
    access.indices[0].constant += Below(rng, 3) - 1;
    buffer.accesses.push_back(std::move(access));
  }
  // Where accesses stay inside, Create drops it.
  if (Below(rng, 2) == 0) {
    buffer.boundary.kind = Boundary::Kind::kClamp;
    return buffer;
  }
  buffer.boundary.kind = Boundary::Kind::kConstant;
  for (const ElementType::Field& field : buffer.type.fields()) {
    buffer.boundary.values.push_back(SmallConstant(rng, field.type));
  }
  return buffer;
}

void GiveAccesses(Rng& rng, const Dimensions& dimensions,
                  const std::vector<CombineOperator>& operators, int accesses, Reach reach,
                  Buffer* output) {
  IndexFunction access = RandomOutputAccess(rng, dimensions, operators);
  const bool has_gaps = reach == Reach::kInPart;
  if (has_gaps) LeaveGaps(rng, dimensions, &access);
  const bool interleaves =
      has_gaps && accesses > 1 && !access.indices.empty() && Below(rng, 2) == 0;
  const int64_t factor = interleaves ? accesses + Below(rng, 2) : 1;
  for (int64_t copy = 0; copy < accesses; ++copy) {
    output->accesses.push_back(access);
    if (accesses == 1) continue;
    if (interleaves) {
      AffineIndex& index = output->accesses.back().indices[0];
      for (int64_t& coefficient : index.coefficients) coefficient *= factor;
      index.constant = index.constant * factor + copy;
      continue;
    }
    // One more buffer dimension tells them apart.
    output->accesses.back().indices.push_back({std::vector<int64_t>(dimensions.size(), 0), copy});
  }
}

void RefineInputs(Rng& rng, const RandomExpressionOptions& options,
                  const std::vector<Buffer>& checked, std::vector<Buffer>* buffers) {
  for (size_t b = options.given_inputs.size(); b < checked.size(); ++b) {
    Buffer& buffer = (*buffers)[b];
    const int64_t kind = Below(rng, 8);
    if (kind < 2) GiveExtents(rng, checked[b], &buffer);
    if (kind == 2 && options.boundaries) GiveBoundary(rng, checked[b], &buffer);
    if (!options.layouts || Below(rng, 6) != 0) continue;
    GiveStrides(rng, buffer.extents_given ? buffer.extents : checked[b].extents, &buffer);
    // All elements along a dimension are the same one, or the next row begins inside of this one.
    if (!buffer.given_strides.empty() && Below(rng, 6) == 0) {
      buffer.given_strides[Below(rng, static_cast<int64_t>(buffer.given_strides.size()))] =
          Below(rng, 3);
    }
  }
}

void RefineOutputs(Rng& rng, const RandomExpressionOptions& options,
                   const std::vector<Buffer>& checked, Reach reach, std::vector<Buffer>* buffers) {
  for (size_t b = 0; b < checked.size(); ++b) {
    Buffer& buffer = (*buffers)[b];
    buffer.keeps_unreached = reach == Reach::kInPart && Below(rng, 4) == 0;
    if (Below(rng, reach == Reach::kInPart ? 2 : 4) == 0) GiveExtents(rng, checked[b], &buffer);
    if (!options.layouts || Below(rng, 6) != 0) continue;
    GiveStrides(rng, buffer.extents_given ? buffer.extents : checked[b].extents, &buffer);
  }
}

}  // namespace mdh
