// Puts the data of a call out of the caches, so that the next one finds it in memory.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/measure/trial/guarded_memory.h"

namespace mdh {

// On x86-64 line by line, which takes as long as the data is large; the last-level cache, which may
// be that of a whole socket and hundreds of megabytes, does not count. Elsewhere by writing twice
// as much other data as that cache holds.
class CacheEviction {
 public:
  CacheEviction() = default;  // of nothing

  // The memory must stay readable while the result is used. Errors: ResourceExhausted.
  static Result<CacheEviction> Of(std::vector<absl::Span<const std::byte>> memory);

  // Out of the caches of all cores; what was changed goes to memory.
  void Evict();

 private:
  std::vector<absl::Span<const std::byte>> memory_;
  GuardedMemory other_;  // empty where lines can be evicted
};

}  // namespace mdh
