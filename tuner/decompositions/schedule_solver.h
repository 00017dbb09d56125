// What decisions of a schedule leave, and which of them leave nothing together, without the space.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/schedule/schedule.h"
#include "tuner/space/solver/constraint_solver.h"

namespace mdh {

class MdhSpaceKind;

// All questions are about one space: that of the whole schedule, which offers whatever one of its
// lines names. Not thread-safe.
class ScheduleSolver {
 public:
  // Decisions are the groups of its answers, by their numbers in the schedule.
  using Answer = ConstraintSolver::Answer;

  // Errors: those of MdhSpace::Create, but nothing being left.
  static Result<ScheduleSolver> Create(const Schedule& schedule, const DeviceDescription& device,
                                       NumericsPolicy numerics, const FusedDimensions& fused);

  // Something that these decisions leave. Decisions that no formula says, and those on which
  // dimensions are fused, count as kept.
  Answer Find(const std::vector<int>& decisions, const std::function<bool()>& gives_up = {});
  // Of kFound.
  TuningParameters Decode(const Answer& answer) const;

 private:
  ScheduleSolver(std::shared_ptr<const MdhSpaceKind> kind, FusedDimensions fused);

  std::shared_ptr<const MdhSpaceKind> kind_;
  FusedDimensions fused_;
  std::unique_ptr<ConstraintSolver> solver_;
};

}  // namespace mdh
