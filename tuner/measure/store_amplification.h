// How a store function (an epilogue) passes on the errors of the results that it takes: part of
// what a comparison with reference results tolerates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "core/expression/expression.h"

namespace mdh {

struct AmplificationOptions {
  uint64_t seed = 1;
  double point_ns = 100;  // what the interpreter takes for a point of the MDA
  int64_t limit_ns = 0;   // where not even a few results are computed in that time: a guess
  // A point at which the inputs are known, by a random number; empty: they are everywhere.
  std::function<std::vector<int64_t>(uint64_t random)> known_point = {};
};

struct StoreAmplification {
  // The largest relative error of what is stored, in units of the relative error of a result of f,
  // at some random points; at least 1, which it is without a store function. Errors count relative
  // to the value or, if that is larger, to the root mean square of all
  // (tuner/measure/results/comparison.h).
  double factor = 1;
  // The root mean squares of the results of f there; empty where none were computed.
  std::vector<double> scales = {};
};

// `inputs`: one pointer per passed input.
StoreAmplification AmplificationOf(const Expression& expression,
                                   absl::Span<const std::byte* const> inputs,
                                   const AmplificationOptions& options);

}  // namespace mdh
