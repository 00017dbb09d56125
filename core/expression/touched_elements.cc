// Counting the images of index functions on the MDA.
#include "core/expression/touched_elements.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/round.h"
#include "core/expression/dependences.h"
#include "core/scalar/needed_instructions.h"

namespace mdh {
namespace {

// ---- Accesses of a buffer ----

// Whether different indices are different elements, except those of strides 0.
bool KeepsIndicesApart(const Buffer& buffer) {
  if (buffer.is_dense()) return true;
  std::vector<std::pair<int64_t, int64_t>> by_stride;
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    if (buffer.given_strides[x] > 0)
      by_stride.emplace_back(buffer.given_strides[x], buffer.extents[x]);
  }
  std::ranges::sort(by_stride);
  int64_t span = 0;
  for (const auto& [stride, extent] : by_stride) {
    if (extent > 1 && stride <= span) return false;
    span += stride * (extent - 1);
  }
  return true;
}

// Whether no dimension of the MDA is in two indices.
bool HasSeparateIndices(const IndexFunction& access, const std::vector<Dimension>& dimensions) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].size == 1) continue;
    const auto uses = std::ranges::count_if(
        access.indices, [&](const AffineIndex& i) { return i.coefficients[d] != 0; });
    if (uses > 1) return false;
  }
  return true;
}

class BufferCounter {
 public:
  BufferCounter(const Buffer& buffer, const std::vector<Dimension>& dimensions)
      : buffer_(buffer), dimensions_(dimensions), strides_(buffer.strides()) {}

  CountBounds Count(absl::Span<const int> accesses) const {
    std::vector<ProgressionBox> inner, hull;
    CountBounds count{0, 0};
    bool are_boxes = KeepsIndicesApart(buffer_);
    for (const int a : accesses) {
      const std::vector<IndexValues> values = Indices(a);
      const CountBounds one = OfAccess(a, values);
      count.lower = std::max(count.lower, one.lower);
      count.upper = AddOrLargest(count.upper, one.upper);
      are_boxes = are_boxes && HasSeparateIndices(buffer_.accesses[a], dimensions_);
      inner.emplace_back();
      hull.emplace_back();
      for (const IndexValues& index : values) {
        inner.back().push_back(index.inner);
        hull.back().push_back(index.hull);
      }
    }
    if (are_boxes && accesses.size() > 1) {
      count.lower = std::max(count.lower, SizeOfUnion(std::move(inner)).value_or(0));
      count.upper = std::min(
          count.upper, SizeOfUnion(std::move(hull)).value_or(std::numeric_limits<int64_t>::max()));
    }
    count.upper = std::min(count.upper, All());
    return count;
  }

  // Elements of the index space.
  int64_t All() const {
    int64_t all = 1;
    for (size_t x = 0; x < strides_.size(); ++x) {
      if (strides_[x] > 0) all = MultiplyOrLargest(all, buffer_.extents[x]);
    }
    return std::min(all, buffer_.elements());
  }

 private:
  std::vector<IndexValues> Indices(int a) const {
    std::vector<IndexValues> values;
    for (size_t x = 0; x < strides_.size(); ++x) {
      values.push_back(AtBoundary(ValuesOf(buffer_.accesses[a].indices[x], dimensions_),
                                  buffer_.extents[x], buffer_.boundary.kind));
      if (strides_[x] == 0 && values.back().hull.count > 0) {
        // All values are one element; whether there is one counts.
        const int64_t any = std::min<int64_t>(1, values.back().count.lower);
        values.back() = {{any, 1}, Interval(0, any - 1), Interval(0, 0)};
      }
    }
    return values;
  }

  CountBounds OfAccess(int a, const std::vector<IndexValues>& values) const {
    CountBounds product{1, 1};
    for (const IndexValues& index : values) product = product * index.count;
    const bool is_separate = HasSeparateIndices(buffer_.accesses[a], dimensions_);
    if (is_separate && KeepsIndicesApart(buffer_)) return product;
    if (buffer_.boundary.kind == Boundary::Kind::kNone) {
      CountBounds in_memory = ValuesOf(buffer_.Linearized(a), dimensions_).count;
      in_memory.upper = std::min(in_memory.upper, product.upper);
      return in_memory;
    }
    return {0, product.upper};
  }

  const Buffer& buffer_;
  const std::vector<Dimension>& dimensions_;
  const std::vector<int64_t> strides_;
};

// ---- Values that f needs ----

// Parameters of which the function uses the value at all.
std::vector<bool> UsedParameters(const ScalarFunction& f) {
  std::vector<bool> used(f.parameters().size(), false);
  for (const ScalarInstruction& instruction : f.instructions()) {
    if (instruction.op == ScalarOp::kParameter) used[instruction.parameter] = true;
  }
  return used;
}

// Of all fields, the elements of buffer number b whose field is one of `read`.
CountBounds BytesOfAccesses(const Expression& e, const Buffer& buffer, int b,
                            const std::vector<Expression::AccessRef>& read) {
  CountBounds bytes{0, 0};
  for (int field = 0; field < std::ssize(buffer.type.fields()); ++field) {
    std::vector<int> accesses;
    for (const Expression::AccessRef& ref : read) {
      if (ref.buffer == b && ref.field == field) accesses.push_back(ref.access);
    }
    const int64_t size = SizeBytes(buffer.type.fields()[field].type);
    bytes = bytes + TouchedElements(buffer, accesses, e.dimensions()) * CountBounds{size, size};
  }
  return bytes;
}

