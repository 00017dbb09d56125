// Alternatives of two selections of which at most one is taken.
#pragma once

#include "core/scalar/scalar_function.h"

namespace mdh {

// The same function, bit for bit, in which alternatives of selections that exclude each other are
// computed once. With M = max(a, b), or another extreme of two values, one of a and b is M, so that
//
//   s * (a == M ? 1 : exp(a - M)) + t * (b == M ? 1 : exp(b - M))
//
// needs one exponential, that of the other one. If one of them is nan, M is nan, and both
// alternatives are what exp makes of it; or M is the other one, where extremes leave nan out. Only
// for alternatives with functions of a library, for which a selection more is cheap.
ScalarFunction ShareAlternatives(const ScalarFunction& function);

}  // namespace mdh
