#include "core/decomposition/fuse_dimensions.h"

#include <algorithm>
#include <utility>

#include "core/base/round.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

bool Contains(const std::vector<int>& group, int d) {
  return std::ranges::find(group, d) != group.end();
}

// Buffer dimensions `first`..`last` whose indices have a dimension of the group in some access;
// last < first: none has.
struct IndexRange {
  int first, last;

  static IndexRange Of(const Buffer& buffer, const std::vector<int>& group) {
    IndexRange range = {static_cast<int>(buffer.extents.size()), -1};
    for (const IndexFunction& access : buffer.accesses) {
      for (int x = 0; x < std::ssize(access.indices); ++x) {
        const std::vector<int64_t>& coefficients = access.indices[x].coefficients;
        const bool has = std::ranges::any_of(group, [&](int d) { return coefficients[d] != 0; });
        if (!has) continue;
        range.first = std::min(range.first, x);
        range.last = std::max(range.last, x);
      }
    }
    return range;
  }
};

class Fusion {
 public:
  Fusion(const Expression& expression, const std::vector<int>& group)
      : e_(expression), group_(group) {}

  Status Check() const {
    MDH_RETURN_IF_ERROR(CheckDimensions());
    for (const auto* buffers : BuffersOf(e_.spec())) {
      for (const Buffer& buffer : *buffers) MDH_RETURN_IF_ERROR(CheckBuffer(buffer));
    }
    return absl::OkStatus();
  }

  // Whether nothing but constants is added to the indices of the group.
  bool IsPlain() const {
    const auto is_plain = [&](const Buffer& buffer) {
      const IndexRange range = IndexRange::Of(buffer, group_);
      for (const IndexFunction& access : buffer.accesses) {
        for (int x = range.first; x <= range.last; ++x) {
          if (!(access.indices[x] == buffer.accesses[0].indices[x])) return false;
          for (int d = 0; d < e_.rank(); ++d) {
            if (access.indices[x].coefficients[d] != 0 && !Contains(group_, d)) return false;
          }
        }
      }
      return true;
    };
    const std::vector<const std::vector<Buffer>*> buffers = BuffersOf(e_.spec());
    return std::ranges::all_of(buffers, [&](const std::vector<Buffer>* some) {
      return std::ranges::all_of(*some, is_plain);
    });
  }

  // Expects that Check has passed.
  Expression Apply() const {
    ExpressionSpec spec = e_.spec();
    int64_t points = 1;
    for (const int d : group_) points *= std::exchange(spec.dimensions[d].size, 1);
    spec.dimensions[group_.back()].size = points;
    for (std::vector<Buffer>* buffers : BuffersOf(&spec)) {
      for (Buffer& buffer : *buffers) ApplyTo(buffer);
    }
    return Expression::Unchecked(std::move(spec));
  }

 private:
  const std::string& name(int d) const { return e_.dimensions()[d].name; }
  int64_t size(int d) const { return e_.dimensions()[d].size; }

  Status CheckDimensions() const {
    const CombineOperator& first = e_.combine_operators()[group_.front()];
    for (const int d : group_) {
      if (e_.is_prefix_sum(d)) {
        return InvalidParameters("fused: ", name(d),
                                 " has prefix sums, which are of one dimension");
      }
      if (e_.combine_operators()[d].is_concat() != first.is_concat()) {
        return InvalidParameters("fused: ", name(d), " and ", name(group_.front()),
                                 " are combined by different operators");
      }
      const auto takes = [&](const std::vector<int>& indices) { return Contains(indices, d); };
      if (takes(e_.index_dimensions()) ||
          (e_.store() != nullptr && takes(e_.store()->index_dimensions))) {
        return InvalidParameters("fused: the function takes the index of ", name(d));
      }
    }
    return absl::OkStatus();
  }

  Status CheckBuffer(const Buffer& buffer) const {
    const IndexRange range = IndexRange::Of(buffer, group_);
    if (range.last < range.first) return absl::OkStatus();
    if (buffer.boundary.kind != Boundary::Kind::kNone) {
      return InvalidParameters("fused: buffer ", buffer.name, " has a boundary");
    }
    const std::vector<int64_t> strides = buffer.strides();
    for (int x = range.first; x < range.last; ++x) {
      if (strides[x] != strides[x + 1] * buffer.extents[x + 1]) {
        return InvalidParameters("fused: elements of buffer ", buffer.name,
                                 " do not follow each other");
      }
    }
    for (int a = 0; a < std::ssize(buffer.accesses); ++a) {
      const AffineIndex offset = buffer.Linearized(a);
      for (size_t n = 0; n + 1 < group_.size(); ++n) {
        const int outer = group_[n], inner = group_[n + 1];
        if (offset.coefficients[outer] == offset.coefficients[inner] * size(inner)) continue;
        return InvalidParameters("fused: in buffer ", buffer.name, ", ", name(outer),
                                 " does not go on where ", name(inner), " ends");
      }
    }
    return absl::OkStatus();
  }

