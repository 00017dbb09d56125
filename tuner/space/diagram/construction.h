// Construction of a search space's graph, level by level from the first parameter to the last.
#pragma once

#include <functional>
#include <vector>

#include "tuner/space/diagram/diagram.h"
#include "tuner/space/levels/level_plan.h"

namespace mdh {

struct Construction {
  enum class Outcome {
    kComplete,
    kEmpty,        // `obstacle` ruled out the last prefix
    kOverflow,     // of `incident`
    kOutOfMemory,  // more than the bound
    kGivenUp,
  };
  Outcome outcome = Outcome::kComplete;
  LevelGraph graph;  // as far as it was built
  int obstacle = -1;
  Incident overflow;
  // The first division by zero of each constraint that divided by zero.
  std::vector<Incident> divisions_by_zero;
};

// The result does not depend on the number of threads. `gives_up`, if not empty, is asked now and
// then.
Construction Construct(const SpacePlan& plan, int64_t max_bytes, int threads,
                       const std::function<bool()>& gives_up = {});

// The positions that an incident is about, by level up to the incident's.
std::vector<uint32_t> PositionsOf(const LevelGraph& graph, const Incident& incident);

}  // namespace mdh
