// The one writer of the database: writes that wait together share a transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/store/sqlite/sqlite_database.h"

namespace mdh {

// What goes with every transaction; by one thread at a time.
struct SqliteWriterGuard {
  // Before it, and once more before it is acknowledged. Errors: why nothing is written from now on.
  std::function<Status()> check = [] { return absl::OkStatus(); };
  // In it, the last of what it writes.
  std::function<Status(SqliteDatabase&)> on_end = [](SqliteDatabase&) { return absl::OkStatus(); };
  // When it is committed.
  std::function<void()> on_commit = [] {};
};

// Thread-safe. The database must not be written by anything else meanwhile.
class SqliteWriter {
 public:
  using Write = std::function<Status(SqliteDatabase&)>;

  explicit SqliteWriter(std::unique_ptr<SqliteDatabase> database, SqliteWriterGuard guard = {})
      : database_(std::move(database)), guard_(std::move(guard)) {}
  // Of a database that cannot be written: as after Refuse(why).
  explicit SqliteWriter(Status why) : refusal_(std::move(why)) {}

  // Runs `write` and returns when what it wrote is on the disk. It shares a transaction, and the
  // wait for the disk, with others that come at the same time; one that fails is undone alone.
  // `on_commit` is called after the commit, in the order of the writes, and before this returns.
  // Neither may call Run. Errors: what `write` gives; what the commit says, of all in it.
  Status Run(const Write& write, const std::function<void()>& on_commit = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `use` while nobody writes; also after Refuse. Not of a database that cannot be written.
  Status Use(const Write& use) ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on every Run fails with `why` and does nothing.
  void Refuse(Status why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ok, or why every Run fails.
  Status refusal() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Why nothing is written, or the latest transaction failed; Ok if it did not, or there was none.
  Status health() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t transactions() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t writes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    const Write& write;
    const std::function<void()>& on_commit;
    Status status;
    bool is_done = false;
  };
  Status RunGuarded(const std::vector<Waiting*>& group) ABSL_LOCKS_EXCLUDED(mutex_);
  // By the thread that leads, which alone uses the database. Gives the status of the transaction.
  Status RunTogether(const std::vector<Waiting*>& group);
  Status RunInSavepoint(Waiting& waiting);

  const std::unique_ptr<SqliteDatabase> database_;  // used by who leads
  const SqliteWriterGuard guard_;                   // idem
  mutable absl::Mutex mutex_;
  bool has_leader_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Waiting*> waiting_ ABSL_GUARDED_BY(mutex_);
  Status refusal_ ABSL_GUARDED_BY(mutex_);
  Status health_ ABSL_GUARDED_BY(mutex_);
  int64_t transactions_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mdh
