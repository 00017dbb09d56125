// Parameters of pipelines that a schedule says, as far as rules complete it.
#pragma once

#include <optional>
#include <vector>

#include "core/device/device_description.h"
#include "core/expression/numerics.h"
#include "core/pipeline/schedule/pipeline_schedule.h"

namespace mdh {

// The parameters that the schedule says completely; nullopt: it leaves something open, or code
// cannot be generated for what it says.
std::optional<PipelineParameters> CompleteParameters(
    const PipelineSchedule& schedule, const DeviceDescription& device,
    NumericsPolicy numerics = NumericsPolicy::kReassociate);

// The same, or where the schedule leaves something open the first way of rules that it allows.
// Errors: InvalidArgument if it leaves no partition, with the reason; FailedPrecondition if no
// parameters of rules are in it.
Result<PipelineParameters> SaidOrRules(const PipelineSchedule& schedule,
                                       const DeviceDescription& device,
                                       NumericsPolicy numerics = NumericsPolicy::kReassociate);

// Groups of steps of a partition that the schedule names, with parts by counting where it leaves
// them open; at most `most` ways. Where it names none, only that of no group. Errors: as
// PipelineSchedule::NamedGroups.
Result<std::vector<std::vector<JointGroup>>> SaidGroups(const PipelineSchedule& schedule,
                                                        const Partition& partition,
                                                        const DeviceDescription& device,
                                                        size_t most);

}  // namespace mdh
