#include "server/store/sqlite/sqlite_database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/store/crc32.h"
#include "server/store/file_lock.h"

namespace mdh {
namespace {

void Crc32(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* const bytes = static_cast<const char*>(sqlite3_value_blob(values[0]));
  const auto size = static_cast<size_t>(sqlite3_value_bytes(values[0]));
  sqlite3_result_int64(context, Crc32Of({bytes, size}));
}

// The path in a URI, where some characters have a meaning.
std::string UriPath(const std::string& path) {
  return absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::BindNumber(int index, int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
}

void SqliteStatement::Bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}

void SqliteStatement::Bind(int index, const SqliteBytes& value) {
  sqlite3_bind_blob64(statement_.get(), index, value.bytes.data(), value.bytes.size(),
                      SQLITE_TRANSIENT);
}

void SqliteStatement::Bind(int index, const SqliteTextOrNull& value) {
  if (value.text.empty()) {
    sqlite3_bind_null(statement_.get(), index);
  } else {
    Bind(index, value.text);
  }
}

Result<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->Error();
}

Status SqliteStatement::Run() {
  // At the end, so that no read transaction stays open.
  const absl::Cleanup reset = [this] { Reset(); };
  while (true) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, Step());
    if (!has_row) return absl::OkStatus();
  }
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

int64_t SqliteStatement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::View(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(data), data == nullptr ? 0 : static_cast<size_t>(size)};
}

void SqliteDatabase::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path) {
  return OpenAs(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenExisting(const std::string& path) {
  return OpenAs(path, path, SQLITE_OPEN_READWRITE);
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenReadOnly(const std::string& path) {
  std::error_code error;
  const auto wal_bytes = std::filesystem::file_size(path + "-wal", error);
  const bool has_wal = !error && wal_bytes > 0;
  if (has_wal && !std::filesystem::exists(path + "-shm")) {
    return FailedPrecondition(
        "database ", path, " has changes in ", path,
        "-wal that must be taken over first, where both files can be written");
  }
  // Without changes beside it the file is all: no locks, which would be files of their own.
  const std::string name =
      absl::StrCat("file:", UriPath(path), has_wal ? "?mode=ro" : "?mode=ro&immutable=1");
  return OpenAs(path, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenAs(const std::string& path,
                                                               const std::string& name, int flags) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &connection,
                                   flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path, connection));
  if (connection == nullptr) return ResourceExhausted("out of memory in SQLite");
  if (code != SQLITE_OK) return database->Error();
  if (sqlite3_create_function(connection, "crc32", 1,
                              SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr, Crc32,
                              nullptr, nullptr) != SQLITE_OK) {
    return database->Error();
  }
  return database;
}

Result<SqliteStatement> SqliteDatabase::Prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
                         nullptr) != SQLITE_OK) {
    return Error();
  }
  return SqliteStatement(this, statement);
}

Result<SqliteStatement*> SqliteDatabase::Prepared(const char* sql) {
  const auto known = prepared_.find(sql);
  if (known != prepared_.end()) return &known->second;
  MDH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  return &prepared_.emplace(sql, std::move(statement)).first->second;
}

bool SqliteDatabase::IsInTransaction() const {
  return sqlite3_get_autocommit(connection_.get()) == 0;
}

Status SqliteDatabase::CopyTo(const std::string& path) {
  if (std::filesystem::exists(path)) return AlreadyExists("file ", path, " is there already");
  const std::string unfinished = path + ".part";
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  std::filesystem::remove(unfinished + "-journal", ignored);
  // What nobody holds is left over (RemoveUnfinishedCopies).
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, FileLock::Acquire(unfinished));
  const Status copied = CopyPagesTo(unfinished);
  std::error_code error;
  if (copied.ok()) std::filesystem::rename(unfinished, path, error);
  if (copied.ok() && !error) return absl::OkStatus();
  std::filesystem::remove(unfinished, ignored);
  if (!copied.ok()) return copied;
  return FailedPrecondition("file ", path, ": ", error.message());
}

Status SqliteDatabase::CopyPagesTo(const std::string& path) {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteDatabase> copy, Open(path));
  MDH_RETURN_IF_ERROR(copy->Execute("PRAGMA synchronous = FULL"));
  sqlite3_backup* backup =
      sqlite3_backup_init(copy->connection_.get(), "main", connection_.get(), "main");
  if (backup == nullptr) return copy->Error();
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return copy->Error();
  return absl::OkStatus();
}

Status SqliteDatabase::Execute(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Error();
  }
  return absl::OkStatus();
}

Result<int64_t> SqliteDatabase::QueryInteger(const char* sql) {
  MDH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  MDH_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return NotFound("no row: ", sql);
  return statement.Integer(0);
}

Result<std::string> SqliteDatabase::QueryText(const char* sql) {
  MDH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  MDH_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) return NotFound("no row: ", sql);
  return statement.Bytes(0);
}

void SqliteDatabase::Interrupt() { sqlite3_interrupt(connection_.get()); }

int64_t SqliteDatabase::Changes() const { return sqlite3_changes64(connection_.get()); }

bool SqliteDatabase::HasReadFailed() const {
  int of_file = 0;
  int of_log = 0;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_LAST_ERRNO, &of_file);
  sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
  }
  return of_file == EIO || of_log == EIO;
}

Status SqliteDatabase::Error() const {
  const int code = sqlite3_extended_errcode(connection_.get());
  const std::string database = absl::StrCat("database ", path_);
  const std::string reason = sqlite3_errmsg(connection_.get());
  // What the system said last, perhaps of another error.
  const int system_error = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN
                               ? sqlite3_system_errno(connection_.get())
                               : 0;
  if (code == SQLITE_FULL || system_error == ENOSPC || system_error == EDQUOT) {
    return ResourceExhausted(database,
                             ": the disk is full or the database's size limit is reached");
  }
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      return AlreadyExists(database, ": ", reason);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(database, " is busy: ", reason);
    case SQLITE_INTERRUPT:
      return Cancelled(database, ": ", reason);
    case SQLITE_IOERR:
      return Unavailable(database, ": the disk failed: ", reason);
    case SQLITE_NOTADB:
      return FailedPrecondition(database, " is no SQLite database");
    case SQLITE_CORRUPT:
      // So SQLite calls what the disk does not give, too, which may pass.
      if (HasReadFailed()) return Unavailable(database, ": the disk failed: ", std::strerror(EIO));
      return FailedPrecondition(database, " is damaged: ", reason);
    case SQLITE_CANTOPEN:
      return FailedPrecondition(database, " cannot be opened: ", reason);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return FailedPrecondition(database, " cannot be written: ", reason);
    default:
      return Internal(database, ": ", reason);
  }
}

Result<std::unique_ptr<SqliteTransaction>> SqliteTransaction::Begin(SqliteDatabase& database) {
  MDH_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return std::unique_ptr<SqliteTransaction>(new SqliteTransaction(database));
}

Result<std::unique_ptr<SqliteTransaction>> SqliteTransaction::BeginToRead(
    SqliteDatabase& database) {
  MDH_RETURN_IF_ERROR(database.Execute("BEGIN"));
  return std::unique_ptr<SqliteTransaction>(new SqliteTransaction(database));
}

SqliteTransaction::~SqliteTransaction() {
  // SQLite may have rolled back by itself (disk full); then this is an error without consequence.
  if (is_open_) database_.Execute("ROLLBACK").IgnoreError();
}

Status SqliteTransaction::Commit() {
  MDH_RETURN_IF_ERROR(database_.Execute("COMMIT"));
  is_open_ = false;
  return absl::OkStatus();
}

}  // namespace mdh
