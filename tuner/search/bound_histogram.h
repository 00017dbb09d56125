// What a bound says of a whole space: how many configurations have bounds of which size, and how
// many are not shown to cost more than something.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/space/cost_bound.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Of a share of which `hits` of `draws` were seen: limits between which it is with 95 % confidence
// (Clopper and Pearson). Expects 0 <= hits <= draws, 0 < draws.
struct ShareInterval {
  double low = 0, high = 1;
};
ShareInterval ShareWithin(int64_t hits, int64_t draws);

struct BoundHistogram {
  bool is_exact = false;   // every configuration was looked at; else uniform samples were drawn
  int64_t configurations;  // that were looked at
  int64_t left = 0;        // of them, those whose bound is below the cost
  // By bound / cost: below 1/16, 1/8, 1/4, 1/2, below 1, and from 1 on.
  static constexpr int kClasses = 6;
  std::vector<int64_t> counts = std::vector<int64_t>(kClasses);

  double share_left() const;
  // Exact if the histogram is.
  ShareInterval left_within() const;
};

// Looks at all configurations if there are at most `most`, else at so many uniform samples. Expects
// cost > 0, most > 0, and a space that is not lazy.
BoundHistogram HistogramOf(const SearchSpace& space, const CostBound& bound, double cost,
                           int64_t most, uint64_t seed = 1);

}  // namespace mdh
