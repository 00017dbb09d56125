// Checks of views: index functions, extents, layouts and boundaries.
#include "core/expression/view_checks.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"
#include "core/expression/injectivity.h"

namespace mdh {
namespace {

using PlaceKind = ExpressionPlace::Kind;

// The smallest and the largest value of an index on the MDA, and a point where each is taken; of
// dimensions that are empty, index 0 counts.
struct IndexBounds {
  int64_t smallest, largest;
  std::vector<int64_t> smallest_at, largest_at;
};

// Errors: OutOfRange if a bound or a term of it does not fit in 63 bits.
Result<IndexBounds> BoundsOf(const AffineIndex& index, const std::vector<Dimension>& dimensions) {
  IndexBounds bounds{index.constant, index.constant, {}, {}};
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t last = std::max<int64_t>(dimensions[d].size - 1, 0);
    const int64_t coefficient = index.coefficients[d];
    int64_t term;
    int64_t* bound = coefficient < 0 ? &bounds.smallest : &bounds.largest;
    if (coefficient == std::numeric_limits<int64_t>::min() ||
        __builtin_mul_overflow(coefficient, last, &term) ||
        __builtin_add_overflow(*bound, term, bound)) {
      return OutOfRange("does not fit in 63 bits");
    }
    bounds.smallest_at.push_back(coefficient < 0 ? last : 0);
    bounds.largest_at.push_back(coefficient > 0 ? last : 0);
  }
  return bounds;
}

// Whether the index has a value at all: not if it depends on a dimension that is empty.
bool HasValues(const AffineIndex& index, const std::vector<Dimension>& dimensions) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (index.coefficients[d] != 0 && dimensions[d].size == 0) return false;
  }
  return true;
}

// Checks of the buffers of one view; computes the extents that are not given.
class ViewChecker {
 public:
  ViewChecker(PlaceKind kind, const std::vector<Dimension>& dimensions)
      : kind_(kind), dimensions_(dimensions) {}

  Status Check(std::vector<Buffer>* buffers) const {
    size_t accesses = 0;
    for (int b = 0; b < static_cast<int>(buffers->size()); ++b) {
      MDH_RETURN_IF_ERROR(CheckBuffer(b, &(*buffers)[b]));
      accesses += (*buffers)[b].accesses.size();
    }
    if (accesses > Expression::kMaxAccesses) {
      return InvalidArgument(view_name(), " has ", accesses, " accesses; at most ",
                             Expression::kMaxAccesses, " are allowed");
    }
    return absl::OkStatus();
  }

 private:
  bool is_read() const { return kind_ != PlaceKind::kOutput; }
  absl::string_view view_name() const {
    return kind_ == PlaceKind::kOutput  ? "out_view"
           : kind_ == PlaceKind::kInput ? "inp_view"
                                        : "the store function";
  }
  std::string Describe(const Buffer& buffer) const {
    return absl::StrCat(is_read() ? "input '" : "output '", buffer.name, "'");
  }

  // Behind the messages about indices that leave a buffer.
  std::string HowToReadOutside() const {
    return is_read()
               ? " (an input with given extents may say what is read outside: else 0, else clamp)"
               : "";
  }

  static std::string AtIndex(const ExpressionPlace& place) {
    return absl::StrCat(", access ", place.access, ", index ", place.index);
  }

  Status CheckBuffer(int b, Buffer* buffer) const {
    const ExpressionPlace place{kind_, b};
    if (!IsIdentifier(buffer->name)) {
      return InvalidAt(place, "'", buffer->name, "' is no name for a buffer");
    }
    if (buffer->accesses.empty()) return InvalidAt(place, Describe(*buffer), " has no access");
    const size_t rank =
        buffer->extents_given ? buffer->extents.size() : buffer->accesses[0].indices.size();
    buffer->mda_rank = static_cast<int>(dimensions_.size());
    MDH_RETURN_IF_ERROR(CheckShape(b, *buffer, rank));
    MDH_RETURN_IF_ERROR(CheckBoundary(place, *buffer));
    if (buffer->keeps_unreached && is_read()) {
      return InvalidAt(place, Describe(*buffer), " keeps what is not written; only outputs can");
    }
    if (!buffer->extents_given) buffer->extents.assign(rank, 0);
    bool leaves = false;
    for (int a = 0; a < static_cast<int>(buffer->accesses.size()); ++a) {
      for (int x = 0; x < static_cast<int>(rank); ++x) {
        MDH_RETURN_IF_ERROR(CheckIndex({kind_, b, a, x}, buffer, &leaves));
      }
    }
    // One meaning, one form: a boundary that nothing reaches is none.
    if (!leaves) buffer->boundary = Boundary{};
    MDH_RETURN_IF_ERROR(CheckStrides(place, buffer));
    MDH_RETURN_IF_ERROR(CheckSize(place, *buffer));
    return CheckOffsets(b, *buffer);
  }

