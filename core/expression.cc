// What can be asked of an expression and its buffers. The checks are in expression_checks.cc.
#include "core/expression.h"

#include <cstdint>
#include <limits>

namespace mdh {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kLargest : product;
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kLargest : sum;
}

Expression::AccessRef AccessNumber(const std::vector<Buffer>& buffers, int number) {
  int buffer = 0;
  while (number >= static_cast<int>(buffers[buffer].accesses.size())) {
    number -= static_cast<int>(buffers[buffer].accesses.size());
    ++buffer;
  }
  return {buffer, number};
}

}  // namespace

int64_t Buffer::elements() const {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

std::vector<int64_t> Buffer::strides() const {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t x = extents.size(); x-- > 1;) strides[x - 1] = strides[x] * extents[x];
  return strides;
}

AffineIndex Buffer::Linearized(int access) const {
  const std::vector<AffineIndex>& indices = accesses[access].indices;
  const std::vector<int64_t> stride = strides();
  AffineIndex offset;
  offset.coefficients.assign(mda_rank, 0);
  for (size_t x = 0; x < indices.size(); ++x) {
    for (size_t d = 0; d < indices[x].coefficients.size(); ++d) {
      offset.coefficients[d] += stride[x] * indices[x].coefficients[d];
    }
    offset.constant += stride[x] * indices[x].constant;
  }
  return offset;
}

bool Expression::has_reduction() const {
  for (int d = 0; d < rank(); ++d) {
    if (is_reduction(d)) return true;
  }
  return false;
}

const CombineOperator& Expression::reduction() const {
  int d = 0;
  while (!is_reduction(d)) ++d;
  return spec_.combine_operators[d];
}

Expression::AccessRef Expression::input_access(int parameter) const {
  return AccessNumber(spec_.inputs, parameter);
}

Expression::AccessRef Expression::output_access(int result) const {
  return AccessNumber(spec_.outputs, result);
}

int64_t Expression::points() const {
  int64_t product = 1;
  for (const Dimension& dimension : spec_.dimensions) product *= dimension.size;
  return product;
}

int64_t Expression::FloatingPointOperations() const {
  int64_t per_point = spec_.function.FloatingPointOperations();
  if (has_reduction()) per_point += reduction().function().FloatingPointOperations();
  return SaturatingMultiply(points(), per_point);
}

int64_t Expression::CompulsoryBytes() const {
  int64_t bytes = 0;
  for (const Buffer& buffer : spec_.inputs) bytes = SaturatingAdd(bytes, buffer.size_bytes());
  for (const Buffer& buffer : spec_.outputs) bytes = SaturatingAdd(bytes, buffer.size_bytes());
  return bytes;
}

}  // namespace mdh
