// Where the files of an open database are: whoever moves or deletes them does not close it.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/store/sqlite/sqlite_writer.h"

namespace mdh {

// Thread-safe.
class SqlitePlace {
 public:
  // Before it is known where the files are nothing is wrong with them.
  explicit SqlitePlace(std::string path) : path_(std::move(path)) {}

  // They are where they should be from now on: the database is open in WAL mode and was read.
  // Before others use this. Errors: FailedPrecondition if one is not there.
  Status Note();
  // Errors: FailedPrecondition: what is at the path, or at that of its log, is not what was opened,
  // and what is written would be lost.
  Status Check() const ABSL_LOCKS_EXCLUDED(mutex_);
  // If so, copies all that is stored to "PATH.recovered" and says so in the log; once, until they
  // are where they were. `writer`: of
  // the database.
  void LookAfter(SqliteWriter& writer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  static Result<File> Find(const std::string& path);
  static Status Check(const File& file);
  // By the thread that writes.
  Status Recover(SqliteDatabase& database) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string path_;
  std::vector<File> files_;  // set by Note
  mutable absl::Mutex mutex_;
  mutable std::string recovered_ ABSL_GUARDED_BY(mutex_);  // path of the copy; empty: there is none
};

}  // namespace mdh
