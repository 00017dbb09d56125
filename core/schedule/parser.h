// Reads the text of a schedule.
#pragma once

#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/base/status.h"
#include "core/schedule/decision.h"
#include "core/schedule/names.h"

namespace mdh {

// The decisions in the order of the text; what is free is none. Errors: as Schedule::Parse.
Result<std::vector<Decision>> ParseDecisions(const Source& source, const ScheduleNames& names);

// "MODEL, MODEL:" behind "for": whether this model is among them, or "all".
Result<bool> ParseModels(const std::string& model, ScheduleCursor* cursor);

// "(i, j)": the dimensions of a group.
Result<std::vector<int>> ParseGroup(const ScheduleNames& names, ScheduleCursor* cursor);

}  // namespace mdh