  void ApplyTo(Buffer& buffer) const {
    const auto [first, last] = IndexRange::Of(buffer, group_);
    if (last < first) return;
    for (IndexFunction& access : buffer.accesses) {
      AffineIndex& all = access.indices[last];
      int64_t elements = 1;
      for (int x = last - 1; x >= first; --x) {
        elements *= buffer.extents[x + 1];
        AffineIndex& index = access.indices[x];
        for (int d = 0; d < e_.rank(); ++d) {
          all.coefficients[d] += elements * std::exchange(index.coefficients[d], 0);
        }
        all.constant += elements * std::exchange(index.constant, 0);
      }
      // Those whose only index is 0; the last one has the stride that they all go by.
      for (size_t n = 0; n + 1 < group_.size(); ++n) all.coefficients[group_[n]] = 0;
    }
    for (int x = last - 1; x >= first; --x) {
      buffer.extents[last] *= std::exchange(buffer.extents[x], 1);
    }
    // Strides of dense buffers follow from their extents.
  }

  const Expression& e_;
  const std::vector<int>& group_;
};

Status CheckGroups(const Expression& expression, const FusedDimensions& groups) {
  std::vector<bool> seen(expression.rank(), false);
  for (const std::vector<int>& group : groups) {
    if (group.size() < 2) return InvalidParameters("fused: a group has fewer than two dimensions");
    for (const int d : group) {
      if (d < 0 || d >= expression.rank()) {
        return InvalidParameters("fused: there is no dimension ", d, ", only 0..",
                                 expression.rank() - 1);
      }
      if (seen[d]) {
        return InvalidParameters("fused: dimension ", expression.dimensions()[d].name,
                                 " is there twice");
      }
      seen[d] = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace

Result<Expression> FuseDimensions(const Expression& expression, const FusedDimensions& groups) {
  MDH_RETURN_IF_ERROR(CheckGroups(expression, groups));
  Expression fused = expression;
  for (const std::vector<int>& group : groups) {
    const Fusion fusion(fused, group);
    MDH_RETURN_IF_ERROR(fusion.Check());
    fused = fusion.Apply();
  }
  return fused;
}

Result<Expression> WithFusedDimensions(const Expression& expression,
                                       const TuningParameters& parameters) {
  MDH_RETURN_IF_ERROR(CheckGroups(expression, parameters.fused));
  for (const std::vector<int>& group : parameters.fused) {
    if (Reassociates(parameters.numerics)) break;
    if (!expression.is_reduction(group.front())) continue;
    return InvalidParameters("fused: numerics=", Name(parameters.numerics),
                             " fixes in which order values along ",
                             expression.dimensions()[group.front()].name, " are combined");
  }
  return FuseDimensions(expression, parameters.fused);
}

FusedDimensions ContiguousDimensions(const Expression& expression, bool plain, bool reductions) {
  FusedDimensions groups;
  const auto is_free = [&](int d) {
    return expression.dimensions()[d].size > 1 && (reductions || !expression.is_reduction(d)) &&
           std::ranges::none_of(groups,
                                [d](const std::vector<int>& group) { return Contains(group, d); });
  };
  const auto is_group = [&](const std::vector<int>& group) {
    const Fusion fusion(expression, group);
    return fusion.Check().ok() && (!plain || fusion.IsPlain());
  };
  for (int first = 0; first < expression.rank(); ++first) {
    if (!is_free(first)) continue;
    std::vector<int> group = {first};
    // In both directions, as dimensions come in any order.
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (int d = 0; d < expression.rank() && !has_grown; ++d) {
        if (!is_free(d) || Contains(group, d)) continue;
        for (const auto place : {group.end(), group.begin()}) {
          std::vector<int> larger = group;
          larger.insert(larger.begin() + (place - group.begin()), d);
          if (!is_group(larger)) continue;
          group = std::move(larger);
          has_grown = true;
          break;
        }
      }
    }
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<int64_t> FusedExtents(std::vector<int64_t> tile, const FusedDimensions& groups,
                                  absl::Span<const int64_t> sizes) {
  for (const std::vector<int>& group : groups) {
    // Rows that are cut are a part; whole ones are several.
    int64_t points = 1;
    bool is_whole = true;
    for (size_t n = group.size(); n-- > 0;) {
      const int64_t extent = std::exchange(tile[group[n]], 1);
      if (is_whole) points *= extent;
      is_whole = is_whole && extent >= sizes[group[n]];
    }
    tile[group.back()] = points;
  }
  return tile;
}

std::vector<int64_t> SeparateExtents(std::vector<int64_t> tile, const FusedDimensions& groups,
                                     absl::Span<const int64_t> sizes) {
  for (const std::vector<int>& group : groups) {
    int64_t points = std::exchange(tile[group.back()], 1);
    for (size_t n = group.size(); n-- > 0;) {
      tile[group[n]] = std::min(points, sizes[group[n]]);
      points = CeilDivide(points, sizes[group[n]]);
    }
  }
  return tile;
}

}  // namespace mdh
