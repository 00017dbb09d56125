// One text per computation of a scalar function: what value numbering, comparison of functions and
// the digest of expressions have in common.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// The same for two functions iff they have the same parameter and result types and the same
// instructions up to the order of independent instructions and of operands of commutative
// operations. Names are not in it.
std::string CanonicalForm(const ScalarFunction& function);

// Lower-case hexadecimal SHA-256 of any bytes: 64 characters.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace mdh
