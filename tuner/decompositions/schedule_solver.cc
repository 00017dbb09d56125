#include "tuner/decompositions/schedule_solver.h"

#include <utility>

#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh {
namespace {

std::unique_ptr<ConstraintSolver> SolverOf(const MdhSpaceKind& kind) {
  const SpaceBuilder& builder = kind.builder();
  std::vector<int> decisions;
  for (int n = 0; n < std::ssize(builder.constraints()); ++n) {
    decisions.push_back(kind.DecisionOf(n));
  }
  return std::make_unique<ConstraintSolver>(builder.parameters(), builder.constraints(), decisions);
}

}  // namespace

ScheduleSolver::ScheduleSolver(std::shared_ptr<const MdhSpaceKind> kind, FusedDimensions fused)
    : kind_(std::move(kind)), fused_(std::move(fused)), solver_(SolverOf(*kind_)) {}

Result<ScheduleSolver> ScheduleSolver::Create(const Schedule& schedule,
                                              const DeviceDescription& device,
                                              NumericsPolicy numerics,
                                              const FusedDimensions& fused) {
  MDH_ASSIGN_OR_RETURN(ScheduledKind made, MakeKind(schedule.expression(), schedule.model(), device,
                                                    numerics, fused, &schedule));
  return ScheduleSolver(std::move(made.kind), fused);
}

ScheduleSolver::Answer ScheduleSolver::Find(const std::vector<int>& decisions,
                                            const std::function<bool()>& gives_up) {
  return solver_->Find(decisions, gives_up);
}

TuningParameters ScheduleSolver::Decode(const Answer& answer) const {
  TuningParameters parameters = kind_->Decode(answer.configuration);
  parameters.fused = fused_;
  return parameters;
}

}  // namespace mdh
