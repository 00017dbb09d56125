// Seeds of random tests, which try something else in every run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace mdh {

// One that no run before had, or the one in MDH_TEST_SEED, which repeats a run. It is printed, so
// that a failure in someone else's run can be looked at.
inline uint64_t FreshSeed() {
  const char* const wanted = std::getenv("MDH_TEST_SEED");
  const uint64_t seed = wanted != nullptr ? std::strtoull(wanted, nullptr, 10)
                                          : std::random_device()() % 1'000'000'000;
  std::printf("MDH_TEST_SEED=%llu repeats this run\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace mdh
