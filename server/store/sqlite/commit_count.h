// How many transactions a database has, kept in it and outside of it.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "server/store/file_lock.h"
#include "server/store/sqlite/sqlite_database.h"

namespace mdh {

// SQLite takes a log (PATH-wal) up to the first place where it is damaged, and says nothing. The
// number of transactions that were committed, in the lock file beside it, tells: after a start the
// database must not have fewer. The number outside is written after the commit and without waiting
// for the disk, so that it is never ahead. By one thread at a time.
class CommitCount {
 public:
  // `lock` must outlive this.
  explicit CommitCount(FileLock& lock) : lock_(lock) {}

  // Of those that were acknowledged, how many the database does not have; 0 also if nothing is
  // known outside.
  Result<int64_t> CountMissing(SqliteDatabase& database);
  // Whether there was a number outside when that was asked.
  bool is_known_outside() const { return is_known_outside_; }
  // In a transaction.
  Status Add(SqliteDatabase& database);
  // When it is committed.
  void Keep();

 private:
  FileLock& lock_;
  int64_t number_ = 0;  // of the latest transaction
  bool is_known_outside_ = false;
};

}  // namespace mdh
