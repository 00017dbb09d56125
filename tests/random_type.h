// Random types of buffers, and the bounds that keep values of a type exact.
#pragma once

#include <string>
#include <vector>

#include "core/expression/element_type.h"
#include "tests/random_expression.h"

namespace mdh {

ScalarType RandomScalarType(Rng& rng, const RandomExpressionOptions& options);
// Mostly a scalar.
ElementType RandomElementType(Rng& rng, const RandomExpressionOptions& options);

// Up to this magnitude all integers are values of the floating-point type.
double LargestExact(ScalarType type);

// A whole number from -2 to 2, or 0 to 4 if the type is unsigned.
ScalarValue SmallConstant(Rng& rng, ScalarType type);
// `value`, a small whole number, of any type but bool.
ScalarValue NumberOf(ScalarType type, int64_t value);

// What stands for `access` to elements of `type`: "x", or "x.field" for every field of a record.
std::vector<TypedName> NamesOf(const std::string& access, const ElementType& type);

}  // namespace mdh
