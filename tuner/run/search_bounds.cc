#include "tuner/run/search_bounds.h"

#include <memory>
#include <utility>

#include "tuner/decompositions/mdh_bound.h"
#include "tuner/decompositions/mdh_estimate.h"

namespace mdh {

bool IsWithinGap(const Expression& expression, const TuningOptions& options, int64_t best_ns) {
  if (options.gap == 0 || !options.bounds.has_value() || best_ns == 0) return false;
  const auto& [device, rates, question] = *options.bounds;
  const double least_ns = ProblemBoundOf(expression, device, rates, question).time_ns();
  const auto best = static_cast<double>(best_ns);
  return least_ns >= best * (1 - options.gap) && least_ns <= best;
}

void SetBounds(const MdhSpace& space, const Expression& expression, const TuningOptions& options,
               int64_t best_ns, SearchOptions& search) {
  search.estimate = MdhEstimateOf(space);
  if (!options.bounds.has_value()) return;
  auto bound = std::make_shared<const MdhBound>(space, expression, *options.bounds);
  search.gap = options.gap;
  if (best_ns > 0) search.incumbent = static_cast<double>(best_ns);
  // A kernel that is faster than any can be proves the bound wrong.
  if (best_ns > 0 && *search.incumbent < bound->problem_ns()) return;
  search.bound = std::move(bound);
}

CutFigures CutOf(const Search& search, const TuningOptions& options) {
  CutFigures cut = search.cut();
  cut.is_contradicted |= options.bounds.has_value() && search.options().bound == nullptr;
  return cut;
}

bool HasSoughtAll(const TuningOptions& options, const CutFigures& cut) {
  return options.gap == 0 || cut.proven_worse == 0;
}

}  // namespace mdh
