#include "server/store/sqlite/sqlite_connection.h"

#include <cstdint>

namespace mdh {

Result<std::unique_ptr<SqliteDatabase>> OpenConnection(const SqliteStoreOptions& options) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database,
                       SqliteDatabase::Open(options.path));
  // The daemon has several connections, and `sqlite3 mdhd.sqlite` at a terminal must not make calls
  // fail.
  MDH_RETURN_IF_ERROR(database->Execute("PRAGMA busy_timeout = 5000"));
  MDH_RETURN_IF_ERROR(database->Execute("PRAGMA synchronous = FULL"));
  if (options.max_bytes > 0) {
    MDH_ASSIGN_OR_RETURN(const int64_t page_bytes, database->QueryInteger("PRAGMA page_size"));
    MDH_RETURN_IF_ERROR(database->Execute(
        absl::StrCat("PRAGMA max_page_count = ", options.max_bytes / page_bytes)));
  }
  return database;
}

Result<std::unique_ptr<SqliteDatabase>> OpenReader(const SqliteStoreOptions& options) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database,
                       options.is_read_only ? SqliteDatabase::OpenReadOnly(options.path)
                                            : SqliteDatabase::OpenExisting(options.path));
  MDH_RETURN_IF_ERROR(database->Execute("PRAGMA busy_timeout = 5000; PRAGMA query_only = 1"));
  return database;
}

}  // namespace mdh
