// A few threads for what must not hold up the thread of the lookups.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace mdh {

// Thread-safe.
class LookupWorkers {
 public:
  // `max_waiting`: pieces of work that no thread has begun.
  LookupWorkers(int threads, size_t max_waiting);
  ~LookupWorkers();  // as Stop
  LookupWorkers(const LookupWorkers&) = delete;
  LookupWorkers& operator=(const LookupWorkers&) = delete;

  // False, and nothing is done, if too much waits or it has stopped.
  bool Submit(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does what waits, and ends the threads. By one thread at a time.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t max_waiting_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mdh
