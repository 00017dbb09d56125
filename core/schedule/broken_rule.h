// Which line of a schedule breaks a rule of decompositions on a device: the constraints of
// Validate.
#pragma once

#include <optional>
#include <string>

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/schedule/schedule.h"

namespace mdh {

struct BrokenRule {
  std::optional<Decision> decision;  // that the rule is about; none: no line says it
  std::string rule;                  // "threads per block (..): 2048 > 1024"
};

// Of schedules that say a configuration completely. nullopt: it is valid, or something is left
// open, for which spaces know what contradicts.
std::optional<BrokenRule> FindBrokenRule(const Schedule& schedule, const DeviceDescription& device,
                                         NumericsPolicy numerics = NumericsPolicy::kReassociate);

// "s.sched:5: 'THR: tile i=1' breaks a rule: ...".
std::string ToText(const BrokenRule& broken, const Schedule& schedule);

}  // namespace mdh
