#include "tuner/search/bound_histogram.h"

#include <algorithm>
#include <cmath>

namespace mdh {
namespace {

// Of each side.
constexpr double kLogMiss = -3.688879454113936;  // of 0.025

// Logarithm of the probability of at most `hits` of `draws` events that have a share in (0, 1).
double LogAtMost(int64_t hits, int64_t draws, double share) {
  const auto n = static_cast<double>(draws);
  double log_term = n * std::log1p(-share), sum = 1, largest = log_term;
  for (int64_t k = 1; k <= hits; ++k) {
    const auto at = static_cast<double>(k);
    log_term += std::log((n - at + 1) / at) + std::log(share) - std::log1p(-share);
    if (log_term > largest) {
      sum = sum * std::exp(largest - log_term) + 1;
      largest = log_term;
    } else {
      sum += std::exp(log_term - largest);
    }
  }
  return largest + std::log(sum);
}

// The largest share of which so few hits are not too rare.
double HighestShare(int64_t hits, int64_t draws) {
  if (hits == draws) return 1;
  double low = static_cast<double>(hits) / static_cast<double>(draws), high = 1;
  for (int n = 0; n < 60; ++n) {
    const double middle = (low + high) / 2;
    (LogAtMost(hits, draws, middle) > kLogMiss ? low : high) = middle;
  }
  return high;
}

int ClassOf(double ratio) {
  if (ratio >= 1) return BoundHistogram::kClasses - 1;
  const int octaves = ratio > 0 ? std::ilogb(ratio) : -100;  // -1: at least 1/2
  return std::max(0, BoundHistogram::kClasses - 1 + octaves);
}

}  // namespace

ShareInterval ShareWithin(int64_t hits, int64_t draws) {
  return {.low = 1 - HighestShare(draws - hits, draws), .high = HighestShare(hits, draws)};
}

double BoundHistogram::share_left() const {
  return static_cast<double>(left) / static_cast<double>(configurations);
}

ShareInterval BoundHistogram::left_within() const {
  if (is_exact) return {.low = share_left(), .high = share_left()};
  return ShareWithin(left, configurations);
}

BoundHistogram HistogramOf(const SearchSpace& space, const CostBound& bound, double cost,
                           int64_t most, uint64_t seed) {
  BoundHistogram histogram{.is_exact = space.count() <= static_cast<long>(most),
                           .configurations = 0};
  const auto look_at = [&](const Configuration& configuration) {
    const double ratio = bound.OfOne(configuration) / cost;
    ++histogram.configurations;
    histogram.left += ratio < 1 ? 1 : 0;
    ++histogram.counts[static_cast<size_t>(ClassOf(ratio))];
    return true;
  };
  if (histogram.is_exact) {
    space.Enumerate(look_at);
    return histogram;
  }
  Rng rng(seed);
  while (histogram.configurations < most) look_at(space.Sample(rng));
  return histogram;
}

}  // namespace mdh
