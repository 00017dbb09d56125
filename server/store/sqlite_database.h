// One connection to an SQLite file, with errors as statuses. Knows nothing of what is stored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mdh {

class SqliteDatabase;

// A prepared statement. Not thread-safe. Must not outlive its database.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Binds parameter number `index`, from 1. Text and bytes are copied.
  SqliteStatement& Bind(int index, int64_t value);
  SqliteStatement& BindText(int index, std::string_view value);
  SqliteStatement& BindBytes(int index, std::string_view value);
  SqliteStatement& BindNull(int index);
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
  static Result<SqliteUse> Of(SqliteDatabase& database, const char* sql) {
    MDH_ASSIGN_OR_RETURN(SqliteStatement * statement, database.Prepared(sql));
    return SqliteUse(statement);
  }

  SqliteStatement* operator->() const { return statement_; }
  SqliteStatement& operator*() const { return *statement_; }

 private:
  SqliteStatement* statement_;
};

// A transaction that is rolled back unless it was committed.
class SqliteTransaction {
 public:
  // Takes the write lock at once.
  static Result<std::unique_ptr<SqliteTransaction>> Begin(SqliteDatabase& database);
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
