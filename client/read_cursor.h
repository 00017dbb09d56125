// Up to which change of records a client has heard of: what it reads afterwards is at least as new,
// also from another daemon on the same database.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"

namespace mdh {

// Thread-safe.
class ReadCursor {
 public:
  // A cursor that a daemon gave, "INCARNATION.NUMBER"; all else says nothing. Of one incarnation
  // the latest counts, of several the one that was heard of last.
  void Note(const std::string& cursor) ABSL_LOCKS_EXCLUDED(mutex_);
  std::string Get() const ABSL_LOCKS_EXCLUDED(mutex_);
  // It is of no use: nothing is asked of answers until the next one is noted.
  void Forget(const std::string& cursor) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether an error says that a daemon cannot answer from there on, though it can answer.
  static bool IsReason(const Status& error);

 private:
  mutable absl::Mutex mutex_;
  std::string cursor_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