  Status CheckShape(int b, const Buffer& buffer, size_t rank) const {
    for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
      const std::vector<AffineIndex>& indices = buffer.accesses[a].indices;
      if (indices.size() != rank) {
        return InvalidAt({kind_, b, a}, Describe(buffer), ", access ", a, " has ", indices.size(),
                         " indices, but the buffer has ", rank, " dimensions");
      }
      for (int x = 0; x < static_cast<int>(rank); ++x) {
        if (indices[x].coefficients.size() == dimensions_.size()) continue;
        return InvalidAt({kind_, b, a, x}, Describe(buffer), ", access ", a, ", index ", x, " has ",
                         indices[x].coefficients.size(), " coefficients for ", dimensions_.size(),
                         " dimensions");
      }
    }
    for (size_t x = 0; x < rank; ++x) {
      if (buffer.extents_given && buffer.extents[x] < 0) {
        return InvalidAt({kind_, b}, Describe(buffer), ", extent ", x, " is ", buffer.extents[x],
                         "; it must not be negative");
      }
    }
    return absl::OkStatus();
  }

  Status CheckBoundary(const ExpressionPlace& place, const Buffer& buffer) const {
    if (buffer.boundary.kind == Boundary::Kind::kNone) return absl::OkStatus();
    if (kind_ == PlaceKind::kOutput) {
      return InvalidAt(place, Describe(buffer), " has a boundary; only inputs can");
    }
    if (!buffer.extents_given) {
      return InvalidAt(place, Describe(buffer), " has a boundary; its extents must be given then");
    }
    if (buffer.boundary.kind == Boundary::Kind::kClamp) return absl::OkStatus();
    const std::vector<ElementType::Field>& fields = buffer.type.fields();
    const std::vector<ScalarValue>& values = buffer.boundary.values;
    if (!std::ranges::equal(values, fields, [](const ScalarValue& v, const auto& field) {
          return v.type() == field.type;
        })) {
      return InvalidAt(place, Describe(buffer), ": the values of its boundary are no ",
                       buffer.type.ToString());
    }
    return absl::OkStatus();
  }

  // One stride per dimension; no two elements of an output share memory.
  Status CheckStrides(const ExpressionPlace& place, Buffer* buffer) const {
    if (buffer->given_strides.empty()) return absl::OkStatus();
    const std::vector<int64_t> strides = std::move(buffer->given_strides);
    buffer->given_strides.clear();
    if (strides.size() != buffer->extents.size()) {
      return InvalidAt(place, Describe(*buffer), " has ", strides.size(), " strides for ",
                       buffer->extents.size(), " dimensions");
    }
    for (size_t x = 0; x < strides.size(); ++x) {
      if (strides[x] >= 0) continue;
      return InvalidAt(place, Describe(*buffer), ", stride ", x, " is ", strides[x],
                       "; it must not be negative");
    }
    MDH_RETURN_IF_ERROR(CheckSize(place, *buffer));
    if (strides == buffer->strides()) return absl::OkStatus();
    if (kind_ == PlaceKind::kOutput && buffer->elements() > 0) {
      int64_t steps = 100'000;
      const Result<std::optional<Collision>> collision =
          FindSelfCollision({{{strides, 0}}}, buffer->extents, &steps);
      if (!collision.ok() || collision->has_value()) {
        return InvalidAt(
            place, Describe(*buffer), ": with the strides (", absl::StrJoin(strides, ", "), ") ",
            collision.ok() ? "two elements" : "it may be that two elements", " share memory");
      }
    }
    buffer->given_strides = strides;
    return absl::OkStatus();
  }

  // The index of `place` lies in its extent, or enlarges it if it is not given; `leaves` is set if
  // it does not and a boundary says what is read there.
  Status CheckIndex(const ExpressionPlace& place, Buffer* buffer, bool* leaves) const {
    const AffineIndex& index = buffer->accesses[place.access].indices[place.index];
    const Result<IndexBounds> bounds = BoundsOf(index, dimensions_);
    if (!bounds.ok() || bounds->largest == std::numeric_limits<int64_t>::max()) {
      return TooLarge(place, Describe(*buffer), AtIndex(place),
                      ": the index does not fit in 63 bits");
    }
    if (!HasValues(index, dimensions_)) return absl::OkStatus();
    int64_t& extent = buffer->extents[place.index];
    if (buffer->boundary.kind != Boundary::Kind::kNone) {
      if (extent == 0 && buffer->boundary.kind == Boundary::Kind::kClamp) {
        return InvalidAt(place, Describe(*buffer), ": extent ", place.index,
                         " is 0, so that there is no nearest element inside");
      }
      *leaves = *leaves || bounds->smallest < 0 || bounds->largest >= extent;
      return absl::OkStatus();
    }
    if (bounds->smallest < 0) {
      return TooLarge(place, Describe(*buffer), AtIndex(place), " is ", bounds->smallest, " at ",
                      PointText(dimensions_, bounds->smallest_at), "; it must not be negative",
                      HowToReadOutside());
    }
    if (!buffer->extents_given) {
      extent = std::max(extent, bounds->largest + 1);
    } else if (bounds->largest >= extent) {
      return TooLarge(place, Describe(*buffer), AtIndex(place), " is ", bounds->largest, " at ",
                      PointText(dimensions_, bounds->largest_at), ", but the extent is ", extent,
                      HowToReadOutside());
    }
    return absl::OkStatus();
  }

  Status CheckSize(const ExpressionPlace& place, const Buffer& buffer) const {
    int64_t bytes = buffer.type.size_bytes(), last = 0;
    bool fits = true;
    for (size_t x = 0; x < buffer.extents.size() && fits; ++x) {
      if (buffer.is_dense()) {
        fits = MultiplyInto(&bytes, buffer.extents[x]);
        continue;
      }
      int64_t term = buffer.given_strides[x];
      fits = MultiplyInto(&term, buffer.extents[x]) && !__builtin_add_overflow(last, term, &last);
    }
    if (fits && (buffer.is_dense() || MultiplyInto(&bytes, last))) return absl::OkStatus();
    return TooLarge(place, "the size of ", Describe(buffer), " with the extents (",
                    absl::StrJoin(buffer.extents, ", "), ") does not fit in 63 bits");
  }

  // Offsets of elements are computed as affine functions too: no term of them may overflow.
  Status CheckOffsets(int b, const Buffer& buffer) const {
    const std::vector<int64_t> strides = buffer.strides();
    for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
      AffineIndex offset{std::vector<int64_t>(dimensions_.size(), 0), 0};
      bool fits = true;
      const auto add = [&](int64_t stride, int64_t value, int64_t* sum) {
        int64_t product = stride;
        fits = fits && MultiplyInto(&product, value) && !__builtin_add_overflow(*sum, product, sum);
      };
      for (size_t x = 0; x < strides.size(); ++x) {
        const AffineIndex& index = buffer.accesses[a].indices[x];
        int64_t stride = strides[x];
        fits = fits && MultiplyInto(&stride, buffer.type.size_bytes());
        add(stride, index.constant, &offset.constant);
        for (size_t d = 0; d < dimensions_.size(); ++d) {
          add(stride, index.coefficients[d], &offset.coefficients[d]);
        }
      }
      if (!fits || !BoundsOf(offset, dimensions_).ok()) {
        return TooLarge({kind_, b, a}, Describe(buffer), ", access ", a,
                        ": the offset does not fit in 63 bits");
      }
    }
    return absl::OkStatus();
  }

  PlaceKind kind_;
  const std::vector<Dimension>& dimensions_;
};

}  // namespace

std::string PointText(const std::vector<Dimension>& dimensions, absl::Span<const int64_t> point) {
  std::vector<std::string> parts;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    parts.push_back(absl::StrCat(dimensions[d].name, "=", point[d]));
  }
  return absl::StrCat("(", absl::StrJoin(parts, ", "), ")");
}

Status CheckView(ExpressionPlace::Kind kind, const std::vector<Dimension>& dimensions,
                 std::vector<Buffer>* buffers) {
  return ViewChecker(kind, dimensions).Check(buffers);
}

}  // namespace mdh
