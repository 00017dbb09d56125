// What to try of a pipeline once some kernels of it have been measured: the neighbourhood of the
// best one.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/device/device_description.h"
#include "core/expression/numerics.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "tuner/run/pipeline_candidates.h"

namespace mdh {

struct PipelineMoveOptions {
  NumericsPolicy numerics = NumericsPolicy::kReassociate;
  const PipelineSchedule* schedule = nullptr;  // what all of them keep to; null: nothing
  size_t most = 0;  // candidates, those that were measured included; 0: no limit
};

// Refers to the pipeline and the schedule. Not thread-safe.
class PipelineMoves {
 public:
  // `measured`: what is not to be tried again.
  PipelineMoves(const Pipeline& pipeline, DeviceDescription device,
                const std::vector<PipelineCandidate>& measured, const PipelineMoveOptions& options);

  // JointMoves from there that keep to the schedule, but those the generator refuses and those that
  // were given before: empty where `best` has no groups.
  std::vector<PipelineCandidate> From(const PipelineCandidate& best);

 private:
  const Pipeline& pipeline_;
  const DeviceDescription device_;
  const PipelineMoveOptions options_;
  std::set<std::string> known_;  // identities of kernels
};

}  // namespace mdh
