// Division and rounding of counts, for counts as large as numbers go: no intermediate result
// overflows where the final one fits.
#pragma once

#include <cstdint>
#include <limits>

namespace mdh {

// The least n with n * b >= a. Expects a >= 0 and b >= 1.
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

// The product of two counts; the largest number if it does not fit.
constexpr int64_t MultiplyOrLargest(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

// The least multiple that is no smaller; the largest number if that does not fit. Expects
// value >= 0 and multiple >= 1.
constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return MultiplyOrLargest(CeilDivide(value, multiple), multiple);
}

// The smallest power of two that is no smaller. Expects 1 <= n <= 2^62.
constexpr int64_t RoundUpToPowerOfTwo(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// The largest power of two that is no larger. Expects n >= 1.
constexpr int64_t RoundDownToPowerOfTwo(int64_t n) {
  int64_t power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

}  // namespace mdh
