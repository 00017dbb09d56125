// A check by samples that a custom combine operator may be applied in any order (paper,
// Section 2.2).
#pragma once

#include <optional>

#include "core/scalar_function.h"
#include "core/scalar_value.h"
#include "core/status.h"

namespace mdh {

// `f`: of type T x T -> T. Tries commutativity, associativity and the neutral element on a few
// small values: a mistake such as a - b is found, a proof it is not. Floating-point results are
// compared with tolerance, and samples on which f is not finite prove nothing. Errors:
// InvalidArgument with a counterexample.
Status CheckCombineLaws(const ScalarFunction& f, const std::optional<ScalarValue>& identity);

}  // namespace mdh
