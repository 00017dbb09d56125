// The tables of the database, and how older databases get them.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "server/store/sqlite/sqlite_database.h"

namespace mdh {

// What this mdhd writes; it reads older ones.
int64_t SchemaVersion();

// Whether the pages of a database were looked at.
enum class PagesChecked { kAll, kNone };

// A newer database is used as it is if its table `store` says that this mdhd can.
// Expects that nobody else uses the file. An older database with something in it is copied to
// "{path}.schema-{version}" before it is changed. The pages of files of at most `max_checked_bytes`
// are checked first. Errors: FailedPrecondition if the file belongs to another application, was
// written by a newer mdhd that does not say so or is damaged; ResourceExhausted.
Result<PagesChecked> PrepareSchema(SqliteDatabase& database, int64_t max_checked_bytes);

// The same for a database that cannot be changed. Errors: FailedPrecondition, also if it is older.
Result<PagesChecked> CheckSchema(SqliteDatabase& database, int64_t max_checked_bytes);

}  // namespace mdh