CountBounds BytesOfFunction(const Expression& e, int b) {
  const auto bytes = [&](const std::vector<bool>& is_read) {
    std::vector<Expression::AccessRef> read;
    for (int p = 0; p < e.input_parameters(); ++p) {
      if (is_read[p]) read.push_back(e.input_access(p));
    }
    return BytesOfAccesses(e, e.inputs()[b], b, read);
  };
  return {bytes(NeededParameters(e.function(), NeededResults(e))).lower,
          bytes(UsedParameters(e.function())).upper};
}

// What the store function reads of its input number b.
CountBounds BytesOfStore(const Expression& e, int b) {
  const ScalarFunction& s = e.store()->function;
  const auto bytes = [&](const std::vector<bool>& is_read) {
    std::vector<Expression::AccessRef> read;
    for (int p = 0; p < std::ssize(s.parameters()); ++p) {
      const bool is_access = e.store_parameter(p) == Expression::StoreParameter::kAccess;
      if (is_read[p] && is_access) read.push_back(e.store_access(p));
    }
    return BytesOfAccesses(e, e.store()->inputs[b], b, read);
  };
  return {bytes(NeededParameters(s, std::vector<bool>(s.results().size(), true))).lower,
          bytes(UsedParameters(s)).upper};
}

// ---- Lines ----

// Lines in which the elements of one access lie, if the buffer begins with a line.
int64_t LinesOfAccess(const Buffer& buffer, int a, const std::vector<Dimension>& dimensions,
                      int64_t line_bytes) {
  const AffineIndex offset = buffer.Linearized(a);
  std::vector<std::pair<int64_t, int64_t>> terms;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (offset.coefficients[d] == 0 || dimensions[d].size == 1) continue;
    terms.emplace_back(std::abs(offset.coefficients[d]) * buffer.type.size_bytes(),
                       dimensions[d].size);
  }
  std::ranges::sort(terms);
  int64_t lines = 1, span = buffer.type.size_bytes();
  for (const auto& [stride, count] : terms) {
    span = AddOrLargest(span, MultiplyOrLargest(stride, count - 1));
    lines = std::min(MultiplyOrLargest(lines, count), span / line_bytes + 2);
  }
  return lines;
}

}  // namespace

CountBounds TouchedElements(const Buffer& buffer, absl::Span<const int> accesses,
                            const std::vector<Dimension>& dimensions) {
  return BufferCounter(buffer, dimensions).Count(accesses);
}

CountBounds InputBytes(const Expression& expression, int b) {
  CountBounds bytes{0, 0};
  if (b < std::ssize(expression.inputs())) bytes = BytesOfFunction(expression, b);
  if (expression.store() == nullptr) return bytes;
  for (int read = 0; read < std::ssize(expression.store()->inputs); ++read) {
    if (expression.passed_store_input(read) != b) continue;
    // Both may read the same elements.
    const CountBounds more = BytesOfStore(expression, read);
    const int64_t all = expression.passed_inputs()[b].size_bytes();
    bytes = {std::max(bytes.lower, more.lower),
             std::min(AddOrLargest(bytes.upper, more.upper), std::max(all, bytes.upper))};
  }
  return bytes;
}

CountBounds OutputBytes(const Expression& expression, int b) {
  const Buffer& buffer = expression.outputs()[b];
  std::vector<int> accesses(buffer.accesses.size());
  std::iota(accesses.begin(), accesses.end(), 0);
  const BufferCounter counter(buffer, expression.dimensions());
  const int64_t size = buffer.type.size_bytes();
  return CountBounds{counter.Count(accesses).lower, counter.All()} * CountBounds{size, size};
}

CountBounds TouchedBytes(const Expression& expression) {
  CountBounds bytes{0, 0};
  for (size_t b = 0; b < expression.passed_inputs().size(); ++b) {
    bytes = bytes + InputBytes(expression, static_cast<int>(b));
  }
  for (size_t b = 0; b < expression.outputs().size(); ++b) {
    bytes = bytes + OutputBytes(expression, static_cast<int>(b));
  }
  return bytes;
}

int64_t BufferBytesOf(const Expression& expression) {
  int64_t bytes = 0;
  for (const auto* buffers : {&expression.passed_inputs(), &expression.outputs()}) {
    for (const Buffer& buffer : *buffers) bytes = AddOrLargest(bytes, buffer.size_bytes());
  }
  return bytes;
}

int64_t TouchedLineBytes(const Expression& expression, int64_t line_bytes) {
  int64_t bytes = 0;
  for (const auto* buffers : BuffersOf(expression.spec())) {
    for (const Buffer& buffer : *buffers) {
      int64_t lines = 0;
      for (size_t a = 0; a < buffer.accesses.size(); ++a) {
        lines = AddOrLargest(
            lines, LinesOfAccess(buffer, static_cast<int>(a), expression.dimensions(), line_bytes));
      }
      bytes =
          AddOrLargest(bytes, std::min(MultiplyOrLargest(lines, line_bytes), buffer.size_bytes()));
    }
  }
  return bytes;
}

}  // namespace mdh
