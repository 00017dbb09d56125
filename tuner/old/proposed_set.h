// What a technique has to try first and what it has tried already: shared by all techniques.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tuner/old/search_space.h"

namespace mdh::old {

// Every configuration is handed out at most once. Not thread-safe.
class ProposedSet {
 public:
  ProposedSet() = default;
  // `start` configurations that are not in the space are left out.
  ProposedSet(const SearchSpace& space, std::vector<Configuration> start) {
    for (Configuration& configuration : start) {
      if (space.Contains(configuration)) start_.push_back(std::move(configuration));
    }
  }

  // The next start configuration; nullopt if there is none left.
  std::optional<Configuration> NextStart() {
    while (!start_.empty()) {
      Configuration next = std::move(start_.front());
      start_.pop_front();
      if (Add(next)) return next;
    }
    return std::nullopt;
  }

  // True if the configuration is new; it is remembered.
  bool Add(const Configuration& configuration) { return seen_.insert(configuration).second; }

  // A random configuration that is new; nullopt if none was found. In a space that is almost used
  // up sampling rarely meets a new one, so small spaces are enumerated then.
  std::optional<Configuration> NewSample(const SearchSpace& space, Rng& rng) {
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::optional<Configuration> sample = space.Sample(rng);
      if (!sample) break;
      if (Add(*sample)) return sample;
    }
    std::optional<Configuration> found;
    size_t visited = 0;
    space.Enumerate([&](const Configuration& configuration) {
      if (!seen_.contains(configuration)) found = configuration;
      return !found && ++visited <= seen_.size();
    });
    if (found) Add(*found);
    return found;
  }

 private:
  std::deque<Configuration> start_;
  absl::flat_hash_set<Configuration> seen_;
};

}  // namespace mdh::old
