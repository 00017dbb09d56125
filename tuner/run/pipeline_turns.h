// Whole kernels of a pipeline, measured in turns: which of them is the best.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
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
  // In turns. The fastest first; those that failed last.
  std::vector<MeasuredPipeline> measured;
  // That were only searched, in order to find some of these.
  int64_t searched = 0, failed_searched = 0;
  int64_t unfused_ns = 0;  // of the fastest unfused one in the same turns; 0: all of them failed
  int64_t default_ns = 0;  // of the first candidate; 0: it failed

  const MeasuredPipeline& best() const { return measured.front(); }
};

// Whether it has at most kMostPointsOfSmall points, in all of its steps together.
bool HasFewPoints(const Pipeline& pipeline);

// What to try besides, as long as there is time.
class MorePipelines {
 public:
  virtual ~MorePipelines() = default;
  // The next one; several may be under way. nullopt: nothing before more is told, or, if nothing is
  // under way, any more.
  virtual std::optional<PipelineCandidate> Next() = 0;
  // What was measured, also of those that it did not ask for.
  virtual void Tell(const PipelineCandidate& candidate, const Measurement& measurement) = 0;
};

// As MeasureFinalists: in turns on one device, each result checked. As the unfused kernel is among
// the candidates, the best one is at least as fast as that, as measured. The best is marked as
// disturbed if it, or the fastest unfused one, is. Of `options` seed, numerics, measure, on_step
// and the duration in `abort` count: what was not measured by then, in the order of the candidates,
// and kMostOverrunNs more, is left out; of large pipelines results are compared with samples where
// more takes too long (Problem::Create). Small ones, of at most 1e6 points, wait longer for a
// machine that does other things, where nothing is measured yet. With what is left of the duration
// what `more` has is measured, each once and several in work at a time as in Tune; at the end the
// few that may be faster in turns with the fastest of the others, the first candidate and the
// fastest unfused one. Errors: DeadlineExceeded if
// nothing was measured by then; FailedPrecondition if every kernel fails, saying how; those of
// MeasureFinalists.
Result<PipelineTurns> MeasureInTurns(Runner& runner, const Pipeline& pipeline,
                                     std::vector<PipelineCandidate> candidates,
                                     const TuningOptions& options,
                                     const std::atomic<bool>& cancelled,
                                     MorePipelines* more = nullptr);

}  // namespace mdh
