// Random search without replacement.
#include "tuner/search/techniques/technique_makers.h"
#include "tuner/space/sample_without_replacement.h"

namespace mdh {
namespace {

class Random final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t seed) override {
    space_.emplace(space);
    rng_.seed(seed);
    sample_.reset();
    if (!space.is_lazy()) sample_.emplace(space, seed);
  }

  std::optional<Configuration> Next() override {
    return sample_ ? sample_->Next() : space_->Sample(rng_);
  }

  void Report(const Configuration& /*configuration*/, Cost /*cost*/) override {}
  void Inform(const Configuration& /*configuration*/, Cost /*cost*/) override {}

 private:
  std::optional<SearchSpace> space_;
  Rng rng_;
  std::optional<SampleWithoutReplacement> sample_;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeRandom() { return std::make_unique<Random>(); }

}  // namespace mdh
