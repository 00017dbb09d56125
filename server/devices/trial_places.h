// Where trials of a search were measured.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "codegen/program/kernel.h"

namespace mdh {

// The identity of a kernel (tuner/run/trial_history.h) as 32 hexadecimal digits.
std::string KernelDigest(const std::string& identity);
std::string KernelDigest(const Kernel& kernel);

// Thread-safe.
class TrialPlaces {
 public:
  // A kernel was measured there, by its digest.
  void Note(const std::string& digest, const std::string& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // And forgets it; empty if it was measured nowhere.
  std::string Take(const std::string& digest) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::string> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
