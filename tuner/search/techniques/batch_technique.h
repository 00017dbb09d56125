// Techniques that move points through the unit cube of leaf-weighted coordinates, a batch at a
// time.
#pragma once

#include <optional>
#include <vector>

#include "tuner/search/techniques/random_number.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {

using Coordinates = std::vector<double>;

struct Point {
  Coordinates at;
  Cost cost = std::nullopt;
};

// Proposes a batch, and the next one once all of its results are known. Coordinates outside the
// cube are clamped.
class BatchTechnique : public SearchTechnique {
 public:
  void Initialize(const SearchSpace& space, uint64_t seed) final;
  std::optional<Configuration> Next() final;
  void Report(const Configuration& configuration, Cost cost) final;
  void Inform(const Configuration& configuration, Cost cost) final;

 protected:
  // Forgets everything.
  virtual void Reset() = 0;
  // The next batch, not empty, from the last one's results; those are empty at the start.
  virtual std::vector<Coordinates> NextBatch(const std::vector<Point>& results) = 0;

  size_t dimensions() const { return space_->parameters().size(); }
  Rng& rng() { return rng_; }
  Coordinates RandomCoordinates();
  // The best result of others since the last call, if it is better than `cost`.
  std::optional<Point> TakeInformed(const Cost& cost);
  // Where to start: the best result of others, or anywhere.
  Coordinates StartCoordinates();

 private:
  std::optional<SearchSpace> space_;
  Rng rng_;
  std::vector<Point> batch_;
  size_t proposed_ = 0;
  size_t reported_ = 0;
  std::optional<Configuration> informed_;
  Cost informed_cost_;
};

// a + factor * (b - a)
Coordinates Between(const Coordinates& a, const Coordinates& b, double factor);
// The largest difference of a coordinate to that of the first point.
double Extent(const std::vector<Point>& points);

}  // namespace mdh
