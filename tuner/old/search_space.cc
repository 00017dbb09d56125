// Sampling, neighbours and enumeration by descending through the ranges.
#include "tuner/old/search_space.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace mdh::old {
namespace {

// A random number below `bound`. The modulo's bias is far below what a search could notice, and
// unlike the standard distributions it is the same for every standard library.
size_t Below(Rng& rng, size_t bound) { return static_cast<size_t>(rng() % bound); }

// The values may be anything, so the distance must not overflow.
uint64_t Distance(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

int64_t Nearest(const std::vector<int64_t>& values, int64_t wanted) {
  return *std::min_element(values.begin(), values.end(), [&](int64_t a, int64_t b) {
    return Distance(a, wanted) < Distance(b, wanted);
  });
}

// Another value of the range: half of the time next to `current` in the range's order (ranges are
// mostly ordered by magnitude, and costs mostly change slowly), else any.
int64_t OtherValue(const std::vector<int64_t>& values, int64_t current, Rng& rng) {
  const auto at = std::find(values.begin(), values.end(), current);
  const bool adjacent = rng() % 2 == 0;
  if (at == values.end()) return values[Below(rng, values.size())];
  const size_t position = static_cast<size_t>(at - values.begin());
  if (adjacent) {
    const bool up = rng() % 2 == 0;
    if (position == 0) return values[1];
    if (position + 1 == values.size()) return values[position - 1];
    return values[up ? position + 1 : position - 1];
  }
  const size_t other = Below(rng, values.size() - 1);
  return values[other < position ? other : other + 1];
}

}  // namespace

SearchSpace::SearchSpace(std::vector<TuningParameter> parameters,
                         std::function<bool(absl::Span<const int64_t>)> accept)
    : parameters_(std::move(parameters)), accept_(std::move(accept)) {}

bool SearchSpace::Contains(absl::Span<const int64_t> configuration) const {
  if (configuration.size() != parameters_.size()) return false;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const std::vector<int64_t> values = parameters_[p].range(configuration.first(p));
    if (std::find(values.begin(), values.end(), configuration[p]) == values.end()) return false;
  }
  return !accept_ || accept_(configuration);
}

std::optional<Configuration> SearchSpace::Sample(Rng& rng) const {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Configuration configuration;
    for (const TuningParameter& parameter : parameters_) {
      const std::vector<int64_t> values = parameter.range(configuration);
      if (values.empty()) break;
      configuration.push_back(values[Below(rng, values.size())]);
    }
    if (configuration.size() < parameters_.size()) continue;
    if (!accept_ || accept_(configuration)) return configuration;
  }
  return std::nullopt;
}

std::optional<Configuration> SearchSpace::Neighbour(absl::Span<const int64_t> from,
                                                    Rng& rng) const {
  constexpr int kAttempts = 200;
  if (from.size() != parameters_.size() || parameters_.empty()) return std::nullopt;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const size_t chosen = Below(rng, parameters_.size());
    const std::vector<int64_t> values = parameters_[chosen].range(from.first(chosen));
    if (values.size() < 2) continue;
    Configuration configuration(from.begin(), from.begin() + chosen);
    configuration.push_back(OtherValue(values, from[chosen], rng));
    for (size_t p = chosen + 1; p < parameters_.size(); ++p) {
      const std::vector<int64_t> later = parameters_[p].range(configuration);
      if (later.empty()) break;
      configuration.push_back(Nearest(later, from[p]));
    }
    if (configuration.size() < parameters_.size()) continue;
    if (absl::Span<const int64_t>(configuration) == from) continue;
    if (!accept_ || accept_(configuration)) return configuration;
  }
  return std::nullopt;
}

void SearchSpace::Enumerate(const std::function<bool(const Configuration&)>& visit) const {
  Configuration prefix;
  bool go_on = true;
  const std::function<void()> descend = [&] {
    if (prefix.size() == parameters_.size()) {
      if (!accept_ || accept_(prefix)) go_on = visit(prefix);
      return;
    }
    for (const int64_t value : parameters_[prefix.size()].range(prefix)) {
      prefix.push_back(value);
      descend();
      prefix.pop_back();
      if (!go_on) return;
    }
  };
  descend();
}

}  // namespace mdh::old
