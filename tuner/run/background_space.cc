#include "tuner/run/background_space.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "codegen/choose/default_parameters.h"
#include "tuner/decompositions/schedule_check.h"

namespace mdh {

BackgroundSpace::BackgroundSpace(const SearchTarget& target, std::launch when) : target_(target) {
  const std::vector<TuningParameters> starts =
      StartingParameters(target.expression, target.model, target.device, target.numerics);
  const Schedule* const schedule = target.schedule;
  fused_ = schedule == nullptr ? starts.front().fused : FusedUnder(*schedule, starts);
  const bool is_certain =
      schedule != nullptr ||
      std::ranges::all_of(starts, [&](const auto& start) { return start.fused == fused_; });
  if (!is_certain) return;
  const auto build = [this] { return SpaceWith(fused_); };
  try {
    building_ = std::async(when, build);
  } catch (const std::system_error&) {
    building_ = std::async(std::launch::deferred, build);  // there is no thread
  }
}

Result<MdhSpace> BackgroundSpace::Take(const TrialHistory& history) {
  if (building_.valid()) return building_.get();
  return SpaceWith(history.best().empty() ? fused_ : history.best().front().parameters.fused);
}

Result<MdhSpace> BackgroundSpace::SpaceWith(const FusedDimensions& fused) const {
  return SpaceOf(target_, fused);
}

}  // namespace mdh
