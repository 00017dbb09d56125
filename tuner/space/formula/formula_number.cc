// Arithmetic of Python 3 on integers of 64 bits and reals.
#include "tuner/space/formula/formula_number.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace mdh {
namespace {

using enum ArithmeticOutcome;
__extension__ using WideUnsigned = unsigned __int128;

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

ArithmeticOutcome Give(int64_t value, Number* result) {
  *result = Number(value);
  return kOk;
}

ArithmeticOutcome Give(double value, Number* result) {
  if (!std::isfinite(value)) return kOverflow;
  *result = Number(value);
  return kOk;
}

int CompareWithReal(int64_t integer, double real) {
  // Both powers of two are exact.
  if (real >= 0x1p63) return -1;
  if (real < -0x1p63) return 1;
  const double whole = std::trunc(real);
  const auto other = static_cast<int64_t>(whole);
  if (integer != other) return integer < other ? -1 : 1;
  if (real == whole) return 0;
  return real > whole ? -1 : 1;
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// The real nearest to a / b. Rounds once: the quotient is taken to at least 57 bits, of which the
// last one also stands for the remainder.
double TrueQuotient(int64_t a, int64_t b) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (a >= -kExact && a <= kExact && b >= -kExact && b <= kExact) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  const uint64_t dividend = Magnitude(a);
  const uint64_t divisor = Magnitude(b);
  if (dividend == 0) return 0;
  const int shift = std::max(0, 57 + static_cast<int>(std::bit_width(divisor)) -
                                    static_cast<int>(std::bit_width(dividend)));
  const auto wide = static_cast<WideUnsigned>(dividend) << shift;
  auto quotient = static_cast<uint64_t>(wide / divisor);
  if (wide % divisor != 0) quotient |= 1;
  const double value = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) != (b < 0) ? -value : value;
}

ArithmeticOutcome IntegerPower(int64_t base, int64_t exponent, Number* result) {
  if (exponent < 0) {
    if (base == 0) return kUndefined;
    return Give(std::pow(static_cast<double>(base), static_cast<double>(exponent)), result);
  }
  if (base == 0 || base == 1) return Give(exponent == 0 ? 1 : base, result);
  if (base == -1) return Give(exponent % 2 == 0 ? int64_t{1} : int64_t{-1}, result);
  if (exponent > 63) return kOverflow;
  int64_t power = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(power, base, &power)) return kOverflow;
  }
  return Give(power, result);
}

ArithmeticOutcome ApplyToIntegers(FormulaOp op, int64_t a, int64_t b, Number* result) {
  const bool divides = op == FormulaOp::kDivide || op == FormulaOp::kFloorDivide ||
                       op == FormulaOp::kRemainder || op == FormulaOp::kCeilDivide;
  if (b == 0 && divides) return kUndefined;
  int64_t value = 0;
  switch (op) {
    case FormulaOp::kAdd:
      return __builtin_add_overflow(a, b, &value) ? kOverflow : Give(value, result);
    case FormulaOp::kSubtract:
      return __builtin_sub_overflow(a, b, &value) ? kOverflow : Give(value, result);
    case FormulaOp::kMultiply:
      return __builtin_mul_overflow(a, b, &value) ? kOverflow : Give(value, result);
    case FormulaOp::kDivide:
      return Give(TrueQuotient(a, b), result);
    case FormulaOp::kFloorDivide:
      return b == -1 ? Negate(Number(a), result) : Give(FloorQuotient(a, b), result);
    case FormulaOp::kRemainder:
      return Give(b == -1 ? int64_t{0} : FloorRemainder(a, b), result);
    case FormulaOp::kCeilDivide:
      if (b == -1) return Negate(Number(a), result);
      return Give(FloorQuotient(a, b) + (a % b != 0 ? 1 : 0), result);
    case FormulaOp::kDivides:
      if (a == 0) return kUndefined;
      return Give(int64_t{a == -1 || b % a == 0}, result);
    default:
      return IntegerPower(a, b, result);
  }
}

// As CPython: the remainder is exact, and the quotient goes with it.
void DivideWithRemainder(double a, double b, double* quotient, double* remainder) {
  double rest = std::fmod(a, b);
  double exact = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      exact -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (exact != 0) {
    *quotient = std::floor(exact);
    if (exact - *quotient > 0.5) *quotient += 1;
  } else {
    *quotient = std::copysign(0.0, a / b);
  }
  *remainder = rest;
}

ArithmeticOutcome ApplyToReals(FormulaOp op, double a, double b, Number* result) {
  const bool divides =
      op == FormulaOp::kDivide || op == FormulaOp::kFloorDivide || op == FormulaOp::kRemainder;
  if (b == 0 && divides) return kUndefined;
  double quotient = 0;
  double remainder = 0;
  switch (op) {
    case FormulaOp::kAdd:
      return Give(a + b, result);
    case FormulaOp::kSubtract:
      return Give(a - b, result);
    case FormulaOp::kMultiply:
      return Give(a * b, result);
    case FormulaOp::kDivide:
      return Give(a / b, result);
    case FormulaOp::kFloorDivide:
      DivideWithRemainder(a, b, &quotient, &remainder);
      return Give(quotient, result);
    case FormulaOp::kRemainder:
      DivideWithRemainder(a, b, &quotient, &remainder);
      return Give(remainder, result);
    default:
      if (a == 0 && b < 0) return kUndefined;
      if (a < 0 && b != std::floor(b)) return kUndefined;
      return Give(std::pow(a, b), result);
  }
}

}  // namespace

int Compare(Number a, Number b) {
  if (!a.is_real && !b.is_real) return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
  if (!a.is_real) return CompareWithReal(a.integer, b.real);
  if (!b.is_real) return -CompareWithReal(b.integer, a.real);
  return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}

ArithmeticOutcome Apply(FormulaOp op, Number a, Number b, Number* result) {
  // Of equal ones the first, as in Python.
  if (op == FormulaOp::kMin || op == FormulaOp::kMax) {
    const int order = Compare(b, a);
    *result = (op == FormulaOp::kMin ? order < 0 : order > 0) ? b : a;
    return kOk;
  }
  if (!a.is_real && !b.is_real) return ApplyToIntegers(op, a.integer, b.integer, result);
  return ApplyToReals(op, a.AsReal(), b.AsReal(), result);
}

ArithmeticOutcome Negate(Number a, Number* result) {
  if (a.is_real) return Give(-a.real, result);
  return a.integer == kSmallest ? kOverflow : Give(-a.integer, result);
}

ArithmeticOutcome Absolute(Number a, Number* result) {
  if (a.is_real) return Give(std::fabs(a.real), result);
  return a.integer < 0 ? Negate(a, result) : Give(a.integer, result);
}

}  // namespace mdh
