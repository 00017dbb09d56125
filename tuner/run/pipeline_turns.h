// Whole kernels of a pipeline, measured in turns: which of them is the best.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.h"
#include "tuner/measure/results/measurement.h"
#include "tuner/run/pipeline_candidates.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

struct MeasuredPipeline {
  PipelineCandidate candidate;
  Measurement measurement;
};

struct PipelineTurns {
  // The fastest first; those that failed last.
  std::vector<MeasuredPipeline> measured;
  int64_t unfused_ns = 0;  // of the fastest unfused one in the same turns; 0: all of them failed
  int64_t default_ns = 0;  // of the first candidate; 0: it failed

  const MeasuredPipeline& best() const { return measured.front(); }
};

// Whether it has at most kMostPointsOfSmall points, in all of its steps together.
bool HasFewPoints(const Pipeline& pipeline);

// What to try besides, from the fastest one so far: asked again whenever there is a faster one.
// Empty: nothing.
using MorePipelines = std::function<std::vector<PipelineCandidate>(const PipelineCandidate& best)>;

// As MeasureFinalists: in turns on one device, each result checked. As the unfused kernel is among
// the candidates, the best one is at least as fast as that, as measured. The best is marked as
// disturbed if it, or the fastest unfused one, is. Of `options` seed, numerics, measure, on_step
// and the duration in `abort` count: what was not measured by then, in the order of the candidates,
// and kMostOverrunNs more, is left out; of large pipelines results are compared with samples where
// more takes too long (Problem::Create). Small ones, of at most 1e6 points, wait longer for a
// machine that does other things, where nothing is measured yet. With what is left of the duration
// `more` is climbed, as long as it leads to faster ones: each of these is measured once, and those
// that may be faster in turns with the fastest; at the end that one again with the first candidate
// and the fastest unfused one. Errors: DeadlineExceeded if
// nothing was measured by then; FailedPrecondition if every kernel fails, saying how; those of
// MeasureFinalists.
Result<PipelineTurns> MeasureInTurns(Runner& runner, const Pipeline& pipeline,
                                     std::vector<PipelineCandidate> candidates,
                                     const TuningOptions& options,
                                     const std::atomic<bool>& cancelled,
                                     const MorePipelines& more = {});

}  // namespace mdh
