// How much tests with random inputs, and those of many cases, do under a sanitizer, which takes ten
// times as long and looks for bad accesses rather than for wrong results.
#pragma once

#include <cstdlib>
#include <random>

namespace mdh {

constexpr bool HasSanitizer() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#endif
#endif
  return false;
}

// Of `count` random cases, those that a test tries.
constexpr int TriedCases(int count) { return HasSanitizer() ? count / 8 : count; }

// Whether a test whose cases are tests of their own tries this one: under a sanitizer one in four,
// others in every run, unless MDH_ALL_CASES is in the environment.
inline bool IsTried() {
  return !HasSanitizer() || std::getenv("MDH_ALL_CASES") != nullptr ||
         std::random_device()() % 4 == 0;
}
constexpr char kNotTried[] = "one in four is tried under a sanitizer; MDH_ALL_CASES=1 tries all";

}  // namespace mdh
