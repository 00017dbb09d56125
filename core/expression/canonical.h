// Canonical form and digest of an expression: one digest per meaning.
#pragma once

#include <string>

#include "core/expression/expression.h"
#include "core/scalar/scalar_canonical.h"  // Sha256Hex

namespace mdh {

// A text that is the same for two expressions iff they differ only in names (of the expression, of
// dimensions, buffers, functions, parameters). Sizes, types, index functions, extents, operators
// and the instructions of f are in it, and the version of this format.
std::string CanonicalForm(const Expression& expression);

// Lower-case hexadecimal SHA-256 of the canonical form: 64 characters.
std::string Digest(const Expression& expression);

}  // namespace mdh
