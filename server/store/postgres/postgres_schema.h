// The tables of a PostgreSQL database of mdhd: all in its schema mdhd.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "server/store/postgres/postgres_connection.h"

namespace mdh {

int64_t PostgresSchemaVersion();
// Records are stored compressed where no daemon of an earlier version of the schema may be: that
// would believe them damaged. So are those of databases that are made by this version.
inline constexpr int64_t kPostgresCompressedFrom = 6;

// Makes the tables if there are none, and brings older ones up to date, in one transaction: any
// number of daemons may do so at once. `shown`: the address, for errors. Errors:
// FailedPrecondition if the schema is another application's, is of a version that this mdhd does
// not know, or the role may not make it.
Status PreparePostgresSchema(PostgresConnection& connection, const std::string& shown);
// The same where nothing can be written. Errors: FailedPrecondition, also if there are no tables.
Status CheckPostgresSchema(PostgresConnection& connection, const std::string& shown);

// Which database this is, and which life of it: another one after it was restored from a backup
// that pg_dump wrote, or by another server.
struct PostgresIdentity {
  std::string incarnation;
  int64_t latest_change = 0;
};
Result<PostgresIdentity> ReadIdentity(PostgresConnection& connection);

}  // namespace mdh
