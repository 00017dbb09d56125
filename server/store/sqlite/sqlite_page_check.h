// Looks through the pages of a database that is too large for that before it is used.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mdh/v1/admin.pb.h"
#include "server/store/sqlite/sqlite_database.h"

namespace mdh {

// Checks once, on a thread of its own, what was committed when it began; thread-safe. What others
// write meanwhile stays in the log beside the file until the end. Logs the beginning and the
// result.
class SqlitePageCheck {
 public:
  // `database`: used by nothing else. `on_damage` is called at most once, on the thread, and says
  // what is wrong.
  SqlitePageCheck(std::unique_ptr<SqliteDatabase> database,
                  std::function<void(const std::string& damage)> on_damage);
  // Ends the check if it is not done.
  ~SqlitePageCheck();
  SqlitePageCheck(const SqlitePageCheck&) = delete;
  SqlitePageCheck& operator=(const SqlitePageCheck&) = delete;

  v1::PageCheck Read() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Check() ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the result.
  void End(v1::PageCheckState state, const std::string& problem) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::unique_ptr<SqliteDatabase> database_;
  const std::function<void(const std::string&)> on_damage_;
  mutable absl::Mutex mutex_;
  v1::PageCheck progress_ ABSL_GUARDED_BY(mutex_);
  int thread_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_before_ ABSL_GUARDED_BY(mutex_) = 0;  // that the thread had read
  std::thread thread_;
};

}  // namespace mdh
