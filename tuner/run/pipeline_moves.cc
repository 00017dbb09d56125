#include "tuner/run/pipeline_moves.h"

#include <utility>

#include "codegen/joint_moves.h"
#include "core/device/system_model.h"
#include "tuner/run/trial_history.h"

namespace mdh {

PipelineMoves::PipelineMoves(const Pipeline& pipeline, DeviceDescription device,
                             const std::vector<PipelineCandidate>& measured,
                             const PipelineMoveOptions& options)
    : pipeline_(pipeline), device_(std::move(device)), options_(options) {
  for (const PipelineCandidate& candidate : measured) known_.insert(IdentityOf(candidate.kernel));
}

std::vector<PipelineCandidate> PipelineMoves::From(const PipelineCandidate& best) {
  std::vector<PipelineCandidate> candidates;
  for (PipelineParameters& moved :
       JointMoves(best.partition, best.parameters, TuningModel(device_.kind), device_,
                  options_.numerics)) {
    if (options_.most > 0 && known_.size() >= options_.most) break;
    if (options_.schedule != nullptr && !options_.schedule->Allows(moved).ok()) continue;
    Result<ConfiguredPipeline> configured = ConfigurePipeline(pipeline_, device_, moved);
    if (!configured.ok() || !known_.insert(IdentityOf(configured->kernel)).second) continue;
    // Of steps that are computed in other ways nothing is known.
    std::vector<KnownStep> steps;
    for (size_t s = 0; s < moved.steps.size(); ++s) {
      const bool is_same = moved.steps[s] == best.parameters.steps[s];
      steps.push_back(is_same ? best.steps[s] : KnownStep{moved.steps[s]});
    }
    candidates.push_back(
        {best.partition, std::move(moved), std::move(steps), std::move(configured->kernel)});
  }
  return candidates;
}

}  // namespace mdh
