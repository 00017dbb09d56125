// Decisions as the text of a schedule.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "core/schedule/decision.h"
#include "core/schedule/names.h"

namespace mdh {

// The value of a decision of that kind as the text form spells it.
std::string ValueText(const Decision& decision, const ChoiceValue& value,
                      const ScheduleNames& names);
// A line that says this decision alone.
std::string LineText(const Decision& decision, const ScheduleNames& names);
// Lines that say all of them, in an order that does not depend on that of the decisions; those of a
// layer, of a buffer and all options share a line.
std::string LinesText(absl::Span<const Decision> decisions, const ScheduleNames& names);

}  // namespace mdh
