// How much tests with random inputs, and those of many cases, do under a sanitizer.
#pragma once

#include <cstdlib>
#include <random>

namespace mdh {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MDH_IS_SANITIZED true
#endif
#endif
#ifdef MDH_IS_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// Of `count` random cases, those that a test tries. Under a sanitizer, which takes ten times as
// long and looks for bad accesses rather than for wrong results, fewer do.
constexpr int TriedCases(int count) { return kIsSanitized ? count / 8 : count; }

// Whether a test whose cases are tests of their own tries this one: under a sanitizer one in four,
// others in every run, unless MDH_ALL_CASES is in the environment.
inline bool IsTried() {
  return !kIsSanitized || std::getenv("MDH_ALL_CASES") != nullptr ||
         std::random_device()() % 4 == 0;
}
constexpr char kNotTried[] = "one in four is tried under a sanitizer; MDH_ALL_CASES=1 tries all";

}  // namespace mdh
