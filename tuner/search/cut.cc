#include "tuner/search/cut.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mdh {
namespace {

// Rejected ones that are remembered.
constexpr size_t kMostRemembered = size_t{1} << 19;

}  // namespace

SearchCut::SearchCut(const SearchSpace& space, std::shared_ptr<const CostBound> bound, double gap,
                     std::optional<double> incumbent)
    : gap_(gap), bound_(std::move(bound)) {
  if (!is_on()) return;
  const std::vector<std::vector<int64_t>> codes = AllCodes(space);
  space_bound_ = bound_->Of(SpansOf(codes));
  if (incumbent.has_value()) Know(*incumbent);
}

void SearchCut::Know(double cost) {
  best_ = std::min(best_, cost);
  threshold_ = Threshold(best_);
}

void SearchCut::Learn(const Configuration& configuration, Cost cost) {
  if (!is_on() || !cost.has_value()) return;
  Know(*cost);
  if (*cost >= bound_->OfOne(configuration)) return;
  is_contradicted_ = true;
  bound_ = nullptr;
  space_bound_ = 0;
  rejected_.clear();
}

std::optional<double> SearchCut::Reject(const Configuration& configuration) {
  if (!is_on() || best_ == std::numeric_limits<double>::infinity()) return std::nullopt;
  const double bound = bound_->OfOne(configuration);
  if (bound < threshold_) return std::nullopt;
  if (rejected_.size() < kMostRemembered) rejected_.insert(configuration);
  return std::max(bound, best_);
}

}  // namespace mdh
