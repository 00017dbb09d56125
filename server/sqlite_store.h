// The embedded store: one SQLite file, written by one daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/store.h"
#include "server/study_store.h"

namespace mdh {

struct SqliteStoreOptions {
  // Folders above it are made if they are not there.
  std::string path;
  // Writes beyond this fail with ResourceExhausted; 0: no limit.
  int64_t max_bytes = 0;
};

// Opens or makes the database and brings an older one up to date.
// Errors: FailedPrecondition if the file is not a database of mdhd, was written by a newer mdhd, is
// damaged or is in use by another mdhd; ResourceExhausted if the disk is full.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteStoreOptions& options);

// The studies in the same database, written by the same writer. `store`: what OpenSqliteStore gave;
// it must outlive the result. Errors: as OpenSqliteStore.
Result<std::unique_ptr<StudyStore>> OpenSqliteStudyStore(Store& store);

}  // namespace mdh
