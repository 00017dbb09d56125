// A part of many cases, another one in every run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <vector>

#include "tests/fresh_seed.h"

namespace mdh {

// `count` of `all` in random order, for tests of which each takes long; all of them if
// MDH_ALL_CASES is in the environment.
template <typename T>
std::vector<T> Drawn(std::vector<T> all, size_t count) {
  std::mt19937_64 random(FreshSeed());
  std::shuffle(all.begin(), all.end(), random);
  if (std::getenv("MDH_ALL_CASES") == nullptr && count < all.size()) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  }
  return all;
}

}  // namespace mdh
