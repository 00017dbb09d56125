// The space of a search, which may take seconds to build.
#pragma once

#include <future>

#include "core/base/status.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/run/first_points.h"
#include "tuner/run/trial_history.h"

namespace mdh {

// Refers to what the target refers to.
class BackgroundSpace {
 public:
  // Where rules agree which dimensions to fuse, std::launch::async begins at once, beside what the
  // caller does: a device other than the host's cores need not wait for it.
  BackgroundSpace(const SearchTarget& target, std::launch when);
  // Waits for it. Where rules do not agree the best of what was measured says which dimensions to
  // fuse. Once.
  Result<MdhSpace> Take(const TrialHistory& history);

 private:
  Result<MdhSpace> SpaceWith(const FusedDimensions& fused) const;

  const SearchTarget target_;
  FusedDimensions fused_;  // of the default
  std::future<Result<MdhSpace>> building_;
};

}  // namespace mdh
