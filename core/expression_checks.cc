// Expression::Create: every check that makes an expression valid.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression.h"
#include "core/expression_place.h"
#include "core/identifier.h"
#include "core/injectivity.h"

namespace mdh {
namespace {

using Kind = ExpressionPlace::Kind;

Status Invalid(const ExpressionPlace& place, absl::string_view message) {
  return AtPlace(absl::InvalidArgumentError(message), place);
}

Status TooLarge(const ExpressionPlace& place, absl::string_view message) {
  return AtPlace(absl::OutOfRangeError(message), place);
}

// False if the product does not fit.
bool MultiplyInto(int64_t* product, int64_t factor) {
  return !__builtin_mul_overflow(*product, factor, product);
}

// "(i=3, k=0)".
std::string PointText(const std::vector<Dimension>& dimensions, absl::Span<const int64_t> point) {
  std::vector<std::string> parts;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    parts.push_back(absl::StrCat(dimensions[d].name, "=", point[d]));
  }
  return absl::StrCat("(", absl::StrJoin(parts, ", "), ")");
}

Status CheckDimensions(const std::vector<Dimension>& dimensions) {
  if (dimensions.empty() || dimensions.size() > Expression::kMaxDimensions) {
    return absl::InvalidArgumentError(absl::StrCat("md_hom has ", dimensions.size(),
                                                   " dimensions; it must have 1 to ",
                                                   Expression::kMaxDimensions));
  }
  std::set<absl::string_view> names;
  int64_t points = 1;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const Dimension& dimension = dimensions[d];
    const ExpressionPlace place{Kind::kDimension, d};
    if (!IsIdentifier(dimension.name)) {
      return Invalid(place, absl::StrCat("'", dimension.name, "' is no name for a dimension"));
    }
    if (!names.insert(dimension.name).second) {
      return Invalid(place, absl::StrCat("two dimensions are called '", dimension.name, "'"));
    }
    if (dimension.size < 1) {
      return Invalid(place, absl::StrCat("the size of dimension '", dimension.name, "' is ",
                                         dimension.size, "; it must be at least 1"));
    }
    if (!MultiplyInto(&points, dimension.size)) {
      return TooLarge(place, absl::StrCat("the number of points of all dimensions up to '",
                                          dimension.name, "' does not fit in 63 bits"));
    }
  }
  return absl::OkStatus();
}

// The smallest and the largest value of an index on the MDA, and a point where each is taken.
struct IndexBounds {
  int64_t smallest, largest;
  std::vector<int64_t> smallest_at, largest_at;
};

// Errors: OutOfRange if a bound or a term of it does not fit in 63 bits.
Result<IndexBounds> BoundsOf(const AffineIndex& index, const std::vector<Dimension>& dimensions) {
  IndexBounds bounds{index.constant, index.constant, {}, {}};
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t last = dimensions[d].size - 1;
    const int64_t coefficient = index.coefficients[d];
    int64_t term;
    int64_t* bound = coefficient < 0 ? &bounds.smallest : &bounds.largest;
    if (coefficient == std::numeric_limits<int64_t>::min() ||
        __builtin_mul_overflow(coefficient, last, &term) ||
        __builtin_add_overflow(*bound, term, bound)) {
      return absl::OutOfRangeError("does not fit in 63 bits");
    }
    bounds.smallest_at.push_back(coefficient < 0 ? last : 0);
    bounds.largest_at.push_back(coefficient > 0 ? last : 0);
  }
  return bounds;
}

// Checks of the buffers of one view; computes the extents that are not given.
class ViewChecker {
 public:
  ViewChecker(Kind kind, const std::vector<Dimension>& dimensions)
      : kind_(kind), dimensions_(dimensions) {}

  Status Check(std::vector<Buffer>* buffers) const {
    size_t accesses = 0;
    for (int b = 0; b < static_cast<int>(buffers->size()); ++b) {
      MDH_RETURN_IF_ERROR(CheckBuffer(b, &(*buffers)[b]));
      accesses += (*buffers)[b].accesses.size();
    }
    if (accesses > Expression::kMaxAccesses) {
      return absl::InvalidArgumentError(
          absl::StrCat(kind_ == Kind::kInput ? "inp_view" : "out_view", " has ", accesses,
                       " accesses; at most ", Expression::kMaxAccesses, " are allowed"));
    }
    return absl::OkStatus();
  }

