// How a store function (an epilogue) passes on the errors of the results that it takes: part of
// what a comparison with reference results tolerates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/expression/expression.h"

namespace mdh {

// The largest relative error of what is stored, in units of the relative error of a result of f, at
// some random points; at least 1, which it is without a store function. Errors count relative to
// the value or, if that is larger, to the root mean square of all
// (tuner/measure/results/comparison.h). `point_ns`: what the interpreter takes for a point of the
// MDA; where not even a few results are computed within `limit_ns`, a guess. `inputs`: one pointer
// per passed input.
double StoreAmplification(const Expression& expression, absl::Span<const std::byte* const> inputs,
                          uint64_t seed, double point_ns, int64_t limit_ns);

}  // namespace mdh
