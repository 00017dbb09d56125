// What a search leaves out because a bound shows that it is no better than what is known.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "tuner/search/techniques/search_technique.h"
#include "tuner/space/cost_bound.h"
#include "tuner/space/search_space.h"

namespace mdh {

// What a search has proven so far.
struct CutFigures {
  Count space_count = 0;         // configurations; 0: they are not counted
  double space_bound = 0;        // nothing in the space costs less; 0: no bound
  Count proven_worse = 0;        // configurations that cannot cost less than the best, or not by
                                 // more than the gap, and were not tried: so many at least
  bool is_whole = false;         // these are all that were not tried
  bool is_within_gap = false;    // the best is proven to be within the gap of the best possible
  bool is_contradicted = false;  // something cost less than its bound, which counts no more
};

// Without a bound it rejects nothing. Not thread-safe.
class SearchCut {
 public:
  // `gap`: what is better by less than this share does not matter; at least 0, below 1.
  // `incumbent`: a cost that is known from elsewhere.
  SearchCut(const SearchSpace& space, std::shared_ptr<const CostBound> bound, double gap,
            std::optional<double> incumbent);

  // What was measured. A cost below the bound contradicts it: from then on nothing is rejected, and
  // nothing was proven.
  void Learn(const Configuration& configuration, Cost cost);
  // The cost to count with instead of measuring, no better than the best; nullopt: it may be worth
  // a trial. Remembers what it rejects.
  std::optional<double> Reject(const Configuration& configuration);

  // It is tried nevertheless.
  void Forget(const Configuration& configuration) { rejected_.erase(configuration); }

  // Rejected so far, each once: as far as memory reaches.
  int64_t rejected() const { return static_cast<int64_t>(rejected_.size()); }
  bool is_on() const { return bound_ != nullptr; }
  bool is_contradicted() const { return is_contradicted_; }
  bool is_within_gap() const { return is_on() && space_bound_ >= threshold_; }
  // Whether nothing that costs as much as the bound is better than a cost by more than the gap.
  bool IsWithinGap(double bound, double cost) const { return bound >= Threshold(cost); }
  // Expects is_on().
  double BoundOf(const Configuration& configuration) const { return bound_->OfOne(configuration); }
  double space_bound() const { return space_bound_; }

 private:
  const double gap_;
  std::shared_ptr<const CostBound> bound_;
  double space_bound_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
  double threshold_ = std::numeric_limits<double>::infinity();  // rejected from here on
  bool is_contradicted_ = false;
  absl::flat_hash_set<Configuration> rejected_;

  double Threshold(double cost) const { return cost - gap_ * (cost > 0 ? cost : 0); }
  void Know(double cost);
};

}  // namespace mdh
