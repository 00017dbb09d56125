// How much tests with random inputs do under a sanitizer.
#pragma once

namespace mdh {

// Of `count` random cases, those that a test tries. Under a sanitizer, which takes ten times as
// long and looks for bad accesses rather than for wrong results, fewer do.
constexpr int TriedCases(int count) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return count / 8;
#endif
#endif
  return count;
}

}  // namespace mdh