 private:
  std::string Describe(const Buffer& buffer) const {
    return absl::StrCat(kind_ == Kind::kInput ? "input '" : "output '", buffer.name, "'");
  }

  static std::string AtIndex(const ExpressionPlace& place) {
    return absl::StrCat(", access ", place.access, ", index ", place.index);
  }

  Status CheckBuffer(int b, Buffer* buffer) const {
    const ExpressionPlace place{kind_, b};
    if (!IsIdentifier(buffer->name)) {
      return Invalid(place, absl::StrCat("'", buffer->name, "' is no name for a buffer"));
    }
    if (buffer->accesses.empty()) {
      return Invalid(place, absl::StrCat(Describe(*buffer), " has no access"));
    }
    const size_t rank =
        buffer->extents_given ? buffer->extents.size() : buffer->accesses[0].indices.size();
    buffer->mda_rank = static_cast<int>(dimensions_.size());
    MDH_RETURN_IF_ERROR(CheckShape(b, *buffer, rank));
    if (!buffer->extents_given) buffer->extents.assign(rank, 1);
    for (int a = 0; a < static_cast<int>(buffer->accesses.size()); ++a) {
      for (int x = 0; x < static_cast<int>(rank); ++x) {
        MDH_RETURN_IF_ERROR(CheckIndex({kind_, b, a, x}, buffer));
      }
    }
    MDH_RETURN_IF_ERROR(CheckSize(place, *buffer));
    return CheckOffsets(b, *buffer);
  }

  Status CheckShape(int b, const Buffer& buffer, size_t rank) const {
    for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
      const std::vector<AffineIndex>& indices = buffer.accesses[a].indices;
      if (indices.size() != rank) {
        return Invalid({kind_, b, a},
                       absl::StrCat(Describe(buffer), ", access ", a, " has ", indices.size(),
                                    " indices, but the buffer has ", rank, " dimensions"));
      }
      for (int x = 0; x < static_cast<int>(rank); ++x) {
        if (indices[x].coefficients.size() == dimensions_.size()) continue;
        return Invalid({kind_, b, a, x},
                       absl::StrCat(Describe(buffer), ", access ", a, ", index ", x, " has ",
                                    indices[x].coefficients.size(), " coefficients for ",
                                    dimensions_.size(), " dimensions"));
      }
    }
    for (size_t x = 0; x < rank; ++x) {
      if (buffer.extents_given && buffer.extents[x] < 1) {
        return Invalid({kind_, b}, absl::StrCat(Describe(buffer), ", extent ", x, " is ",
                                                buffer.extents[x], "; it must be at least 1"));
      }
    }
    return absl::OkStatus();
  }

  // The index of `place` lies in its extent, or enlarges it if it is not given.
  Status CheckIndex(const ExpressionPlace& place, Buffer* buffer) const {
    const AffineIndex& index = buffer->accesses[place.access].indices[place.index];
    const Result<IndexBounds> bounds = BoundsOf(index, dimensions_);
    if (!bounds.ok() || bounds->largest == std::numeric_limits<int64_t>::max()) {
      return TooLarge(place, absl::StrCat(Describe(*buffer), AtIndex(place),
                                          ": the index does not fit in 63 bits"));
    }
    if (bounds->smallest < 0) {
      return TooLarge(
          place,
          absl::StrCat(Describe(*buffer), AtIndex(place), " is ", bounds->smallest, " at ",
                       PointText(dimensions_, bounds->smallest_at), "; it must not be negative"));
    }
    int64_t& extent = buffer->extents[place.index];
    if (!buffer->extents_given) {
      extent = std::max(extent, bounds->largest + 1);
    } else if (bounds->largest >= extent) {
      return TooLarge(
          place,
          absl::StrCat(Describe(*buffer), AtIndex(place), " is ", bounds->largest, " at ",
                       PointText(dimensions_, bounds->largest_at), ", but the extent is ", extent));
    }
    return absl::OkStatus();
  }

  Status CheckSize(const ExpressionPlace& place, const Buffer& buffer) const {
    int64_t bytes = SizeBytes(buffer.type);
    for (int64_t extent : buffer.extents) {
      if (!MultiplyInto(&bytes, extent)) {
        return TooLarge(
            place, absl::StrCat("the size of ", Describe(buffer), " with the extents (",
                                absl::StrJoin(buffer.extents, ", "), ") does not fit in 63 bits"));
      }
    }
    return absl::OkStatus();
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
        add(strides[x], index.constant, &offset.constant);
        for (size_t d = 0; d < dimensions_.size(); ++d) {
          add(strides[x], index.coefficients[d], &offset.coefficients[d]);
        }
      }
      if (!fits || !BoundsOf(offset, dimensions_).ok()) {
        return TooLarge({kind_, b, a}, absl::StrCat(Describe(buffer), ", access ", a,
                                                    ": the offset does not fit in 63 bits"));
      }
    }
    return absl::OkStatus();
  }

  Kind kind_;
  const std::vector<Dimension>& dimensions_;
};

