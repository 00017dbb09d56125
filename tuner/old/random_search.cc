// Random search: independent samples of the space, none twice.
#include <utility>

#include "tuner/old/proposed_set.h"
#include "tuner/old/search_technique.h"

namespace mdh::old {
namespace {

class RandomSearch final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, std::vector<Configuration> start,
                  uint64_t seed) override {
    space_ = &space;
    rng_.seed(seed);
    proposed_ = ProposedSet(space, std::move(start));
  }

  std::vector<Configuration> Propose(int count) override {
    std::vector<Configuration> proposals;
    while (static_cast<int>(proposals.size()) < count) {
      std::optional<Configuration> next = proposed_.NextStart();
      if (!next) next = proposed_.NewSample(*space_, rng_);
      if (!next) break;
      proposals.push_back(*std::move(next));
    }
    return proposals;
  }

  void Report(const Configuration&, Cost) override {}

 private:
  const SearchSpace* space_ = nullptr;
  Rng rng_;
  ProposedSet proposed_;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeRandomSearch() { return std::make_unique<RandomSearch>(); }

}  // namespace mdh::old
