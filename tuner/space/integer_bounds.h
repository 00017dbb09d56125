// Integer arithmetic of formulas on bounds; ends of intervals saturate at 64 bits and say so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tuner/space/bounds.h"

namespace mdh {

inline constexpr int64_t kLeastInteger = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kGreatestInteger = std::numeric_limits<int64_t>::max();

inline int64_t SaturatingAdd(int64_t a, int64_t b, uint8_t& can) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  can |= kCanOverflow;
  return a < 0 ? kLeastInteger : kGreatestInteger;
}

inline int64_t SaturatingSubtract(int64_t a, int64_t b, uint8_t& can) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  can |= kCanOverflow;
  return a < 0 ? kLeastInteger : kGreatestInteger;
}

inline int64_t SaturatingMultiply(int64_t a, int64_t b, uint8_t& can) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  can |= kCanOverflow;
  return (a < 0) != (b < 0) ? kLeastInteger : kGreatestInteger;
}

// Towards minus infinity. Expects b != 0.
inline int64_t SaturatingFloorQuotient(int64_t a, int64_t b, uint8_t& can) {
  if (b == -1) return SaturatingSubtract(0, a, can);
  const int64_t quotient = a / b;
  return quotient - (quotient * b != a && (a < 0) != (b < 0) ? 1 : 0);
}

inline int64_t SaturatingCeilQuotient(int64_t a, int64_t b, uint8_t& can) {
  if (b == -1) return SaturatingSubtract(0, a, can);
  const int64_t quotient = a / b;
  return quotient + (quotient * b != a && (a < 0) == (b < 0) ? 1 : 0);
}

// Has the sign of b. Expects b != 0.
inline int64_t RemainderTowardsDivisor(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// Expects exponent >= 0.
inline int64_t SaturatingPower(int64_t base, int64_t exponent, uint8_t& can) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t power = 1;
  for (; exponent > 0; --exponent) {
    uint8_t overflow = 0;
    power = SaturatingMultiply(power, base, overflow);
    if (overflow != 0) {
      can |= kCanOverflow;
      return base < 0 && exponent % 2 == 0 ? -power - (power < 0 ? 1 : 0) : power;
    }
  }
  return power;
}

// Both functions: of two integers that are defined.
void EvaluateIntegerPoint(OperationCode code, int64_t a, int64_t b, Bounds& result);
void EvaluateIntegerBounds(OperationCode code, const Bounds& a, const Bounds& b, Bounds& result);

}  // namespace mdh
