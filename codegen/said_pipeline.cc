#include "codegen/said_pipeline.h"

#include <utility>

#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "core/schedule/complete_parameters.h"

namespace mdh {

Result<std::vector<std::vector<JointGroup>>> SaidGroups(const PipelineSchedule& schedule,
                                                        const Partition& partition,
                                                        const DeviceDescription& device,
                                                        size_t most) {
  return schedule.NamedGroups(
      partition.pipeline,
      [&](const JointGroup& group) { return WithUsualPart(partition.pipeline, group, device); },
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
    bool is_in_rows = false;
    for (const JointGroup& group : groups) {
      is_in_rows |=
          group.rows && static_cast<int>(s) >= group.first && static_cast<int>(s) <= group.last;
    }
    if (is_in_rows) continue;
    const Expression& e = (*steps)[s].expression();
    std::optional<TuningParameters> step =
        CompleteParameters((*steps)[s], device, PolicyFor(e, numerics));
    if (!step) return std::nullopt;
    said.steps[s] = *std::move(step);
  }
  return said;
}

}  // namespace mdh
