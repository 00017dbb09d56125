// The downhill simplex (Nelder and Mead 1965) on leaf-weighted coordinates. All four candidates of
// a step are proposed at once.

#include "tuner/search/techniques/simplex.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

class NelderMead final : public BatchTechnique {
 private:
  enum class Phase { kStart, kFirst, kCorners, kStep, kShrunk };

  void Reset() override { phase_ = Phase::kStart; }

  std::vector<Coordinates> NextBatch(const std::vector<Point>& results) override {
    switch (phase_) {
      case Phase::kStart:
        return Start();
      case Phase::kFirst:
        simplex_ = results;
        phase_ = Phase::kCorners;
        return CornersAround(results.front().at);
      case Phase::kStep:
        if (Step(results)) break;
        phase_ = Phase::kShrunk;
        return Shrunk();
      case Phase::kCorners:
      case Phase::kShrunk:
        simplex_.resize(1);
        simplex_.insert(simplex_.end(), results.begin(), results.end());
        break;
    }
    SortByCost(simplex_);
    if (Extent(simplex_) < kLastEdge) return Start();
    phase_ = Phase::kStep;
    return Candidates();
  }

  std::vector<Coordinates> Start() {
    phase_ = Phase::kFirst;
    return {StartCoordinates()};
  }

  // Reflection, expansion, contraction outside and inside: the worst corner moves through the
  // centre of the others.
  std::vector<Coordinates> Candidates() const {
    Coordinates centre(dimensions(), 0.0);
    for (size_t corner = 0; corner + 1 < simplex_.size(); ++corner) {
      for (size_t i = 0; i < centre.size(); ++i) {
        centre[i] += simplex_[corner].at[i] / static_cast<double>(simplex_.size() - 1);
      }
    }
    std::vector<Coordinates> batch;
    for (const double factor : {-1.0, -2.0, -0.5, 0.5}) {
      batch.push_back(Between(centre, simplex_.back().at, factor));
    }
    return batch;
  }

  // Replaces the worst corner; false if the simplex must shrink.
  bool Step(const std::vector<Point>& candidates) {
    const Point& reflected = candidates[0];
    const Point& expanded = candidates[1];
    const Point& second_worst = simplex_[simplex_.size() - 2];
    Point& worst = simplex_.back();
    if (IsBetter(reflected.cost, simplex_.front().cost)) {
      worst = IsBetter(expanded.cost, reflected.cost) ? expanded : reflected;
      return true;
    }
    if (IsBetter(reflected.cost, second_worst.cost)) {
      worst = reflected;
      return true;
    }
    const bool is_outside = IsBetter(reflected.cost, worst.cost);
    const Point& contracted = candidates[is_outside ? 2 : 3];
    if (!IsBetter(contracted.cost, is_outside ? reflected.cost : worst.cost)) return false;
    worst = contracted;
    return true;
  }

  // All corners but the best, half as far from it.
  std::vector<Coordinates> Shrunk() const {
    std::vector<Coordinates> batch;
    for (size_t i = 1; i < simplex_.size(); ++i) {
      batch.push_back(Between(simplex_.front().at, simplex_[i].at, 0.5));
    }
    return batch;
  }

  Phase phase_ = Phase::kStart;
  std::vector<Point> simplex_;  // the best corner first
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeNelderMead() { return std::make_unique<NelderMead>(); }

}  // namespace mdh
