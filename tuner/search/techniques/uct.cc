// Upper confidence bounds applied to trees (Kocsis and Szepesvari 2006), of the best cost below a
// node, as an optimum is looked for, and no mean.
#include <cmath>

#include "tuner/search/techniques/technique_makers.h"
#include "tuner/search/techniques/tree_search.h"

namespace mdh {
namespace {

constexpr double kTreeExploration = 0.3;

class Uct final : public TreeSearch {
  double Score(const Choice& choice) const override {
    const double exploration = std::sqrt(std::log(static_cast<double>(choice.parent.visits)) /
                                         static_cast<double>(choice.child.visits));
    return Reward(choice.child) + kTreeExploration * exploration;
  }

  // 1 for the best cost known, 0 for the worst; of positive costs by orders of magnitude.
  double Reward(const Branch& branch) const {
    if (branch.best.empty() || worst() <= best()) return 0;
    const double cost = branch.best.front().cost;
    if (best() <= 0) return (worst() - cost) / (worst() - best());
    return std::log(worst() / cost) / std::log(worst() / best());
  }
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeUct() { return std::make_unique<Uct>(); }

}  // namespace mdh
