// Every configuration of a space once, in random order.
#pragma once

#include <cstdint>
#include <optional>

#include "tuner/space/search_space.h"

namespace mdh {

// A keyed permutation of the indices, so that the whole state is a seed and a counter: nothing is
// remembered of what was drawn. Not thread-safe.
class SampleWithoutReplacement {
 public:
  // Goes on after `drawn` configurations. Expects a space that is not lazy.
  SampleWithoutReplacement(SearchSpace space, uint64_t seed, Count drawn = 0);

  // The next configuration; nullopt once all were drawn.
  std::optional<Configuration> Next();
  const Count& drawn() const { return drawn_; }

 private:
  Count Permuted(const Count& n) const;

  SearchSpace space_;
  uint64_t seed_;
  Count drawn_;
};

}  // namespace mdh
