// The notation of schedules in A. Rasch et al., "(De/Re)-Compositions Expressed Systematically via
// MDH-Based Schedules" (CC 2023), Section 5: steps
//   N: (de/re)-comp( SIZES )( INPUTS ; OUTPUTS )( TAGS )
// each of which cuts what the one before it leaves, and stands at place N of the loop nest.
#pragma once

#include <string>

#include "core/base/source.h"
#include "core/base/status.h"
#include "core/schedule/names.h"

namespace mdh {

// Whether a text begins with such a step; comments begin with `//` or `#`.
bool IsInSteps(absl::string_view text);

// The same as lines of a schedule. Steps of cores are those layers; steps of loops (FOR) become
// memory layers, those that cut different dimensions the same one, as far outside as steps that cut
// the same dimensions before them allow. `?` leaves a size open, `^` is as the step before, `{..}`
// one of these. A buffer that a step puts somewhere is there from the next loop on. Errors:
// InvalidArgument at the place: what cannot be read, names that there are not, steps for which the
// model has no layer left.
Result<std::string> LinesOfSteps(const Source& source, const ScheduleNames& names);

}  // namespace mdh
