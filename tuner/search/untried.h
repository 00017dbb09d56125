// Configurations that were not tried yet, in random order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "tuner/search/techniques/random_number.h"
#include "tuner/space/sample_without_replacement.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Not thread-safe.
class Untried {
 public:
  Untried(const SearchSpace& space, uint64_t seed);

  // Whether so many different configurations are all of the space; false if it is not counted.
  bool AllTried(int64_t tried) const;
  // One that was not tried, nor returned before and then tried; nullopt if there is none. Expects
  // that what was tried once stays tried.
  std::optional<Configuration> Draw(const std::function<bool(const Configuration&)>& is_tried);

 private:
  SearchSpace space_;
  Rng rng_;
  std::optional<SampleWithoutReplacement> sample_;  // unless lazy
};

}  // namespace mdh
