// Integer arithmetic of formulas on bounds; ends of intervals saturate at 64 bits and say so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tuner/space/constraints/bounds.h"

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
      // Further factors make it the other limit, or leave it.
      return base < 0 && exponent % 2 == 0 ? ~power : power;
    }
  }
  return power;
}

inline void SetInteger(int64_t value, uint8_t can, Bounds& result) {
  result.lo.i = value;
  result.hi.i = value;
  // What overflows has no value.
  result.can = can == 0 ? kCanBeDefined : can;
}

inline void SetCondition(bool value, Bounds& result) {
  result.can = value ? kCanBeTrue : kCanBeFalse;
}

// Of two integers that are defined. Inline, as most of construction is spent here.
inline void EvaluateIntegerPoint(OperationCode code, int64_t a, int64_t b, Bounds& result) {
  uint8_t can = 0;
  switch (code) {
    case OperationCode::kAdd:
      return SetInteger(SaturatingAdd(a, b, can), can, result);
    case OperationCode::kSubtract:
      return SetInteger(SaturatingSubtract(a, b, can), can, result);
    case OperationCode::kMultiply:
      return SetInteger(SaturatingMultiply(a, b, can), can, result);
    case OperationCode::kFloorDivide:
      if (b == 0) return SetInteger(0, kCanDivideByZero, result);
      return SetInteger(SaturatingFloorQuotient(a, b, can), can, result);
    case OperationCode::kCeilDivide:
      if (b == 0) return SetInteger(0, kCanDivideByZero, result);
      return SetInteger(SaturatingCeilQuotient(a, b, can), can, result);
    case OperationCode::kRemainder:
      if (b == 0) return SetInteger(0, kCanDivideByZero, result);
      return SetInteger(RemainderTowardsDivisor(a, b), can, result);
    case OperationCode::kPower:
      return SetInteger(SaturatingPower(a, b, can), can, result);
    case OperationCode::kNegate:
      return SetInteger(SaturatingSubtract(0, a, can), can, result);
    case OperationCode::kAbsolute:
      return SetInteger(a < 0 ? SaturatingSubtract(0, a, can) : a, can, result);
    case OperationCode::kMin:
      return SetInteger(std::min(a, b), can, result);
    case OperationCode::kMax:
      return SetInteger(std::max(a, b), can, result);
    case OperationCode::kDivides:
      if (a == 0) {
        result.can = kCanDivideByZero;
        return;
      }
      return SetCondition(RemainderTowardsDivisor(b, a) == 0, result);
    case OperationCode::kEqual:
      return SetCondition(a == b, result);
    case OperationCode::kLess:
      return SetCondition(a < b, result);
    case OperationCode::kLessEqual:
      return SetCondition(a <= b, result);
    default:
      result.can = kCanOverflow;  // no other operation is on integers
  }
}

// Of bounds of two integers that can be defined.
void EvaluateIntegerBounds(OperationCode code, const Bounds& a, const Bounds& b, Bounds& result);

}  // namespace mdh
