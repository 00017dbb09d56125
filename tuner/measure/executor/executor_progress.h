// How far an executor is: what its parent looks at to know when a kernel takes too long.
#pragma once

#include <atomic>
#include <cstdint>

namespace mdh {

// Lies in shared memory; written by the executor, reset by its parent.
struct ExecutorProgress {
  std::atomic<int64_t> calling_since_ns;  // 0: not there yet
  std::atomic<int64_t> done_calling_ns;   // 0: not there yet
  std::atomic<bool> have_last;            // whether there is a second copy of the outputs
};

}  // namespace mdh
