#include "tuner/measure/trial/cache_eviction.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace mdh {
namespace {

#if defined(__x86_64__)

constexpr size_t kLine = 64;  // of all x86-64 processors

bool HasUnorderedFlush() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

// Tens of bytes per nanosecond.
__attribute__((target("clflushopt"))) void FlushUnordered(absl::Span<const std::byte> lines) {
  for (size_t i = 0; i < lines.size(); i += kLine) {
    _mm_clflushopt(const_cast<std::byte*>(&lines[i]));
  }
}

// One line after another, a tenth of that.
void FlushInOrder(absl::Span<const std::byte> lines) {
  for (size_t i = 0; i < lines.size(); i += kLine) _mm_clflush(&lines[i]);
}

// From the start of a line on.
absl::Span<const std::byte> WholeLines(absl::Span<const std::byte> memory) {
  const size_t before = reinterpret_cast<uintptr_t>(memory.data()) % kLine;
  return {memory.data() - before, memory.size() + before};
}

#else

int64_t TwiceTheCaches() {
  const int64_t known = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return std::max(2 * known, int64_t{64} << 20);
}

#endif

}  // namespace

Result<CacheEviction> CacheEviction::Of(std::vector<absl::Span<const std::byte>> memory) {
  CacheEviction eviction;
  for (const absl::Span<const std::byte>& one : memory) {
    if (!one.empty()) eviction.memory_.push_back(one);
  }
#if !defined(__x86_64__)
  MDH_ASSIGN_OR_RETURN(eviction.other_,
                       GuardedMemory::Create(TwiceTheCaches(), GuardedMemory::Zones::kNone,
                                             GuardedMemory::Sharing::kPrivate));
#endif
  return eviction;
}

void CacheEviction::Evict() {
#if defined(__x86_64__)
  static const bool unordered = HasUnorderedFlush();
  for (const absl::Span<const std::byte>& one : memory_) {
    unordered ? FlushUnordered(WholeLines(one)) : FlushInOrder(WholeLines(one));
  }
  _mm_mfence();
#else
  if (!memory_.empty()) std::memset(other_.data(), 1, static_cast<size_t>(other_.size()));
#endif
}

}  // namespace mdh
