// Pattern search (Hooke and Jeeves 1961) on leaf-weighted coordinates.
#include <algorithm>
#include <numeric>

#include "tuner/search/techniques/batch_technique.h"
#include "tuner/search/techniques/history.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

constexpr double kFirstStep = 0.25;
constexpr double kLastStep = 1.0 / 256;  // below, the search starts anew
constexpr size_t kDimensionsPerBatch = 4;

class PatternSearch final : public BatchTechnique {
 private:
  void Reset() override { phase_ = Phase::kStart; }

  std::vector<Coordinates> NextBatch(const std::vector<Point>& results) override {
    if (phase_ == Phase::kCentre) {
      centre_ = results.front();
      StartRound();
    } else if (phase_ == Phase::kExplore || phase_ == Phase::kPattern) {
      Learn(results);
    }
    if (phase_ == Phase::kStart || step_ < kLastStep) return Start();
    if (std::optional<Point> informed = TakeInformed(centre_.cost)) {
      centre_ = *std::move(informed);
      StartRound();
    }
    if (phase_ == Phase::kPattern) return {pattern_};
    phase_ = Phase::kExplore;
    return Exploration();
  }

  enum class Phase { kStart, kCentre, kExplore, kPattern };

  std::vector<Coordinates> Start() {
    phase_ = Phase::kCentre;
    step_ = kFirstStep;
    centre_.cost.reset();
    return {StartCoordinates()};
  }

  void StartRound() {
    phase_ = Phase::kExplore;
    order_.resize(dimensions());
    std::iota(order_.begin(), order_.end(), size_t{0});
    for (size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[RandomBelow(rng(), i)]);
    explored_ = 0;
    base_ = centre_;
  }

  // A step to both sides in the next dimensions.
  std::vector<Coordinates> Exploration() {
    std::vector<Coordinates> batch;
    const size_t end = std::min(order_.size(), explored_ + kDimensionsPerBatch);
    for (; explored_ < end; ++explored_) {
      for (const double step : {step_, -step_}) {
        batch.push_back(centre_.at);
        batch.back()[order_[explored_]] += step;
      }
    }
    return batch;
  }

  // Moves to the best result. At the end of a round that moved, the same move is tried once more;
  // after one that did not, steps become smaller.
  void Learn(const std::vector<Point>& results) {
    for (const Point& result : results) {
      if (IsBetter(result.cost, centre_.cost)) centre_ = result;
    }
    if (phase_ == Phase::kExplore && explored_ < order_.size()) return;
    if (phase_ == Phase::kExplore && IsBetter(centre_.cost, base_.cost)) {
      phase_ = Phase::kPattern;
      pattern_ = Between(base_.at, centre_.at, 2);
      return;
    }
    if (phase_ == Phase::kExplore) step_ /= 2;
    StartRound();
  }

  Phase phase_ = Phase::kStart;
  double step_ = kFirstStep;
  Point centre_;
  Point base_;  // centre at the start of the round
  Coordinates pattern_;
  std::vector<size_t> order_;  // of dimensions in this round
  size_t explored_ = 0;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakePatternSearch() { return std::make_unique<PatternSearch>(); }

}  // namespace mdh
