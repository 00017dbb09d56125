// In which order several factors are best put together, two at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mdh {

using FactorSet = uint32_t;

inline bool IsSingle(FactorSet set) { return std::has_single_bit(set); }

// The cheapest order by dynamic programming over all sets of factors; of equal ones the one that
// has later factors together with earlier ones as late as possible.
template <typename Cost>
class PairwiseOrder {
 public:
  // `single(n)`: what it takes to have factor n by itself; `sum(a, b)` of two costs; `pair(a, b)`:
  // what it takes to put what has become of these two sets together.
  template <typename Single, typename Pair, typename Sum>
  PairwiseOrder(size_t factors, const Single& single, const Pair& pair, const Sum& sum)
      : best_(size_t{1} << factors) {
    for (FactorSet set = 1; set < best_.size(); ++set) {
      if (IsSingle(set)) {
        best_[set].cost = single(std::countr_zero(set));
        continue;
      }
      for (FactorSet part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
        const Cost cost =
            sum(sum(*best_[part].cost, *best_[set ^ part].cost), pair(part, set ^ part));
        if (!best_[set].cost || cost < *best_[set].cost) best_[set] = {cost, part};
      }
    }
  }

  FactorSet all() const { return static_cast<FactorSet>(best_.size()) - 1; }
  Cost cost(FactorSet set) const { return *best_[set].cost; }
  // One of the two sets that are put together last; 0 for a single factor.
  FactorSet Part(FactorSet set) const { return best_[set].part; }

 private:
  struct Best {
    std::optional<Cost> cost;
    FactorSet part = 0;
  };
  std::vector<Best> best_;
};

}  // namespace mdh
