// The tables of the database, and how older databases get them.
#pragma once

#include <cstdint>

#include "core/status.h"
#include "server/sqlite_database.h"

namespace mdh {

// What this mdhd writes; it reads older ones.
int64_t SchemaVersion();

// Expects that nobody else uses the file. An older database with something in it is copied to
// "{path}.schema-{version}" before it is changed. Errors: FailedPrecondition if the file belongs to
// another application, was written by a newer mdhd or is damaged; ResourceExhausted.
Status PrepareSchema(SqliteDatabase& database);

}  // namespace mdh
