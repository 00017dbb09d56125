#include "tuner/space/cost_bound.h"

namespace mdh {

double CostBound::OfOne(absl::Span<const int64_t> configuration) const {
  std::vector<absl::Span<const int64_t>> open;
  open.reserve(configuration.size());
  for (const int64_t& code : configuration) open.emplace_back(&code, 1);
  return Of(open);
}

std::vector<std::vector<int64_t>> AllCodes(const SearchSpace& space) {
  std::vector<std::vector<int64_t>> codes;
  for (const TuningParameter& parameter : space.parameters()) {
    std::vector<int64_t>& own = codes.emplace_back();
    for (uint32_t n = 0; n < parameter.range.size(); ++n) own.push_back(parameter.range.CodeAt(n));
  }
  return codes;
}

std::vector<absl::Span<const int64_t>> SpansOf(const std::vector<std::vector<int64_t>>& codes) {
  return {codes.begin(), codes.end()};
}

}  // namespace mdh
