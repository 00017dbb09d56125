// Where a search begins, before any technique has a say.
#pragma once

#include <optional>
#include <vector>

#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/schedule/schedule.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// What a search is for; refers to all but the policy.
struct SearchTarget {
  const Expression& expression;
  const SystemModel& model;
  const DeviceDescription& device;
  NumericsPolicy numerics;
  const Schedule* schedule = nullptr;                 // what all candidates keep to
  absl::Span<const NamedDecision> restrictions = {};  // idem, of the space's parameters
};

// All that the target leaves. Errors: those of MdhSpace::Create and MdhSpace::Restricted.
Result<MdhSpace> SpaceOf(const SearchTarget& target, const FusedDimensions& fused);

// The only candidate, if the schedule says one completely.
std::optional<TuningParameters> OnlyCandidate(const SearchTarget& target);
// Why a candidate is not in the schedule.
Status KeepsToSchedule(const SearchTarget& target, const TuningParameters& parameters);

// The default configuration, `given` ones, and what else rules count as good; where calls may begin
// early, all of them in both ways, which only measuring tells the worth of. Under a schedule, those
// that are in it, or, if none is, what it leaves that is nearest to them; empty: it leaves nothing.
// Under restrictions, what they leave that is nearest to them.
std::vector<StartPoint> FirstPoints(const SearchTarget& target,
                                    const std::vector<StartPoint>& given);

// Whether it is one of those `given`, from an earlier run for the same sizes: then what this one
// gives must be no slower.
bool IsOfSameSizes(const SearchTarget& target, const std::vector<StartPoint>& given,
                   const StartPoint& point);
// Whether it can be repaired to a member of the target's space.
bool IsOfModel(const SearchTarget& target, const StartPoint& point);
// Whether it is right as it is: those of other sizes, or of other devices, may be invalid here.
bool IsValidOn(const SearchTarget& target, const StartPoint& point);

}  // namespace mdh
