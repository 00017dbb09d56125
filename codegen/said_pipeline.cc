#include "codegen/said_pipeline.h"

#include <algorithm>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "core/pipeline/schedule/fusion_conflict.h"
#include "core/schedule/complete_parameters.h"

namespace mdh {
namespace {

bool IsInNest(absl::Span<const JointGroup> groups, int step) {
  return std::ranges::any_of(groups, [&](const JointGroup& group) {
    return group.has_own_nest() && step >= group.first && step <= group.last;
  });
}

// What the schedule of a step says, or what rules have that it allows; nullopt: nothing.
std::optional<TuningParameters> StepSaidOrRules(const Schedule& schedule,
                                                const DeviceDescription& device,
                                                NumericsPolicy numerics) {
  const NumericsPolicy policy = PolicyFor(schedule.expression(), numerics);
  if (auto said = CompleteParameters(schedule, device, policy)) return said;
  for (TuningParameters& rules :
       StartingParameters(schedule.expression(), schedule.model(), device, policy)) {
    if (schedule.Allows(rules).ok()) return std::move(rules);
  }
  return std::nullopt;
}

// Of a partition with these groups.
std::optional<PipelineParameters> OfWay(const PipelineSchedule& schedule,
                                        const Partition& partition,
                                        const std::vector<JointGroup>& groups,
                                        const DeviceDescription& device, NumericsPolicy numerics) {
  const auto steps = schedule.OfSteps(partition.pipeline, groups);
  auto rules = DefaultParameters(partition.pipeline, groups, schedule.model(), device, numerics);
  if (!steps.ok() || !rules.ok()) return std::nullopt;
  PipelineParameters parameters = {partition.edges, groups, *std::move(rules)};
  for (size_t s = 0; s < steps->size(); ++s) {
    if ((*steps)[s].is_free()) continue;
    std::optional<TuningParameters> step = StepSaidOrRules((*steps)[s], device, numerics);
    if (!step) return std::nullopt;
    parameters.steps[s] = *std::move(step);
  }
  if (!schedule.AllowsGroups(partition.pipeline, groups).ok()) return std::nullopt;
  return parameters;
}

}  // namespace

Result<std::vector<std::vector<JointGroup>>> SaidGroups(const PipelineSchedule& schedule,
                                                        const Partition& partition,
                                                        const DeviceDescription& device,
                                                        size_t most) {
  return schedule.NamedGroups(
      partition.pipeline,
      [&](const JointGroup& group) {
        return WithPartByCounting(partition.pipeline, group, device);
      },
      most);
}

std::optional<PipelineParameters> CompleteParameters(const PipelineSchedule& schedule,
                                                     const DeviceDescription& device,
                                                     NumericsPolicy numerics) {
  if (!schedule.SaysEdges()) return std::nullopt;
  const std::vector<Partition> partitions = PlanPartitions(
      schedule.pipeline(), schedule.Under(PlanOptions{.may_reassociate = Reassociates(numerics)}));
  if (partitions.size() != 1) return std::nullopt;
  const Partition& partition = partitions[0];
  const auto ways = SaidGroups(schedule, partition, device, 2);
  if (!ways.ok() || ways->size() != 1) return std::nullopt;
  const std::vector<JointGroup>& groups = (*ways)[0];
  if (!schedule.SaysGroups(partition.pipeline, groups)) return std::nullopt;
  const Result<std::vector<Schedule>> steps = schedule.OfSteps(partition.pipeline, groups);
  // Steps in rows have parameters without effect.
  Result<std::vector<TuningParameters>> rules =
      DefaultParameters(partition.pipeline, groups, schedule.model(), device, numerics);
  if (!steps.ok() || !rules.ok()) return std::nullopt;
  PipelineParameters said = {partition.edges, groups, *std::move(rules)};
  for (size_t s = 0; s < steps->size(); ++s) {
    if (IsInNest(groups, static_cast<int>(s))) continue;
    const Expression& e = (*steps)[s].expression();
    std::optional<TuningParameters> step =
        CompleteParameters((*steps)[s], device, PolicyFor(e, numerics));
    if (!step) return std::nullopt;
    said.steps[s] = *std::move(step);
  }
  return said;
}

Result<PipelineParameters> SaidOrRules(const PipelineSchedule& schedule,
                                       const DeviceDescription& device, NumericsPolicy numerics) {
  constexpr size_t kMostWays = 8;
  if (auto said = CompleteParameters(schedule, device, numerics)) return *std::move(said);
  const PlanOptions options = {.may_reassociate = Reassociates(numerics)};
  if (const auto conflict = FindFusionConflict(schedule, options)) {
    return InvalidArgument(conflict->text);
  }
  for (const Partition& partition :
       PlanPartitions(schedule.pipeline(), schedule.Under(PlanOptions(options)))) {
    const auto ways = SaidGroups(schedule, partition, device, kMostWays);
    for (size_t w = 0; ways.ok() && w < ways->size(); ++w) {
      auto parameters = OfWay(schedule, partition, (*ways)[w], device, numerics);
      if (parameters) return *std::move(parameters);
    }
  }
  return FailedPrecondition(
      "no parameters of rules are in the schedule, and it leaves something to a search, which "
      "'mdh tune --schedule' does");
}

}  // namespace mdh
