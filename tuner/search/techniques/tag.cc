// Threshold ascent on graphs (De Mesmay et al. 2009), as Telamon searches: who gave the best of the
// costs seen below a node is asked again.
#include <cmath>

#include "tuner/search/techniques/technique_makers.h"
#include "tuner/search/techniques/tree_search.h"

namespace mdh {
namespace {

class Tag final : public TreeSearch {
  // An upper bound on the share of a child's visits that are among the best, with high probability.
  double Score(const Choice& choice) const override {
    double successes = 0;
    for (const Seen& seen : choice.parent.best) successes += seen.child == choice.number ? 1 : 0;
    const double alpha = std::log(2 * static_cast<double>(choice.parent.visits) *
                                  static_cast<double>(choice.children));
    return (successes + alpha + std::sqrt(2 * successes * alpha + alpha * alpha)) /
           static_cast<double>(choice.child.visits);
  }
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeTag() { return std::make_unique<Tag>(); }

}  // namespace mdh
