// Greedy descent in the neighbourhood at distance one, from the best configurations known.
#include <algorithm>
#include <utility>

#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/neighbourhood.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

constexpr size_t kBeforeDescent = 8;  // results before the descent starts
constexpr size_t kElites = 8;  // once all neighbours of one are known, the next one's are tried
constexpr int kEscapes = 4;    // then walks of two steps from them

class Descent final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t seed) override {
    *this = Descent();
    space_.emplace(space);
    rng_.seed(seed);
  }

  std::optional<Configuration> Next() override {
    Configuration next = Propose();
    history_.Expect(next);
    return next;
  }

  void Report(const Configuration& configuration, Cost cost) override {
    history_.Add(configuration, cost);
  }
  void Inform(const Configuration& configuration, Cost cost) override {
    history_.Add(configuration, cost);
  }

 private:
  Configuration Propose() {
    if (history_.valid() == 0 || history_.results().size() < kBeforeDescent) {
      return space_->Sample(rng_);
    }
    const auto is_new = [this](const Configuration& at) { return !history_.Contains(at); };
    const size_t elites = std::min(kElites, history_.valid());
    for (size_t n = 0; n < elites; ++n) {
      std::optional<Configuration> next =
          RandomNeighbour(*space_, history_.Best(n).configuration, rng_, is_new);
      if (next) return *std::move(next);
    }
    for (int escape = 0; escape < kEscapes; ++escape) {
      const Configuration& elite = history_.Best(RandomBelow(rng_, elites)).configuration;
      Configuration next = RandomWalk(*space_, elite, 2, rng_);
      if (is_new(next)) return next;
    }
    return space_->Sample(rng_);
  }

  std::optional<SearchSpace> space_;
  Rng rng_;
  History history_;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeDescent() { return std::make_unique<Descent>(); }

}  // namespace mdh
