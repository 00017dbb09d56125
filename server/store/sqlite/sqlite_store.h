// The embedded store: one SQLite file, written by one daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/store/store.h"

namespace mdh {

struct SqliteStoreOptions {
  // Folders above it are made if they are not there.
  std::string path;
  // Writes beyond this fail with ResourceExhausted; 0: no limit.
  int64_t max_bytes = 0;
  // The pages of larger files are checked in the background instead of before they are used. If
  // they are damaged, nothing is written from then on.
  int64_t max_checked_bytes = int64_t{1} << 30;
  // Nothing is written, every call that would fails; other processes may read the file, too. So
  // also if the file or its folder cannot be written.
  bool is_read_only = false;
};

// Opens or makes the database and brings an older one up to date.
// Errors: FailedPrecondition if the file is not a database of mdhd, was written by a newer mdhd, is
// damaged, is in use by another mdhd (by whatever path), or cannot be written and is older;
// ResourceExhausted if the disk is full and there is nothing yet. What is there is served on a full
// disk, too, but not written.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteStoreOptions& options);

}  // namespace mdh
