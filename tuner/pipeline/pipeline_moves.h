// What a search for a pipeline tries once some whole kernels were measured: what is near the
// fastest ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/numerics.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "tuner/pipeline/step_moves.h"
#include "tuner/run/pipeline_candidates.h"
#include "tuner/run/pipeline_turns.h"

namespace mdh {

struct PipelineMoveOptions {
  NumericsPolicy numerics = NumericsPolicy::kReassociate;
  const PipelineSchedule* schedule = nullptr;  // what all of them keep to; null: nothing
  size_t most = 0;  // candidates, those that were measured before included; 0: no limit
  std::string technique = "auc_bandit";  // for the space of a step
  uint64_t seed = 1;
};

// From the fastest kernels that it was told of: JointMoves of their groups, and of each step that
// runs by itself other ways to compute it (StepMoves). What is fused alike, with the same groups,
// is searched as one. The fastest has most turns, those behind it the fewer the slower they are,
// and a step as many as it costs. What the generator refuses, the schedule does not allow or was
// told or given before is not given. Refers to the pipeline and the schedule. Not thread-safe.
class PipelineMoves final : public MorePipelines {
 public:
  PipelineMoves(const Pipeline& pipeline, DeviceDescription device,
                const PipelineMoveOptions& options);

  std::optional<PipelineCandidate> Next() override;
  void Tell(const PipelineCandidate& candidate, const Measurement& measurement) override;

 private:
  struct SearchedStep {
    size_t number;  // in the partition
    double share;   // of the turns
    int turns = 0;
    // What its fastest one is told to cost: differences between kernels that have the other steps
    // in common are those of a step.
    int64_t cost_ns;
    std::unique_ptr<StepMoves> moves;
  };
  // Kernels that are fused alike, with the same groups.
  struct Kind {
    PipelineCandidate best;
    int64_t best_ns;
    bool has_steps = false;              // whether `steps` are there
    std::list<SearchedStep> steps = {};  // that run by themselves
    int turns = 0;
  };
  // Whom a kernel is for.
  struct Origin {
    Kind* kind;
    SearchedStep* step;
    Candidate candidate;   // of the step
    int64_t base_ns;       // of the kernel that it is a change of
    int64_t base_cost_ns;  // of the step in it
  };
  using Move = std::pair<PipelineCandidate, PipelineParameters>;  // from, to
  // A kernel with groups, whose neighbours may be tried.
  struct Place {
    PipelineCandidate candidate;
    int64_t time_ns;
    bool is_expanded = false;
  };

  bool HasRoom() const { return options_.most == 0 || known_.size() < options_.most; }
  void AddSteps(Kind& kind) const;
  std::optional<PipelineCandidate> Make(const PipelineCandidate& from,
                                        PipelineParameters moved) const;
  std::optional<PipelineCandidate> NextOf(std::deque<Move>& moves);
  std::optional<PipelineCandidate> NextOfGroups(double worth);
  std::optional<PipelineCandidate> NextOfSteps();
  std::optional<PipelineCandidate> NextOf(Kind& kind);
  std::optional<PipelineCandidate> NextOf(Kind& kind, SearchedStep& step);
  void TellStep(const Origin& origin, const PipelineCandidate& candidate,
                const Measurement& measurement);

  const Pipeline& pipeline_;
  const DeviceDescription device_;
  const SystemModel model_;
  const PipelineMoveOptions options_;
  // By identity of the kernel; nullopt: it is not measured yet.
  std::map<std::string, std::optional<Measurement>> known_;
  std::multimap<std::string, Origin> origins_;  // by identity; of kernels that are not measured yet
  std::list<Kind> kinds_;
  int64_t best_ns_ = 0;        // of all; 0: none was right
  std::vector<Place> places_;  // the fastest first
  std::deque<Move> moves_;     // of groups
  std::deque<Move> both_;      // of steps that became faster at the same time
  int turns_ = 0;
};

}  // namespace mdh
