#include "tuner/space/constraints/real_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mdh {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Integers up to here are exact.
constexpr double kExact = 9007199254740992.0;

bool IsSmallInteger(double a) {
  return std::abs(a) < kExact && static_cast<double>(static_cast<int64_t>(a)) == a;
}

void SetReal(double value, Bounds& result) {
  result.lo.r = value;
  result.hi.r = value;
  // What leaves the range of reals overflows.
  result.can = std::isfinite(value) ? kCanBeDefined : kCanOverflow;
}

void SetRealCondition(bool value, Bounds& result) { result.can = value ? kCanBeTrue : kCanBeFalse; }

void SetEverything(uint8_t can, Bounds& result) {
  result.lo.r = -kInfinity;
  result.hi.r = kInfinity;
  result.can = can;
}

// Between the least and the greatest of the four.
void SetCorners(double a, double b, double c, double d, Bounds& result) {
  if (std::isnan(a + b + c + d)) return SetEverything(result.can | kCanOverflow, result);
  result.lo.r = std::min(std::min(a, b), std::min(c, d));
  result.hi.r = std::max(std::max(a, b), std::max(c, d));
  if (std::isinf(result.lo.r) || std::isinf(result.hi.r)) result.can |= kCanOverflow;
}

void RealQuotientBounds(const Bounds& a, const Bounds& b, bool floor, Bounds& result) {
  if (b.lo.r <= 0 && b.hi.r >= 0) {
    return SetEverything(
        b.lo.r == 0 && b.hi.r == 0 ? kCanDivideByZero : kCanBeDefined | kCanDivideByZero, result);
  }
  result.can = kCanBeDefined;
  SetCorners(a.lo.r / b.lo.r, a.lo.r / b.hi.r, a.hi.r / b.lo.r, a.hi.r / b.hi.r, result);
  if (!floor) return;
  // The quotient is rounded before it is cut.
  result.lo.r = std::floor(result.lo.r) - 1;
  result.hi.r = std::floor(result.hi.r) + 1;
}

void RealRemainderBounds(const Bounds& a, const Bounds& b, Bounds& result) {
  result.can = kCanBeDefined;
  if (b.lo.r <= 0 && b.hi.r >= 0) result.can |= kCanDivideByZero;
  if (b.lo.r == 0 && b.hi.r == 0) {
    result.can = kCanDivideByZero;
    return;
  }
  result.lo.r = std::min(b.lo.r, 0.0);
  result.hi.r = std::max(b.hi.r, 0.0);
  if (a.lo.r >= 0 && b.lo.r > 0) result.hi.r = std::min(result.hi.r, a.hi.r);
}

void RealPowerBounds(const Bounds& a, const Bounds& b, Bounds& result) {
  if (!(a.lo.r > 0)) return SetEverything(kCanBeDefined | kCanDivideByZero | kCanOverflow, result);
  result.can = kCanBeDefined;
  SetCorners(std::pow(a.lo.r, b.lo.r), std::pow(a.lo.r, b.hi.r), std::pow(a.hi.r, b.lo.r),
             std::pow(a.hi.r, b.hi.r), result);
  // Powers are not rounded correctly.
  constexpr double kMargin = 1e-14;
  result.lo.r *= 1 - kMargin;
  result.hi.r *= 1 + kMargin;
}

void PowerPoint(double a, double b, Bounds& result) {
  if (a == 0 && b < 0) {
    result.can = kCanDivideByZero;
    return;
  }
  if (a < 0 && b != std::floor(b)) {
    result.can = kCanDivideByZero;  // undefined likewise
    return;
  }
  SetReal(std::pow(a, b), result);
}

}  // namespace

double FloorRemainder(double a, double b) {
  if (IsSmallInteger(a) && IsSmallInteger(b)) {
    const int64_t divisor = static_cast<int64_t>(b);
    int64_t remainder = static_cast<int64_t>(a) % divisor;
    if (remainder != 0 && (remainder < 0) != (divisor < 0)) remainder += divisor;
    return static_cast<double>(remainder);
  }
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  return remainder;
}

double FloorQuotient(double a, double b) {
  const double remainder = FloorRemainder(a, b);
  const double quotient = (a - remainder) / b;
  const double cut = std::floor(quotient);
  return quotient - cut > 0.5 ? cut + 1 : cut;
}

