#include "server/store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "server/store/sqlite/database_locks.h"
#include "server/store/sqlite/sqlite_connection.h"
#include "server/store/sqlite/sqlite_opened_store.h"
#include "server/store/sqlite/sqlite_schema.h"
#include "server/store/sqlite/sqlite_study_store.h"

namespace mdh {
namespace {

// Whether an SQLite database at that path could be changed, as far as permissions tell. One that is
// not there can be made or not, which is seen when it is.
bool MayBeWritten(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const auto may_write = [](const char* file) {
    if (faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) == 0) return true;
    return errno != EACCES && errno != EPERM && errno != EROFS;
  };
  return may_write(path.c_str()) && may_write(folder.empty() ? "." : folder.c_str());
}

// `why`: nothing can be written.
Result<std::unique_ptr<Store>> OpenReadOnlyStore(SqliteStoreOptions options, Status why) {
  options.is_read_only = true;
  MDH_ASSIGN_OR_RETURN(DatabaseLocks locks, DatabaseLocks::Share(options.path));
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> reader, OpenReader(options));
  MDH_ASSIGN_OR_RETURN(const PagesChecked checked, CheckSchema(*reader, options.max_checked_bytes));
  auto store =
      std::make_unique<SqliteStore>(options, std::move(locks), std::move(why), std::move(reader));
  MDH_RETURN_IF_ERROR(store->Prepare(checked, /*is_new=*/false));
  return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> OpenWritableStore(const SqliteStoreOptions& options) {
  const std::string& path = options.path;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return FailedPrecondition("folder ", folder.string(), " for database ", path, ": ",
                              error.message());
  }
  MDH_ASSIGN_OR_RETURN(DatabaseLocks locks, DatabaseLocks::Acquire(path));
  const bool is_new = std::filesystem::file_size(path, error) == 0;
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> writer, OpenConnection(options));
  MDH_ASSIGN_OR_RETURN(const PagesChecked checked,
                       PrepareSchema(*writer, options.max_checked_bytes));
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> reader, OpenReader(options));
  auto store = std::make_unique<SqliteStore>(options, std::move(locks), std::move(writer),
                                             std::move(reader));
  MDH_RETURN_IF_ERROR(store->Prepare(checked, is_new));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteStoreOptions& options) {
  if (options.is_read_only || !MayBeWritten(options.path)) {
    return OpenReadOnlyStore(options, FailedPrecondition("database ", options.path,
                                                         " is read-only: nothing can be written"));
  }
  Result<std::unique_ptr<Store>> store = OpenWritableStore(options);
  if (!absl::IsResourceExhausted(store.status())) return store;
  // Even what a writer needs beside the database finds no room. What is stored can be read.
  const Status full = ResourceExhausted(
      std::string(store.status().message()),
      "; nothing can be written until mdhd is started again with room on the disk");
  Result<std::unique_ptr<Store>> readable = OpenReadOnlyStore(options, full);
  return readable.ok() ? std::move(readable) : std::move(store);
}

Result<std::unique_ptr<StudyStore>> SqliteStore::OpenStudies() {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> reader, OpenReader(options_));
  return MakeSqliteStudyStore(writer_, std::move(reader));
}

Status SqliteStore::CheckClaim(const JobClaim& claim) {
  return ReadWith([&](SqliteDatabase& database) -> Status {
    MDH_ASSIGN_OR_RETURN(const int64_t held,
                         NumberFromSql(database,
                                       "SELECT count(*) FROM jobs WHERE number = ?1 AND epoch = ?2"
                                       " AND is_finished = 0",
                                       claim.number, claim.epoch));
    if (held > 0) return absl::OkStatus();
    return Aborted("job ", claim.number, " was taken over by another, or has ended");
  });
}

}  // namespace mdh
