// References of some results of a pipeline, where computing all of them takes too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/interpreter.h"
#include "core/pipeline/pipeline.h"
#include "tuner/measure/results/comparison.h"

namespace mdh {

// How often what rounding intermediates, or errors in them, change may be found in results: errors
// add up in other ways than those that were tried.
inline constexpr double kSlackOfRounding = 4;
inline constexpr double kSlackOfErrors = 2;

// Makes a value as far off as a kernel's may be, this way or that as `number` decides. `element`:
// of the buffer that the field belongs to.
void AddError(const ReferenceField& field, uint64_t number, std::byte* element);

// The number of the error that element 0 of an output of a step is given; those of others are
// numbered by it and theirs, with an exclusive or.
uint64_t NumberOfErrors(uint64_t seed, int step, int output);

// What the results of each step are compared by, per output.
using ReferencesOfSteps = std::vector<std::vector<ReferenceBuffer>>;

// Whether kernels of some step may err.
bool HasTolerance(const ReferencesOfSteps& references);

struct PipelineSampleOptions {
  uint64_t seed = 1;
  Accumulation accumulation = Accumulation::kWide;
  int64_t time_limit_ns = 0;
  int64_t most_results = 4096;                            // per output
  std::vector<std::vector<double>> distinct;              // per step; see MakeReference
  std::function<double(const Expression&)> tolerance_of;  // of a step; see MakeReference
};

// Chosen results, as many as fit into the time: corners of the outputs' index spaces, random
// points, and for each of these others that differ in one dimension, along dimensions in which most
// of what they are computed from is the same (numbers of one row). What they are
// computed from is found backwards (DemandedPoints), and only that is interpreted, by all cores:
// once with wide intermediates, which is the reference, once with rounded ones, and once with
// errors in them, as Problem says of whole references. No samples at all if not even one fits. One
// reference per output of the pipeline; `inputs`: one pointer per input of it. Errors:
// ResourceExhausted if there is no memory.
Result<std::vector<ReferenceBuffer>> SamplePipeline(const Pipeline& pipeline,
                                                    absl::Span<const std::byte* const> inputs,
                                                    const PipelineSampleOptions& options);

// The samples of one result of output number `output`: `point` is one of the step that writes it.
// Without any where that takes longer than the time limit.
Result<ReferenceBuffer> SampleResult(const Pipeline& pipeline,
                                     absl::Span<const std::byte* const> inputs, size_t output,
                                     absl::Span<const int64_t> point,
                                     const PipelineSampleOptions& options);

}  // namespace mdh
