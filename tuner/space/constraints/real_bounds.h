// Arithmetic of formulas on reals and on bounds of reals. Rounding is monotone, so the ends of
// intervals bound all rounded results.
#pragma once

#include "tuner/space/constraints/bounds.h"

namespace mdh {

// Python's // and % of floats: the remainder has the sign of b. Expect b != 0.
double FloorQuotient(double a, double b);
double FloorRemainder(double a, double b);

// Both functions: of two reals that are defined.
void EvaluateRealPoint(OperationCode code, double a, double b, Bounds& result);
void EvaluateRealBounds(OperationCode code, const Bounds& a, const Bounds& b, Bounds& result);

}  // namespace mdh
