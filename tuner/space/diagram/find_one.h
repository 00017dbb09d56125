// A way through the levels of a search space that satisfies all constraints, without its graph.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tuner/space/levels/level_plan.h"

namespace mdh {

struct FoundOne {
  enum class Outcome : uint8_t {
    kFound,
    kEmpty,    // there is none
    kUnknown,  // more memory is needed to tell
    kGivenUp,
  };
  Outcome outcome = Outcome::kFound;
  std::vector<uint32_t> positions = {};  // by level
};

// Some descents, in other orders each; if they meet too many prefixes without completions, level by
// level. `gives_up`, if not empty, is asked now and then. Where constraints are undefined they do
// not hold.
FoundOne FindOne(const SpacePlan& plan, int64_t max_bytes, const std::function<bool()>& gives_up);

}  // namespace mdh
