// What a schedule leaves to the search: how many configurations, one of them, and, where none is
// left, which of its lines contradict each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/schedule/schedule.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Lines of which none can be left out: without any of them, something remains.
struct ScheduleConflict {
  std::vector<int> lines = {};     // of the schedule's text, ascending
  bool is_minimal = true;          // else time ran out before all were tried
  std::string constraint = {};     // that leaves nothing, as spaces call it
  int without_line = 0;            // of them, and
  std::string count_without = {};  // what remains without it, as people read it: "3.1e9"
  // Of Validate, that the line breaks: of schedules that say all. Then there is nothing else.
  std::string rule = {};
  // "lines 3, 5 and 8 contradict each other under 'CONSTRAINT'; without line 8 there are 3.1e9
  // configurations". "s.sched:5: 'THR: tile i=1' breaks a rule: RULE".
  std::string ToText() const;
};

struct ScheduleCheck {
  std::string canonical;  // Schedule::CanonicalText
  // Configurations that are left: 0 if there is a conflict, or they could not be counted.
  Count count = 0;
  // Whether it is exact; else some of them are not in the schedule, and searches leave them out, or
  // only those of rules are known.
  bool is_exact = true;
  std::string example = {};  // text of parameters; empty if none is known
  std::vector<ScheduleConflict> conflicts = {};
};

// The groups of dimensions that a search under the schedule runs through as one: those of the first
// of `starts`, from rules, that it leaves; else those that it names.
FusedDimensions FusedUnder(const Schedule& schedule, absl::Span<const TuningParameters> starts);

// The search for a conflict takes `most_ms` at most, and then says that it is not shown to be
// minimal; nullopt: nobody asks for conflicts. Errors: those of MdhSpace::Create but for nothing
// being left.
Result<ScheduleCheck> CheckSchedule(const DeviceDescription& device, const Schedule& schedule,
                                    NumericsPolicy numerics = NumericsPolicy::kReassociate,
                                    std::optional<int64_t> most_ms = 2000);

}  // namespace mdh
