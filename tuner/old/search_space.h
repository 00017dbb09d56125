// Constrained search spaces in ATF's sense: tuning parameters with ranges and constraints. Knows
// nothing of MDH.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace mdh::old {

using Rng = std::mt19937_64;

// One value per parameter, in the order of the space's parameters.
using Configuration = std::vector<int64_t>;

// A parameter and the values it may take given the values of those before it (ATF: range plus
// constraint). `range(prefix)`: candidates in a fixed order; prefix holds the values of all earlier
// parameters. An empty answer means that the prefix has no completion.
struct TuningParameter {
  std::string name;
  std::function<std::vector<int64_t>(absl::Span<const int64_t> prefix)> range;
};

// Immutable, thread-safe as long as the range functions are.
class SearchSpace {
 public:
  // `accept`: a last check on whole configurations (limits that involve everything).
  SearchSpace(std::vector<TuningParameter> parameters,
              std::function<bool(absl::Span<const int64_t>)> accept);

  const std::vector<TuningParameter>& parameters() const { return parameters_; }
  bool Contains(absl::Span<const int64_t> configuration) const;
  // A random valid configuration, by descending with a random value at each parameter and starting
  // again at dead ends; nullopt after a bounded number of attempts.
  std::optional<Configuration> Sample(Rng& rng) const;
  // A random valid configuration that differs from `from` in one chosen parameter, and in others
  // only where their values had to be repaired (nearest value in range); nullopt if none was found.
  std::optional<Configuration> Neighbour(absl::Span<const int64_t> from, Rng& rng) const;
  // All valid configurations in lexicographic order of the ranges, while `visit` returns true.
  void Enumerate(const std::function<bool(const Configuration&)>& visit) const;

 private:
  std::vector<TuningParameter> parameters_;
  std::function<bool(absl::Span<const int64_t>)> accept_;
};

}  // namespace mdh::old

// Until everything uses tuner/space and tuner/search.
namespace mdh {
using namespace old;
}
