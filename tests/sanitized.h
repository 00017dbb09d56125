// How much tests with random inputs do under a sanitizer.
#pragma once

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

}  // namespace mdh
