// Differential evolution (Storn and Price 1997), rand/1/bin, on leaf-weighted coordinates. A member
// is replaced as soon as its trial's result is known.
#include <deque>

#include "tuner/search/techniques/batch_technique.h"
#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

constexpr size_t kPopulation = 20;
constexpr double kScale = 0.6;
constexpr double kCrossover = 0.7;

class DifferentialEvolution final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t seed) override {
    *this = DifferentialEvolution();
    space_.emplace(space);
    rng_.seed(seed);
    population_.resize(kPopulation);
  }

  std::optional<Configuration> Next() override {
    Trial trial = {.member = next_, .at = first_ < kPopulation ? Anywhere() : Mutant(next_)};
    if (first_ < kPopulation) ++first_;
    next_ = (next_ + 1) % kPopulation;
    trials_.push_back(trial);
    return space_->AtCoordinates(trial.at);
  }

  void Report(const Configuration& /*configuration*/, Cost cost) override {
    const Trial trial = trials_.front();
    trials_.pop_front();
    Point& member = population_[trial.member];
    if (member.at.empty() || !IsBetter(member.cost, cost)) member = {.at = trial.at, .cost = cost};
  }

  // The best of others replaces the worst member.
  void Inform(const Configuration& configuration, Cost cost) override {
    size_t worst = 0;
    for (size_t i = 0; i < kPopulation; ++i) {
      if (population_[i].at.empty()) return;
      if (IsBetter(population_[worst].cost, population_[i].cost)) worst = i;
      if (!IsBetter(cost, population_[i].cost)) return;
    }
    population_[worst] = {.at = space_->CoordinatesOf(configuration), .cost = cost};
  }

 private:
  struct Trial {
    size_t member;
    Coordinates at;
  };

  Coordinates Anywhere() {
    Coordinates at(space_->parameters().size());
    for (double& x : at) x = RandomUnit(rng_);
    return at;
  }

  Coordinates Mutant(size_t target) {
    const Point& a = population_[RandomBelow(rng_, kPopulation)];
    const Point& b = population_[RandomBelow(rng_, kPopulation)];
    const Point& c = population_[RandomBelow(rng_, kPopulation)];
    const Point& parent = population_[target];
    if (a.at.empty() || b.at.empty() || c.at.empty() || parent.at.empty()) return Anywhere();
    Coordinates at = parent.at;
    const size_t always = RandomBelow(rng_, at.size());
    for (size_t i = 0; i < at.size(); ++i) {
      if (i != always && RandomUnit(rng_) >= kCrossover) continue;
      at[i] = a.at[i] + kScale * (b.at[i] - c.at[i]);
      // What leaves the cube goes half of the way to its border.
      if (at[i] < 0) at[i] = parent.at[i] / 2;
      if (at[i] >= 1) at[i] = (parent.at[i] + 1) / 2;
    }
    return at;
  }

  std::optional<SearchSpace> space_;
  Rng rng_;
  std::vector<Point> population_;  // without coordinates until the first result
  std::deque<Trial> trials_;       // that were not reported
  size_t first_ = 0;               // members that were proposed
  size_t next_ = 0;                // member
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeDifferentialEvolution() {
  return std::make_unique<DifferentialEvolution>();
}

}  // namespace mdh
