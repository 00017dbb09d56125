#include "tuner/decompositions/mdh_bound.h"

#include <algorithm>
#include <utility>

namespace mdh {

MdhBound::MdhBound(MdhSpace space, const Expression& computation, const BoundFacts& facts)
    : space_(std::move(space)),
      design_(space_.divided(), facts.device, facts.rates, facts.question.numerics),
      problem_(ProblemBoundOf(computation, facts.device, facts.rates, facts.question)) {}

double MdhBound::Of(OpenCodes open) const {
  return std::max(problem_.time_ns(), design_.TimeNs(space_.RangesOf(open)));
}

ProblemBound MdhBound::Explain(OpenCodes open) const {
  ProblemBound bound = problem_;
  for (Floor& floor : design_.Floors(space_.RangesOf(open))) {
    bound.floors.push_back(std::move(floor));
  }
  std::ranges::stable_sort(bound.floors, std::ranges::greater{}, &Floor::time_ns);
  return bound;
}

std::vector<std::vector<int64_t>> RemainingCodes(const PartialConfiguration& partial) {
  std::vector<std::vector<int64_t>> codes(partial.space().parameters().size());
  for (size_t n = 0; n < codes.size(); ++n) {
    for (const ValueCount& value : partial.Remaining(static_cast<int>(n))) {
      codes[n].push_back(value.code);
    }
  }
  return codes;
}

}  // namespace mdh
