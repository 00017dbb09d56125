// All techniques that sample or move, in turn.
#include "tuner/search/techniques/portfolio.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

class RoundRobin final : public Portfolio {
 public:
  RoundRobin()
      : Portfolio({"annealing", "descent", "bayesian", "differential_evolution", "particle_swarm",
                   "pattern_search", "torczon", "nelder_mead"}) {}

 private:
  void Reset(const SearchSpace& /*space*/) override { next_ = 0; }
  std::vector<size_t> Order() override {
    std::vector<size_t> order;
    for (size_t i = 0; i < size(); ++i) order.push_back((next_ + i) % size());
    return order;
  }
  void OnProposal(size_t member) override { next_ = (member + 1) % size(); }

  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeRoundRobin() { return std::make_unique<RoundRobin>(); }

}  // namespace mdh
