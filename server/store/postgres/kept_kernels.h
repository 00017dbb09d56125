// Kernels that were read from a PostgreSQL database lately, for when it is not there.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// Thread-safe.
class KeptKernels {
 public:
  // Of all kernels, serialised; those that were read longest ago are dropped.
  explicit KeptKernels(int64_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<v1::Kernel> Find(std::string_view id) ABSL_LOCKS_EXCLUDED(mutex_);
  // `change`: the latest one that was seen before the kernel was read. Not kept if there was
  // another one since, which may be of this kernel.
  void Put(std::string_view id, const v1::Kernel& kernel, int64_t change)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The change is of that kernel, too.
  void Drop(std::string_view id, int64_t change) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::string id;
    std::string kernel;
  };
  void Erase(std::list<Entry>::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t most_bytes_;
  absl::Mutex mutex_;
  int64_t latest_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the latest first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_id_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
