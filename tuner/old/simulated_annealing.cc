// Simulated annealing on relative cost differences, in batches, for an unknown number of
// evaluations.
#include <cmath>
#include <utility>

#include "tuner/old/proposed_set.h"
#include "tuner/old/search_technique.h"

namespace mdh::old {
namespace {

// Costs are compared relatively: with temperature t a configuration that is slower by the fraction
// t is accepted with probability 1/e. One round starts hot and cools as 1/n; rounds that find
// nothing end and the next one starts from the best, at half the heat, so that the search narrows
// down without knowing when it will be stopped.
constexpr double kHottest = 0.10;
constexpr double kColdestStart = 0.02;
constexpr double kCooling = 0.10;  // temperature = start / (1 + kCooling * reports of the round)
constexpr int kStagnation = 40;    // reports without a new best that end a round
constexpr int kRandomFirst = 8;    // samples before the walk starts: where is it good at all?

class SimulatedAnnealing final : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, std::vector<Configuration> start,
                  uint64_t seed) override {
    *this = SimulatedAnnealing();
    space_ = &space;
    rng_.seed(seed);
    has_start_ = !start.empty();
    proposed_ = ProposedSet(space, std::move(start));
  }

  std::vector<Configuration> Propose(int count) override {
    std::vector<Configuration> proposals;
    while (static_cast<int>(proposals.size()) < count) {
      std::optional<Configuration> next = proposed_.NextStart();
      if (!next) next = NewConfiguration();
      if (!next) break;
      proposals.push_back(*std::move(next));
    }
    return proposals;
  }

  void Report(const Configuration& configuration, Cost cost) override {
    ++since_best_;
    ++in_round_;
    if (cost && (!best_cost_ || *cost < *best_cost_)) {
      best_ = configuration;
      best_cost_ = cost;
      since_best_ = 0;
    }
    if (cost && Accept(*cost)) {
      current_ = configuration;
      current_cost_ = cost;
    }
    if (since_best_ >= kStagnation && best_cost_) Restart();
  }

 private:
  bool Accept(double cost) {
    if (!current_cost_ || cost <= *current_cost_) return true;
    const double temperature = start_temperature_ / (1 + kCooling * in_round_);
    const double relative = (cost - *current_cost_) / *current_cost_;
    const double uniform = static_cast<double>(rng_() >> 11) * 0x1.0p-53;
    return uniform < std::exp(-relative / temperature);
  }

  void Restart() {
    current_ = best_;
    current_cost_ = best_cost_;
    start_temperature_ = std::max(kColdestStart, start_temperature_ / 2);
    since_best_ = 0;
    in_round_ = 0;
  }

  std::optional<Configuration> NewConfiguration() {
    if (!current_cost_ || (!has_start_ && random_proposed_ < kRandomFirst)) {
      ++random_proposed_;
      return proposed_.NewSample(*space_, rng_);
    }
    if (std::optional<Configuration> neighbour = NewNeighbour()) return neighbour;
    return proposed_.NewSample(*space_, rng_);
  }

  // A neighbour of the current state that is new. Where all of them seem to be known, further steps
  // lead away from the current state.
  std::optional<Configuration> NewNeighbour() {
    constexpr int kAttemptsPerStep = 20;
    constexpr int kSteps = 4;
    for (int steps = 1; steps <= kSteps; ++steps) {
      for (int attempt = 0; attempt < kAttemptsPerStep; ++attempt) {
        std::optional<Configuration> at = current_;
        for (int step = 0; step < steps && at; ++step) at = space_->Neighbour(*at, rng_);
        if (!at) break;
        if (proposed_.Add(*at)) return at;
      }
    }
    return std::nullopt;
  }

  const SearchSpace* space_ = nullptr;
  Rng rng_;
  ProposedSet proposed_;
  Configuration current_;
  Cost current_cost_;
  Configuration best_;
  Cost best_cost_;
  double start_temperature_ = kHottest;
  int since_best_ = 0;
  int in_round_ = 0;
  int random_proposed_ = 0;
  bool has_start_ = false;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeSimulatedAnnealing() {
  return std::make_unique<SimulatedAnnealing>();
}

}  // namespace mdh::old
