#include "tuner/space/constraints/integer_bounds.h"

namespace mdh {
namespace {

bool IsPoint(const Bounds& a) { return a.lo.i == a.hi.i; }

// Least and greatest of `quotient` at the corners; expects divisors of one sign.
template <typename Quotient>
void IncludeCorners(const Bounds& a, int64_t b_lo, int64_t b_hi, Quotient quotient,
                    Bounds& result) {
  for (int64_t b : {b_lo, b_hi}) {
    for (int64_t dividend : {a.lo.i, a.hi.i}) {
      const int64_t value = quotient(dividend, b, result.can);
      result.lo.i = std::min(result.lo.i, value);
      result.hi.i = std::max(result.hi.i, value);
    }
  }
}

template <typename Quotient>
void IntegerQuotientBounds(const Bounds& a, const Bounds& b, Quotient quotient, Bounds& result) {
  result.lo.i = kGreatestInteger;
  result.hi.i = kLeastInteger;
  result.can = 0;
  if (b.lo.i <= 0 && b.hi.i >= 0) result.can |= kCanDivideByZero;
  if (b.lo.i == 0 && b.hi.i == 0) return;
  result.can |= kCanBeDefined;
  if (b.hi.i > 0) IncludeCorners(a, std::max<int64_t>(b.lo.i, 1), b.hi.i, quotient, result);
  if (b.lo.i < 0) IncludeCorners(a, b.lo.i, std::min<int64_t>(b.hi.i, -1), quotient, result);
}

// For divisors > 0.
void RemainderOfPositive(const Bounds& a, int64_t b_lo, int64_t b_hi, Bounds& result) {
  if (a.lo.i >= 0 && a.hi.i < b_lo) {
    result.lo = a.lo;
    result.hi = a.hi;
    return;
  }
  result.lo.i = 0;
  result.hi.i = b_hi - 1;
  if (a.lo.i >= 0) result.hi.i = std::min(result.hi.i, a.hi.i);
  uint8_t ignored = 0;
  if (b_lo == b_hi && SaturatingFloorQuotient(a.lo.i, b_lo, ignored) ==
                          SaturatingFloorQuotient(a.hi.i, b_lo, ignored)) {
    result.lo.i = RemainderTowardsDivisor(a.lo.i, b_lo);
    result.hi.i = RemainderTowardsDivisor(a.hi.i, b_lo);
  }
}

void IntegerRemainderBounds(const Bounds& a, const Bounds& b, Bounds& result) {
  result.can = 0;
  if (b.lo.i <= 0 && b.hi.i >= 0) result.can |= kCanDivideByZero;
  if (b.lo.i == 0 && b.hi.i == 0) return;
  result.can |= kCanBeDefined;
  if (b.lo.i > 0) return RemainderOfPositive(a, b.lo.i, b.hi.i, result);
  result.lo.i = b.lo.i < 0 ? b.lo.i + 1 : 0;
  result.hi.i = b.hi.i > 0 ? b.hi.i - 1 : 0;
}

void ProductBounds(const Bounds& a, const Bounds& b, Bounds& result) {
  result.can = kCanBeDefined;
  if (a.lo.i >= 0 && b.lo.i >= 0) {
    result.lo.i = SaturatingMultiply(a.lo.i, b.lo.i, result.can);
    result.hi.i = SaturatingMultiply(a.hi.i, b.hi.i, result.can);
    return;
  }
  const int64_t corners[] = {SaturatingMultiply(a.lo.i, b.lo.i, result.can),
                             SaturatingMultiply(a.lo.i, b.hi.i, result.can),
                             SaturatingMultiply(a.hi.i, b.lo.i, result.can),
                             SaturatingMultiply(a.hi.i, b.hi.i, result.can)};
  result.lo.i = *std::min_element(corners, corners + 4);
  result.hi.i = *std::max_element(corners, corners + 4);
}

// Exponents are not negative (operation_graph.cc).
void IntegerPowerBounds(const Bounds& a, const Bounds& b, Bounds& result) {
  result.can = kCanBeDefined;
  const int64_t b_lo = std::max<int64_t>(b.lo.i, 0);
  const int64_t b_hi = std::max<int64_t>(b.hi.i, 0);
  if (a.lo.i >= 1) {
    result.lo.i = SaturatingPower(a.lo.i, b_lo, result.can);
    result.hi.i = SaturatingPower(a.hi.i, b_hi, result.can);
    return;
  }
  const int64_t size = std::max(a.hi.i, a.lo.i == kLeastInteger ? kGreatestInteger : -a.lo.i);
  result.hi.i = SaturatingPower(std::max<int64_t>(size, 1), b_hi, result.can);
  result.lo.i = a.lo.i >= 0 ? 0 : -result.hi.i;
}

void DividesBounds(const Bounds& divisor, const Bounds& dividend, Bounds& result) {
  result.can = 0;
  if (divisor.lo.i <= 0 && divisor.hi.i >= 0) result.can |= kCanDivideByZero;
  if (divisor.lo.i == 0 && divisor.hi.i == 0) return;
  result.can |= kCanBeFalse;
  // No divisor is larger than what it divides.
  if (dividend.lo.i > 0 && divisor.lo.i > dividend.hi.i) return;
  result.can |= kCanBeTrue;
  if (divisor.lo.i == 1 && divisor.hi.i == 1) result.can &= ~kCanBeFalse;
}

// -1: less for certain, 1: not less for certain.
void CompareBounds(bool certainly, bool certainly_not, Bounds& result) {
  result.can = certainly ? kCanBeTrue : certainly_not ? kCanBeFalse : kCanBeTrue | kCanBeFalse;
}

}  // namespace

void EvaluateIntegerBounds(OperationCode code, const Bounds& a, const Bounds& b, Bounds& result) {
  if (IsPoint(a) && IsPoint(b)) {
    // Saturated ends are no values.
    if (((a.can | b.can) & kCanOverflow) == 0) {
      return EvaluateIntegerPoint(code, a.lo.i, b.lo.i, result);
    }
  }
  result.can = kCanBeDefined;
  switch (code) {
    case OperationCode::kAdd:
      result.lo.i = SaturatingAdd(a.lo.i, b.lo.i, result.can);
      result.hi.i = SaturatingAdd(a.hi.i, b.hi.i, result.can);
      return;
    case OperationCode::kSubtract:
      result.lo.i = SaturatingSubtract(a.lo.i, b.hi.i, result.can);
      result.hi.i = SaturatingSubtract(a.hi.i, b.lo.i, result.can);
      return;
    case OperationCode::kMultiply:
      return ProductBounds(a, b, result);
    case OperationCode::kFloorDivide:
      return IntegerQuotientBounds(
          a, b,
          [](int64_t x, int64_t y, uint8_t& can) { return SaturatingFloorQuotient(x, y, can); },
          result);
    case OperationCode::kCeilDivide:
      return IntegerQuotientBounds(
          a, b,
          [](int64_t x, int64_t y, uint8_t& can) { return SaturatingCeilQuotient(x, y, can); },
          result);
    case OperationCode::kRemainder:
      return IntegerRemainderBounds(a, b, result);
    case OperationCode::kPower:
      return IntegerPowerBounds(a, b, result);
    case OperationCode::kNegate:
      result.lo.i = SaturatingSubtract(0, a.hi.i, result.can);
      result.hi.i = SaturatingSubtract(0, a.lo.i, result.can);
      return;
    case OperationCode::kAbsolute: {
      const int64_t lo = a.lo.i < 0 ? SaturatingSubtract(0, a.lo.i, result.can) : a.lo.i;
      const int64_t hi = a.hi.i < 0 ? SaturatingSubtract(0, a.hi.i, result.can) : a.hi.i;
      result.lo.i = a.lo.i <= 0 && a.hi.i >= 0 ? 0 : std::min(lo, hi);
      result.hi.i = std::max(lo, hi);
      return;
    }
    case OperationCode::kMin:
      result.lo.i = std::min(a.lo.i, b.lo.i);
      result.hi.i = std::min(a.hi.i, b.hi.i);
      return;
    case OperationCode::kMax:
      result.lo.i = std::max(a.lo.i, b.lo.i);
      result.hi.i = std::max(a.hi.i, b.hi.i);
      return;
    case OperationCode::kDivides:
      return DividesBounds(a, b, result);
    case OperationCode::kEqual:
      return CompareBounds(false, a.hi.i < b.lo.i || b.hi.i < a.lo.i, result);
    case OperationCode::kLess:
      return CompareBounds(a.hi.i < b.lo.i, a.lo.i >= b.hi.i, result);
    case OperationCode::kLessEqual:
      return CompareBounds(a.hi.i <= b.lo.i, a.lo.i > b.hi.i, result);
    default:
      result.can = kCanOverflow;
  }
}

}  // namespace mdh
