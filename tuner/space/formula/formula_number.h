// Numbers of formulas and their arithmetic, which is that of Python 3: integers and reals mix,
// comparisons are exact. Everything that evaluates formulas uses these functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "tuner/space/formula/formula.h"

namespace mdh {

// An integer, or a finite real.
struct Number {
  Number() : is_real(false), integer(0) {}
  explicit Number(int64_t value) : is_real(false), integer(value) {}
  explicit Number(double value) : is_real(true), real(value) {}

  bool is_real;
  union {
    int64_t integer;
    double real;
  };

  double AsReal() const { return is_real ? real : static_cast<double>(integer); }
};

enum class ArithmeticOutcome : uint8_t {
  kOk,
  kUndefined,  // division by zero; a negative number to a broken power
  kOverflow,   // of 64 bits, or of double
};

// Negative, 0 or positive: a < b, a == b, a > b. Exact.
int Compare(Number a, Number b);

// a op b for kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kRemainder, kPower, kMin, kMax,
// and, on integers, kCeilDivide and kDivides (1 or 0). `result` is written if the outcome is kOk.
ArithmeticOutcome Apply(FormulaOp op, Number a, Number b, Number* result);

// -a and |a|.
ArithmeticOutcome Negate(Number a, Number* result);
ArithmeticOutcome Absolute(Number a, Number* result);

// Division of integers that rounds towards minus infinity, and its remainder, which has the sign of
// the divisor. Expects b != 0, and not the smallest integer divided by -1.
inline int64_t FloorQuotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
inline int64_t FloorRemainder(int64_t a, int64_t b) {
  const int64_t remainder = a % b;
  return remainder != 0 && (a < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace mdh
