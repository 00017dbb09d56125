#include "core/pipeline/inverse_view.h"

#include <algorithm>

namespace mdh {
namespace {

// sum += factor * term; false if it does not fit.
bool AddProduct(int64_t factor, int64_t term, int64_t* sum) {
  int64_t product;
  return !__builtin_mul_overflow(factor, term, &product) &&
         !__builtin_add_overflow(*sum, product, sum);
}

// The one dimension on which an index depends, with coefficient 1 or -1; -1: on none.
std::optional<int> OnlyDimension(const AffineIndex& index) {
  int only = -1;
  for (int d = 0; d < static_cast<int>(index.coefficients.size()); ++d) {
    const int64_t coefficient = index.coefficients[d];
    if (coefficient == 0) continue;
    if (only >= 0 || (coefficient != 1 && coefficient != -1)) return std::nullopt;
    only = d;
  }
  return only;
}

}  // namespace

std::optional<ReadRange> RangeOf(const AffineIndex& index,
                                 const std::vector<Dimension>& dimensions) {
  ReadRange range{index.constant, index.constant};
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t coefficient = index.coefficients[d];
    int64_t* const bound = coefficient < 0 ? &range.smallest : &range.largest;
    const int64_t last = std::max<int64_t>(dimensions[d].size - 1, 0);
    if (!AddProduct(coefficient, last, bound)) return std::nullopt;
  }
  return range;
}

std::optional<AffineIndex> Composed(const AffineIndex& outer, const std::vector<AffineIndex>& inner,
                                    size_t rank) {
  AffineIndex composed{std::vector<int64_t>(rank, 0), outer.constant};
  for (size_t d = 0; d < inner.size(); ++d) {
    const int64_t factor = outer.coefficients[d];
    if (factor == 0) continue;
    bool fits = AddProduct(factor, inner[d].constant, &composed.constant);
    for (size_t e = 0; e < rank; ++e) {
      fits = fits && AddProduct(factor, inner[d].coefficients[e], &composed.coefficients[e]);
    }
    if (!fits) return std::nullopt;
  }
  return composed;
}

std::optional<IndexFunction> Composed(const IndexFunction& outer,
                                      const std::vector<AffineIndex>& inner, size_t rank) {
  IndexFunction composed;
  for (const AffineIndex& index : outer.indices) {
    std::optional<AffineIndex> one = Composed(index, inner, rank);
    if (!one.has_value()) return std::nullopt;
    composed.indices.push_back(*std::move(one));
  }
  return composed;
}

std::optional<std::vector<AffineIndex>> InversePoint(
    const IndexFunction& written, const std::vector<Dimension>& from, const IndexFunction& read,
    const std::vector<Dimension>& to, const std::vector<int64_t>& extents, bool only_inside) {
  // A producer without points writes nothing.
  for (const Dimension& dimension : from) {
    if (dimension.size == 0) return std::nullopt;
  }
  const AffineIndex zero{std::vector<int64_t>(to.size(), 0), 0};
  std::vector<AffineIndex> point(from.size(), zero);
  std::vector<bool> is_known(from.size(), false);
  for (size_t x = 0; x < written.indices.size(); ++x) {
    const AffineIndex& index = written.indices[x];
    const std::optional<int> d = OnlyDimension(index);
    const std::optional<ReadRange> range = RangeOf(read.indices[x], to);
    if (!d.has_value() || !range.has_value()) return std::nullopt;
    const int64_t last = *d < 0 ? 0 : from[*d].size - 1;
    const int64_t sign = *d < 0 ? 0 : index.coefficients[*d];
    const int64_t first_written = std::min(index.constant, index.constant + sign * last);
    const int64_t last_written = std::max(index.constant, index.constant + sign * last);
    const bool inside_is_written =
        only_inside && first_written == 0 && last_written + 1 == extents[x];
    if (!inside_is_written && (range->smallest < first_written || range->largest > last_written)) {
      return std::nullopt;
    }
    if (*d < 0) continue;
    if (is_known[*d]) return std::nullopt;
    is_known[*d] = true;
    // written: sign * p + constant = read(c)
    const std::optional<AffineIndex> p =
        Composed(AffineIndex{{sign}, -sign * index.constant}, {read.indices[x]}, to.size());
    if (!p.has_value()) return std::nullopt;
    point[*d] = *p;
  }
  for (size_t d = 0; d < from.size(); ++d) {
    if (!is_known[d] && from[d].size != 1) return std::nullopt;
  }
  return point;
}

}  // namespace mdh
