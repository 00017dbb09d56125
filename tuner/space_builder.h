// The space of a search, which may take seconds to build.
#pragma once

#include <future>

#include "core/fuse_dimensions.h"
#include "core/status.h"
#include "tuner/first_points.h"
#include "tuner/mdh_space.h"
#include "tuner/trial_book.h"

namespace mdh {

// Refers to what the target refers to.
class SpaceBuilder {
 public:
  // Where it is certain which space it will be, std::launch::async begins at once, beside what the
  // caller does: a device other than the host's cores need not wait for it.
  SpaceBuilder(const SearchTarget& target, std::launch when);
  // False where rules do not agree which dimensions to fuse.
  bool is_certain() const { return is_certain_; }
  // Waits for it; then the best of what was measured says which dimensions to fuse. Once.
  Result<MdhSpace> Take(const TrialBook& book);

 private:
  Result<MdhSpace> SpaceWith(const FusedDimensions& fused) const;

  const SearchTarget target_;
  FusedDimensions fused_;  // of the default
  bool is_certain_ = false;
  std::future<Result<MdhSpace>> building_;
};

}  // namespace mdh
