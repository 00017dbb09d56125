// What a technique knows: configurations that it proposed or whose costs it was told.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tuner/search/techniques/search_technique.h"

namespace mdh {

inline bool IsBetter(const Cost& a, const Cost& b) { return a && (!b || *a < *b); }

class History {
 public:
  struct Known {
    Configuration configuration;
    Cost cost;
  };

  // A configuration that is evaluated from now on.
  void Expect(const Configuration& configuration) {
    if (!known_.contains(configuration)) known_.emplace(configuration, false);
  }
  // Repeated results are ignored.
  void Add(const Configuration& configuration, Cost cost) {
    bool& is_told = known_[configuration];
    if (is_told) return;
    is_told = true;
    results_.push_back({.configuration = configuration, .cost = cost});
    if (!cost) return;
    // Equal costs stay in the order in which they were told.
    const auto at = std::upper_bound(
        ranking_.begin(), ranking_.end(), results_.size() - 1,
        [this](size_t a, size_t b) { return *results_[a].cost < *results_[b].cost; });
    ranking_.insert(at, results_.size() - 1);
  }

  // Expected or told.
  bool Contains(const Configuration& configuration) const { return known_.contains(configuration); }
  // In the order in which they were told.
  const std::vector<Known>& results() const { return results_; }
  // Number of results with a cost, and the n-th best of them.
  size_t valid() const { return ranking_.size(); }
  const Known& Best(size_t n = 0) const { return results_[ranking_[n]]; }

 private:
  absl::flat_hash_map<Configuration, bool> known_;  // whether told
  std::vector<Known> results_;
  std::vector<size_t> ranking_;  // of results with a cost, the best first
};

}  // namespace mdh
