// Rules of decompositions that decisions of a schedule break whatever the search adds to them.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/schedule/cursor.h"
#include "core/schedule/decision.h"
#include "core/schedule/names.h"

namespace mdh {

// Errors: InvalidArgument at the decision: extents that do not divide those around them, of the
// innermost layer other than 1.
Status CheckDecisions(const std::vector<Decision>& decisions, const ScheduleNames& names,
                      const ScheduleCursor& cursor);

// The groups that they fuse.
FusedDimensions FusedBy(const std::vector<Decision>& decisions);

}  // namespace mdh