Status CheckBufferNames(const ExpressionSpec& spec) {
  std::set<absl::string_view> names;
  for (const Kind kind : {Kind::kOutput, Kind::kInput}) {
    const std::vector<Buffer>& buffers = kind == Kind::kInput ? spec.inputs : spec.outputs;
    for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
      if (!names.insert(buffers[b].name).second) {
        return Invalid({kind, b}, absl::StrCat("two buffers are called '", buffers[b].name, "'"));
      }
    }
  }
  return absl::OkStatus();
}

// f's parameters or results are the accesses of a view, in order.
Status CheckSignature(const ExpressionSpec& spec, Kind kind) {
  const bool is_input = kind == Kind::kInput;
  const std::vector<Buffer>& buffers = is_input ? spec.inputs : spec.outputs;
  const std::vector<TypedName>& names =
      is_input ? spec.function.parameters() : spec.function.results();
  const absl::string_view what = is_input ? "parameter" : "result";
  std::vector<const Buffer*> accesses;
  for (const Buffer& buffer : buffers)
    accesses.insert(accesses.end(), buffer.accesses.size(), &buffer);
  if (names.size() != accesses.size()) {
    return Invalid({Kind::kFunction},
                   absl::StrCat("function '", spec.function.name(), "' has ", names.size(), " ",
                                what, "s, but the ", is_input ? "input" : "output", " view has ",
                                accesses.size(), " accesses"));
  }
  for (size_t n = 0; n < names.size(); ++n) {
    if (names[n].type == accesses[n]->type) continue;
    return Invalid({Kind::kFunction},
                   absl::StrCat("function '", spec.function.name(), "': ", what, " '",
                                names[n].name, "' has type ", Name(names[n].type), ", but buffer '",
                                accesses[n]->name, "' has type ", Name(accesses[n]->type)));
  }
  return absl::OkStatus();
}

Status CheckCombineOperators(const ExpressionSpec& spec) {
  const std::vector<CombineOperator>& operators = spec.combine_operators;
  if (operators.size() != spec.dimensions.size()) {
    return Invalid({Kind::kCombineOperator},
                   absl::StrCat("md_hom has ", operators.size(), " combine operators for ",
                                spec.dimensions.size(), " dimensions"));
  }
  const CombineOperator* reduction = nullptr;
  for (int d = 0; d < static_cast<int>(operators.size()); ++d) {
    if (operators[d].is_concat()) continue;
    const ExpressionPlace place{Kind::kCombineOperator, d};
    const std::vector<TypedName>& combined = operators[d].function().results();
    const std::vector<TypedName>& results = spec.function.results();
    if (!std::equal(combined.begin(), combined.end(), results.begin(), results.end(),
                    [](const TypedName& a, const TypedName& b) { return a.type == b.type; })) {
      return Invalid(place,
                     absl::StrCat("combine operator '", operators[d].ToString(),
                                  "' does not combine values of the types of the results of '",
                                  spec.function.name(), "'"));
    }
    if (reduction != nullptr && !operators[d].EquivalentTo(*reduction)) {
      return Invalid(place,
                     absl::StrCat("combine operators '", reduction->ToString(), "' and '",
                                  operators[d].ToString(),
                                  "' differ; all reduced dimensions must have the same one"));
    }
    reduction = &operators[d];
  }
  return absl::OkStatus();
}

