// One connection to an SQLite file, with errors as statuses. Knows nothing of what is stored.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mdh {

class SqliteDatabase;

// Values of parameters, beside whole numbers and text.
struct SqliteBytes {
  std::string bytes;
};
struct SqliteTextOrNull {
  std::string_view text;  // empty: NULL
};

// A prepared statement. Not thread-safe. Must not outlive its database.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Binds parameter number `index`, from 1. Text and bytes are copied.
  void Bind(int index, std::integral auto value) { BindNumber(index, static_cast<int64_t>(value)); }
  void Bind(int index, std::string_view text);
  void Bind(int index, const SqliteBytes& bytes);
  void Bind(int index, const SqliteTextOrNull& text);
  // True if there is a row to read.
  Result<bool> Step();
  // Steps to the end and resets.
  Status Run();
  // Ends the execution and clears the parameters; then it can be used again.
  void Reset();

  // Columns of the current row, from 0.
  int64_t Integer(int column) const;
  std::string Bytes(int column) const { return std::string(View(column)); }  // of text or bytes
  // The same, until the next step.
  std::string_view View(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(const SqliteDatabase* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  void BindNumber(int index, int64_t value);
  const SqliteDatabase* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqliteDatabase {
 public:
  // Opens the file, or makes it. Statements know a function crc32(bytes), the CRC-32 of zlib.
  // Errors: FailedPrecondition (no such folder, no permission).
  static Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path);
  // The same of a file that is there. Errors: FailedPrecondition, also if it is not.
  static Result<std::unique_ptr<SqliteDatabase>> OpenExisting(const std::string& path);
  // Opens a file that nobody writes while it is open, in a folder that need not be writable.
  // Errors: FailedPrecondition if that cannot be read; so also if a process that was killed has
  // left changes beside the file and not their index.
  static Result<std::unique_ptr<SqliteDatabase>> OpenReadOnly(const std::string& path);

  Result<SqliteStatement> Prepare(const char* sql);
  // Prepared by the first call and kept. Use it through SqliteUse.
  Result<SqliteStatement*> Prepared(const char* sql);
  // Runs statements that give no rows.
  Status Execute(const std::string& sql);
  // The first column of the first row. Errors: NotFound if there is no row.
  Result<int64_t> QueryInteger(const char* sql);
  Result<std::string> QueryText(const char* sql);
  // Rows that the last statement changed.
  int64_t Changes() const;

  // Whether the system gave an input/output error on the file or its log.
  bool HasReadFailed() const;
  // The latest error: ResourceExhausted (disk full), AlreadyExists (a constraint), Unavailable
  // (busy, or the disk failed), FailedPrecondition (no database, damaged, not writable, cannot be
  // opened), Cancelled (Interrupt) or Internal.
  Status Error() const;
  const std::string& path() const { return path_; }
  bool IsInTransaction() const;

  // Looks through all pages: "ok", or what is wrong. Errors: Cancelled after Interrupt.
  Result<std::string> QuickCheck() { return QueryText("PRAGMA quick_check(1)"); }
  // Ends what is being done with the connection. By any thread.
  void Interrupt();

  // Copies what is committed to a new file, page by page, while others use the database. The copy
  // is on the disk when this returns; on errors there is none. Errors: AlreadyExists; as Error.
  Status CopyTo(const std::string& path);

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  SqliteDatabase(std::string path, sqlite3* connection)
      : path_(std::move(path)), connection_(connection) {}
  static Result<std::unique_ptr<SqliteDatabase>> OpenAs(const std::string& path,
                                                        const std::string& name, int flags);
  Status CopyPagesTo(const std::string& path);

  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
  // Before the connection is closed they are finalized.
  std::map<std::string, SqliteStatement> prepared_;
};

// A kept statement, reset at the end of a scope so that no read transaction stays open.
class SqliteUse {
 public:
  explicit SqliteUse(SqliteStatement* statement) : statement_(statement) {}
  ~SqliteUse() {
    if (statement_ != nullptr) statement_->Reset();
  }
  SqliteUse(SqliteUse&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  SqliteUse(const SqliteUse&) = delete;
  SqliteUse& operator=(const SqliteUse&) = delete;
  // `values`: of its parameters, from the first.
  template <typename... Values>
  static Result<SqliteUse> Of(SqliteDatabase& database, const char* sql, const Values&... values) {
    MDH_ASSIGN_OR_RETURN(SqliteStatement * statement, database.Prepared(sql));
    SqliteUse use(statement);
    int index = 0;
    (statement->Bind(++index, values), ...);
    return use;
  }

  SqliteStatement* operator->() const { return statement_; }
  SqliteStatement& operator*() const { return *statement_; }

 private:
  SqliteStatement* statement_;
};

// Runs a kept statement that gives no rows.
template <typename... Values>
Status RunSql(SqliteDatabase& database, const char* sql, const Values&... values) {
  MDH_ASSIGN_OR_RETURN(SqliteUse use, SqliteUse::Of(database, sql, values...));
  return use->Run();
}

// Runs one that gives one row, and gives the number in its first column. Errors: NotFound if it
// gives none.
template <typename... Values>
Result<int64_t> NumberFromSql(SqliteDatabase& database, const char* sql, const Values&... values) {
  MDH_ASSIGN_OR_RETURN(SqliteUse use, SqliteUse::Of(database, sql, values...));
  MDH_ASSIGN_OR_RETURN(const bool has_row, use->Step());
  if (!has_row) return NotFound("there is no row");
  const int64_t number = use->Integer(0);
  MDH_RETURN_IF_ERROR(use->Step().status());
  return number;
}

// Calls `take` for every row, until that gives an error.
template <typename Take>
Status ForEachRow(SqliteStatement& rows, const Take& take) {
  while (true) {
    MDH_ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(take(std::as_const(rows)));
  }
}

// What `read` makes of the first row of a kept statement; nullopt: there is none.
template <typename Read, typename... Values>
auto FirstRow(SqliteDatabase& database, const Read& read, const char* sql, const Values&... values)
    -> Result<std::optional<typename decltype(read(SqliteStatement()))::value_type>> {
  MDH_ASSIGN_OR_RETURN(SqliteUse use, SqliteUse::Of(database, sql, values...));
  MDH_ASSIGN_OR_RETURN(const bool has_row, use->Step());
  if (!has_row) return std::nullopt;
  return read(*use);
}

// What `read` makes of all of them.
template <typename Read, typename... Values>
auto AllRows(SqliteDatabase& database, const Read& read, const char* sql, const Values&... values)
    -> Result<std::vector<typename decltype(read(SqliteStatement()))::value_type>> {
  MDH_ASSIGN_OR_RETURN(SqliteUse use, SqliteUse::Of(database, sql, values...));
  std::vector<typename decltype(read(SqliteStatement()))::value_type> all;
  MDH_RETURN_IF_ERROR(ForEachRow(*use, [&](const SqliteStatement& row) -> Status {
    MDH_ASSIGN_OR_RETURN(all.emplace_back(), read(row));
    return absl::OkStatus();
  }));
  return all;
}

// A transaction that is rolled back unless it was committed.
class SqliteTransaction {
 public:
  // Takes the write lock at once.
  static Result<std::unique_ptr<SqliteTransaction>> Begin(SqliteDatabase& database);
  // What is read in it is all of one moment.
  static Result<std::unique_ptr<SqliteTransaction>> BeginToRead(SqliteDatabase& database);
  ~SqliteTransaction();
  Status Commit();
  // False if SQLite has rolled it back by itself.
  bool IsOpen() const { return database_.IsInTransaction(); }

 private:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(database) {}
  SqliteDatabase& database_;
  bool is_open_ = true;
};

}  // namespace mdh
