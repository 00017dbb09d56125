// The studies that are in memory: a bounded number of them, while they are worked on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "tuner/study/study.h"

namespace mdh {

struct LoadedStudiesOptions {
  // Studies, and their bytes; those used least recently are dropped first.
  int max_studies = 256;
  int64_t max_bytes = int64_t{1} << 30;
  // A study is dropped this long after its last call, but not before its last lease is over.
  absl::Duration keep_idle = absl::Minutes(1);
  std::function<absl::Time()> now = absl::Now;
};

struct LoadedStudy {
  std::unique_ptr<Study> study;  // nullptr: not in memory
  v1::Study summary;             // with a brief specification
  int64_t version = 0;           // of it in the store
};

// Thread-safe. Never holds a study twice, and never drops one with a call under way.
class LoadedStudies {
 public:
  explicit LoadedStudies(LoadedStudiesOptions options);
  ~LoadedStudies();

  // Runs `call` on the study of that number, which is empty if it is not in memory; alone among the
  // calls on it. `call` may load it, and drops it by making `study` nullptr.
  template <typename T>
  Result<T> With(int64_t number, const std::function<Result<T>(LoadedStudy&)>& call) {
    std::shared_ptr<Entry> entry = Enter(number);
    entry->mutex.Lock();
    Result<T> result = call(entry->loaded);
    const Usage usage = UsageOf(entry->loaded);
    entry->mutex.Unlock();
    Leave(number, std::move(entry), usage);
    return result;
  }

  // Drops studies that were not called for long; a thread does so now and then.
  void DropIdle() ABSL_LOCKS_EXCLUDED(mutex_);
  int size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Usage {
    int64_t bytes = 0;  // 0: not in memory
    absl::Time idle_time;
  };
  struct Entry {
    absl::Mutex mutex;
    LoadedStudy loaded ABSL_GUARDED_BY(mutex);
  };
  struct Slot {
    std::shared_ptr<Entry> entry;  // copied under mutex_ only, so that use_count is exact
    int64_t last_use = 0;
    Usage usage;
  };

  std::shared_ptr<Entry> Enter(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(int64_t number, std::shared_ptr<Entry> entry, const Usage& usage)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Usage UsageOf(const LoadedStudy& loaded) const;
  // Down to what the options allow.
  void Trim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropUntilStopped() ABSL_LOCKS_EXCLUDED(mutex_);

  const LoadedStudiesOptions options_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<int64_t, Slot> slots_ ABSL_GUARDED_BY(mutex_);
  int64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread dropper_;
};

}  // namespace mdh
