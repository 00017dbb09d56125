// Why a schedule leaves no partition of its pipeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/pipeline/schedule/pipeline_schedule.h"

namespace mdh {

// Lines about what is fused of which none can be left out: without any of them, there is a
// partition; once it is late, perhaps more, which the text says.
struct FusionConflict {
  std::vector<int> lines;
  // "s.sched:5: 'edge a -> b = inline' leaves nothing: REASON"; "s.sched:2: '..', s.sched:5: '..'
  // contradict each other: no partition has all of them".
  std::string text;
};

// nullopt: there are partitions.
std::optional<FusionConflict> FindFusionConflict(const PipelineSchedule& schedule,
                                                 const PlanOptions& options = {});

}  // namespace mdh
