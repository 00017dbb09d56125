// Multi-directional search (Torczon 1989) on leaf-weighted coordinates: a simplex is reflected
// through its best corner as a whole, and grows or shrinks.

#include "tuner/search/techniques/simplex.h"
#include "tuner/search/techniques/technique_makers.h"

namespace mdh {
namespace {

class Torczon final : public BatchTechnique {
 private:
  enum class Phase { kStart, kFirst, kCorners, kReflected, kExpanded, kContracted };

  void Reset() override { phase_ = Phase::kStart; }

  std::vector<Coordinates> NextBatch(const std::vector<Point>& results) override {
    switch (phase_) {
      case Phase::kStart:
        return Start();
      case Phase::kFirst:
        simplex_ = results;
        phase_ = Phase::kCorners;
        return CornersAround(results.front().at);
      case Phase::kReflected:
        if (BestIsBetter(results)) {
          reflected_ = results;
          phase_ = Phase::kExpanded;
          return Moved(-2);
        }
        phase_ = Phase::kContracted;
        return Moved(0.5);
      case Phase::kExpanded:
        Replace(Best(results, reflected_) ? results : reflected_);
        break;
      case Phase::kCorners:
      case Phase::kContracted:
        Replace(results);
        break;
    }
    if (Extent(simplex_) < kLastEdge) return Start();
    phase_ = Phase::kReflected;
    return Moved(-1);
  }

  std::vector<Coordinates> Start() {
    phase_ = Phase::kFirst;
    return {StartCoordinates()};
  }

  // All corners but the best, moved towards it, or through it for negative factors.
  std::vector<Coordinates> Moved(double factor) const {
    std::vector<Coordinates> batch;
    for (size_t i = 1; i < simplex_.size(); ++i) {
      batch.push_back(Between(simplex_.front().at, simplex_[i].at, factor));
    }
    return batch;
  }

  static size_t BestOf(const std::vector<Point>& points) {
    size_t best = 0;
    for (size_t i = 1; i < points.size(); ++i) {
      if (IsBetter(points[i].cost, points[best].cost)) best = i;
    }
    return best;
  }
  bool BestIsBetter(const std::vector<Point>& points) const {
    return IsBetter(points[BestOf(points)].cost, simplex_.front().cost);
  }
  static bool Best(const std::vector<Point>& a, const std::vector<Point>& b) {
    return IsBetter(a[BestOf(a)].cost, b[BestOf(b)].cost);
  }

  void Replace(const std::vector<Point>& corners) {
    simplex_.resize(1);
    simplex_.insert(simplex_.end(), corners.begin(), corners.end());
    SortByCost(simplex_);
  }

  Phase phase_ = Phase::kStart;
  std::vector<Point> simplex_;  // the best corner first
  std::vector<Point> reflected_;
};

}  // namespace

std::unique_ptr<SearchTechnique> MakeTorczon() { return std::make_unique<Torczon>(); }

}  // namespace mdh
