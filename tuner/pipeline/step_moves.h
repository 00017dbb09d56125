// What a search for a pipeline tries of one of its steps, while the others stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/schedule/schedule.h"
#include "tuner/run/design_turns.h"
#include "tuner/run/first_points.h"
#include "tuner/run/trial_history.h"
#include "tuner/search/search.h"

namespace mdh {

struct StepMoveOptions {
  NumericsPolicy numerics = NumericsPolicy::kReassociate;
  // What all of them keep to, and where configurations come from once designs help no more.
  std::optional<Schedule> schedule = std::nullopt;
  std::string technique = "auc_bandit";
  uint64_t seed = 1;
  int lookahead = 8;  // of the technique
};

// In the order in which Tune tries them: what rules count as good, designs that a model of the
// device holds to be good and what is near the best of them, and then the whole space with a
// technique. Measured is the pipeline; costs are told as if the other steps had stayed as they were
// at first. Not thread-safe.
class StepMoves {
 public:
  // `from`: the parameters that the step has before.
  StepMoves(Expression step, SystemModel model, DeviceDescription device, TuningParameters from,
            StepMoveOptions options);
  StepMoves(const StepMoves&) = delete;
  StepMoves& operator=(const StepMoves&) = delete;
  ~StepMoves();

  // The next one, without code; several may be under way. nullopt: nothing before more is told, or,
  // if nothing is under way, any more.
  std::optional<Candidate> Ask();
  // What became of it: with the kernel of the pipeline that it was measured in, and the outcome;
  // without a kernel there was no code. `cost_ns` counts only where that is kOk.
  void Tell(Candidate candidate, int64_t cost_ns);

 private:
  std::optional<Candidate> Next();
  std::optional<Candidate> NextOfSpace();
  // Whether there is a search, now.
  bool HasSearch();

  const Expression step_;
  const SystemModel model_;
  const DeviceDescription device_;
  const StepMoveOptions options_;
  const SearchTarget target_;
  const TuningParameters from_;
  const std::vector<StartPoint> first_;  // from_ and rules' ones
  size_t next_first_ = 0;
  std::unique_ptr<DesignTurns> designs_;  // null: none, or they are done
  bool has_begun_search_ = false;
  std::optional<MdhSpace> space_;
  std::optional<Search> search_;
  TrialHistory history_{/*finalists=*/3};
  int under_way_ = 0;
};

}  // namespace mdh
