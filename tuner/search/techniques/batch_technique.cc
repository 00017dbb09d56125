#include "tuner/search/techniques/batch_technique.h"

#include <algorithm>
#include <cmath>

#include "tuner/search/techniques/history.h"

namespace mdh {

void BatchTechnique::Initialize(const SearchSpace& space, uint64_t seed) {
  space_.emplace(space);
  rng_.seed(seed);
  batch_.clear();
  proposed_ = reported_ = 0;
  informed_.reset();
  informed_cost_.reset();
  Reset();
}

std::optional<Configuration> BatchTechnique::Next() {
  if (proposed_ == batch_.size()) {
    if (reported_ < proposed_) return std::nullopt;
    std::vector<Coordinates> next = NextBatch(batch_);
    batch_.clear();
    for (Coordinates& at : next) {
      for (double& x : at) x = std::clamp(x, 0.0, 0x1.fffffffffffffp-1);
      batch_.push_back({.at = std::move(at)});
    }
    proposed_ = reported_ = 0;
  }
  return space_->AtCoordinates(batch_[proposed_++].at);
}

void BatchTechnique::Report(const Configuration& /*configuration*/, Cost cost) {
  batch_[reported_++].cost = cost;
}

void BatchTechnique::Inform(const Configuration& configuration, Cost cost) {
  if (!IsBetter(cost, informed_cost_)) return;
  informed_ = configuration;
  informed_cost_ = cost;
}

Coordinates BatchTechnique::RandomCoordinates() {
  Coordinates at(dimensions());
  for (double& x : at) x = RandomUnit(rng_);
  return at;
}

std::optional<Point> BatchTechnique::TakeInformed(const Cost& cost) {
  if (!informed_ || !IsBetter(informed_cost_, cost)) return std::nullopt;
  const Point point = {.at = space_->CoordinatesOf(*informed_), .cost = informed_cost_};
  informed_.reset();
  return point;
}

Coordinates BatchTechnique::StartCoordinates() {
  const std::optional<Point> informed = TakeInformed(std::nullopt);
  return informed ? informed->at : RandomCoordinates();
}

Coordinates Between(const Coordinates& a, const Coordinates& b, double factor) {
  Coordinates result(a.size());
  for (size_t i = 0; i < a.size(); ++i) result[i] = a[i] + factor * (b[i] - a[i]);
  return result;
}

double Extent(const std::vector<Point>& points) {
  double extent = 0;
  for (const Point& point : points) {
    for (size_t i = 0; i < point.at.size(); ++i) {
      extent = std::max(extent, std::abs(point.at[i] - points.front().at[i]));
    }
  }
  return extent;
}

}  // namespace mdh
