#include "tuner/search/untried.h"

namespace mdh {
namespace {

// Draws from a space that is not counted, before it is enumerated.
constexpr int kAttempts = 200;
// Techniques that draw with the same seed shall not draw the same.
constexpr uint64_t kSalt = 0x9e3779b97f4a7c15;

}  // namespace

Untried::Untried(const SearchSpace& space, uint64_t seed) : space_(space), rng_(seed ^ kSalt) {
  if (!space_.is_lazy()) sample_.emplace(space_, seed ^ kSalt);
}

bool Untried::AllTried(int64_t tried) const {
  return !space_.is_lazy() && Count(static_cast<signed long>(tried)) >= space_.count();
}

std::optional<Configuration> Untried::Draw(
    const std::function<bool(const Configuration&)>& is_tried) {
  if (sample_) {
    while (std::optional<Configuration> drawn = sample_->Next()) {
      if (!is_tried(*drawn)) return drawn;
    }
    return std::nullopt;
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Configuration drawn = space_.Sample(rng_);
    if (!is_tried(drawn)) return drawn;
  }
  std::optional<Configuration> found;
  space_.Enumerate([&found, &is_tried](const Configuration& at) {
    if (is_tried(at)) return true;
    found = at;
    return false;
  });
  return found;
}

}  // namespace mdh