Status CheckNotReduced(const ExpressionSpec& spec) {
  for (int b = 0; b < static_cast<int>(spec.outputs.size()); ++b) {
    const Buffer& buffer = spec.outputs[b];
    for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
      for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
        for (size_t d = 0; d < spec.dimensions.size(); ++d) {
          if (spec.combine_operators[d].is_concat() ||
              buffer.accesses[a].indices[x].coefficients[d] == 0) {
            continue;
          }
          return Invalid(
              {Kind::kOutput, b, a, x},
              absl::StrCat("output '", buffer.name, "', access ", a, ", index ", x,
                           " uses dimension '", spec.dimensions[d].name, "', which is reduced by '",
                           spec.combine_operators[d].ToString(), "'"));
        }
      }
    }
  }
  return absl::OkStatus();
}

Status DoubleWrite(const ExpressionSpec& spec, int b, int first, int second,
                   const Collision& collision) {
  const Buffer& buffer = spec.outputs[b];
  std::vector<int64_t> element;
  for (const AffineIndex& index : buffer.accesses[first].indices) {
    element.push_back(index.Evaluate(collision.first));
  }
  const auto writer = [&](int access, const std::vector<int64_t>& point) {
    return absl::StrCat(PointText(spec.dimensions, point),
                        buffer.accesses.size() > 1 ? absl::StrCat(" of access ", access) : "");
  };
  return Invalid({Kind::kOutput, b, second},
                 absl::StrCat("output '", buffer.name, "': element (", absl::StrJoin(element, ", "),
                              ") is written twice, by ", writer(first, collision.first), " and by ",
                              writer(second, collision.second)));
}

Status CheckWrittenOnce(const ExpressionSpec& spec) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < spec.dimensions.size(); ++d) {
    // All points along a reduced dimension give one result together.
    sizes.push_back(spec.combine_operators[d].is_concat() ? spec.dimensions[d].size : 1);
  }
  int64_t steps = 100'000;
  for (int b = 0; b < static_cast<int>(spec.outputs.size()); ++b) {
    const std::vector<IndexFunction>& accesses = spec.outputs[b].accesses;
    for (int second = 0; second < static_cast<int>(accesses.size()); ++second) {
      for (int first = 0; first <= second; ++first) {
        const Result<std::optional<Collision>> collision =
            first == second ? FindSelfCollision(accesses[first], sizes, &steps)
                            : FindCollision(accesses[first], accesses[second], sizes, &steps);
        if (!collision.ok()) {
          return Invalid({Kind::kOutput, b, second},
                         absl::StrCat("output '", spec.outputs[b].name,
                                      "': it could not be proven that no element is written "
                                      "twice; use simpler index functions"));
        }
        if (collision->has_value()) return DoubleWrite(spec, b, first, second, **collision);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

Result<Expression> Expression::Create(ExpressionSpec spec) {
  if (!IsIdentifier(spec.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", spec.name, "' is no name for an expression"));
  }
  MDH_RETURN_IF_ERROR(CheckDimensions(spec.dimensions));
  if (spec.outputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("expression '", spec.name, "' has no output"));
  }
  MDH_RETURN_IF_ERROR(CheckBufferNames(spec));
  MDH_RETURN_IF_ERROR(ViewChecker(Kind::kInput, spec.dimensions).Check(&spec.inputs));
  MDH_RETURN_IF_ERROR(ViewChecker(Kind::kOutput, spec.dimensions).Check(&spec.outputs));
  MDH_RETURN_IF_ERROR(CheckSignature(spec, Kind::kInput));
  MDH_RETURN_IF_ERROR(CheckSignature(spec, Kind::kOutput));
  MDH_RETURN_IF_ERROR(CheckCombineOperators(spec));
  MDH_RETURN_IF_ERROR(CheckNotReduced(spec));
  MDH_RETURN_IF_ERROR(CheckWrittenOnce(spec));
  return Expression(std::move(spec));
}

}  // namespace mdh
