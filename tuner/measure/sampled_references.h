// References of some elements, where computing all of them takes too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "core/expression/numerics.h"
#include "tuner/measure/results/comparison.h"

namespace mdh {

struct SampleOptions {
  uint64_t seed = 1;
  Accumulation accumulation = Accumulation::kWide;
  double point_ns = 100;  // what the interpreter takes for a point, roughly
  int64_t time_limit_ns = 0;
  int64_t most_results = 4096;
  std::vector<double> distinct = {};                       // see MakeReference
  NumericsPolicy numerics = NumericsPolicy::kReassociate;  // idem
};

// The interpreter's results at corners of the index space, where kernels have their remainders, and
// at random points, as many as fit into the time; in parallel. No samples at all if not even one
// fits. One reference per output. `inputs`: one pointer per passed
// input. `amplification`: see MakeReference.
std::vector<ReferenceBuffer> SampleReferences(const Expression& expression,
                                              absl::Span<const std::byte* const> inputs,
                                              const SampleOptions& options, double tolerance,
                                              double amplification = 1);

// The samples of one output that one point gives.
ReferenceBuffer SampleResult(const Expression& expression,
                             absl::Span<const std::byte* const> inputs, int output,
                             absl::Span<const int64_t> point, Accumulation accumulation);

}  // namespace mdh
