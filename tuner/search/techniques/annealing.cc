// Simulated annealing on relative cost differences, for an unknown number of evaluations
// (Kirkpatrick et al. 1983; with restarts).
#include <algorithm>
#include <cmath>
#include <utility>

#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/neighbourhood.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

// Costs are compared relatively: with temperature t a configuration that is slower by the fraction
// t is accepted with probability 1/e. One round starts hot and cools as 1/n; rounds that find
// nothing end and the next one starts from the best, at half the heat, so that the search narrows
// down without knowing when it will be stopped.
constexpr double kHottest = 0.10;
constexpr double kColdestStart = 0.02;
constexpr double kCooling = 0.10;  // temperature = start / (1 + kCooling * results of the round)
constexpr int kStagnation = 40;    // results without a new best that end a round
constexpr size_t kBeforeWalk = 8;  // results before the walk starts: where is it good at all?
constexpr int kMaxSteps = 4;       // away from where all neighbours are known

class Annealing final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t seed) override {
    *this = Annealing();
    space_.emplace(space);
    rng_.seed(seed);
  }

  std::optional<Configuration> Next() override {
    Configuration next = Propose();
    history_.Expect(next);
    return next;
  }

  void Report(const Configuration& configuration, Cost cost) override {
    Learn(configuration, cost);
    ++in_round_;
    if (cost && Accept(*cost)) current_ = {.configuration = configuration, .cost = cost};
    if (++since_best_ > kStagnation && best_.cost) Restart();
  }

  // Results of others count only where they are better than all before.
  void Inform(const Configuration& configuration, Cost cost) override {
    Learn(configuration, cost);
  }

 private:
  void Learn(const Configuration& configuration, Cost cost) {
    history_.Add(configuration, cost);
    if (!IsBetter(cost, best_.cost)) return;
    best_ = {.configuration = configuration, .cost = cost};
    current_ = best_;
    since_best_ = 0;
  }

  bool Accept(double cost) {
    if (!current_.cost || cost <= *current_.cost) return true;
    const double temperature = start_temperature_ / (1 + kCooling * in_round_);
    const double worse = (cost - *current_.cost) / std::max(std::abs(*current_.cost), 1e-300);
    return RandomUnit(rng_) < std::exp(-worse / temperature);
  }

  void Restart() {
    current_ = best_;
    start_temperature_ = std::max(kColdestStart, start_temperature_ / 2);
    since_best_ = 0;
    in_round_ = 0;
  }

  Configuration Propose() {
    if (!current_.cost || history_.results().size() < kBeforeWalk) return space_->Sample(rng_);
    const auto is_new = [this](const Configuration& at) { return !history_.Contains(at); };
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      const Configuration from = RandomWalk(*space_, current_.configuration, steps, rng_);
      if (std::optional<Configuration> next = RandomNeighbour(*space_, from, rng_, is_new)) {
        return *std::move(next);
      }
    }
    return space_->Sample(rng_);
  }

  std::optional<SearchSpace> space_;
  Rng rng_;
  History history_;
  History::Known current_;
  History::Known best_;
  double start_temperature_ = kHottest;
  int since_best_ = 0;
  int in_round_ = 0;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeAnnealing() { return std::make_unique<Annealing>(); }

}  // namespace mdh