void EvaluateRealPoint(OperationCode code, double a, double b, Bounds& result) {
  switch (code) {
    case OperationCode::kAdd:
      return SetReal(a + b, result);
    case OperationCode::kSubtract:
      return SetReal(a - b, result);
    case OperationCode::kMultiply:
      return SetReal(a * b, result);
    case OperationCode::kDivide:
    case OperationCode::kFloorDivide:
    case OperationCode::kRemainder:
      if (b == 0) {
        result.can = kCanDivideByZero;
        return;
      }
      return SetReal(code == OperationCode::kDivide        ? a / b
                     : code == OperationCode::kFloorDivide ? FloorQuotient(a, b)
                                                           : FloorRemainder(a, b),
                     result);
    case OperationCode::kPower:
      return PowerPoint(a, b, result);
    case OperationCode::kNegate:
      return SetReal(-a, result);
    case OperationCode::kAbsolute:
      return SetReal(std::abs(a), result);
    case OperationCode::kMin:
      return SetReal(std::min(a, b), result);
    case OperationCode::kMax:
      return SetReal(std::max(a, b), result);
    case OperationCode::kEqual:
      return SetRealCondition(a == b, result);
    case OperationCode::kLess:
      return SetRealCondition(a < b, result);
    case OperationCode::kLessEqual:
      return SetRealCondition(a <= b, result);
    default:
      result.can = kCanOverflow;  // no other operation is on reals
  }
}

void EvaluateRealBounds(OperationCode code, const Bounds& a, const Bounds& b, Bounds& result) {
  if (a.lo.r == a.hi.r && b.lo.r == b.hi.r) return EvaluateRealPoint(code, a.lo.r, b.lo.r, result);
  result.can = kCanBeDefined;
  const auto compare = [&result](bool certainly, bool certainly_not) {
    result.can = certainly ? kCanBeTrue : certainly_not ? kCanBeFalse : kCanBeTrue | kCanBeFalse;
  };
  switch (code) {
    case OperationCode::kAdd:
      return SetCorners(a.lo.r + b.lo.r, a.hi.r + b.hi.r, a.lo.r + b.lo.r, a.hi.r + b.hi.r, result);
    case OperationCode::kSubtract:
      return SetCorners(a.lo.r - b.hi.r, a.hi.r - b.lo.r, a.lo.r - b.hi.r, a.hi.r - b.lo.r, result);
    case OperationCode::kMultiply:
      return SetCorners(a.lo.r * b.lo.r, a.lo.r * b.hi.r, a.hi.r * b.lo.r, a.hi.r * b.hi.r, result);
    case OperationCode::kDivide:
      return RealQuotientBounds(a, b, false, result);
    case OperationCode::kFloorDivide:
      return RealQuotientBounds(a, b, true, result);
    case OperationCode::kRemainder:
      return RealRemainderBounds(a, b, result);
    case OperationCode::kPower:
      return RealPowerBounds(a, b, result);
    case OperationCode::kNegate:
      return SetCorners(-a.lo.r, -a.hi.r, -a.lo.r, -a.hi.r, result);
    case OperationCode::kAbsolute:
      SetCorners(std::abs(a.lo.r), std::abs(a.hi.r), std::abs(a.lo.r), std::abs(a.hi.r), result);
      if (a.lo.r <= 0 && a.hi.r >= 0) result.lo.r = 0;
      return;
    case OperationCode::kMin:
      return SetCorners(std::min(a.lo.r, b.lo.r), std::min(a.hi.r, b.hi.r),
                        std::min(a.lo.r, b.lo.r), std::min(a.hi.r, b.hi.r), result);
    case OperationCode::kMax:
      return SetCorners(std::max(a.lo.r, b.lo.r), std::max(a.hi.r, b.hi.r),
                        std::max(a.lo.r, b.lo.r), std::max(a.hi.r, b.hi.r), result);
    case OperationCode::kEqual:
      return compare(false, a.hi.r < b.lo.r || b.hi.r < a.lo.r);
    case OperationCode::kLess:
      return compare(a.hi.r < b.lo.r, a.lo.r >= b.hi.r);
    case OperationCode::kLessEqual:
      return compare(a.hi.r <= b.lo.r, a.lo.r > b.hi.r);
    default:
      result.can = kCanOverflow;
  }
}

}  // namespace mdh
