// A connection to a PostgreSQL server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "server/store/postgres/libpq.h"
#include "server/store/postgres/postgres_rows.h"

namespace mdh {

// What a connection is for.
enum class PgAccess { kReadWrite, kReadOnly };

// What somebody said with NOTIFY.
struct PgNotice {
  std::string channel;
  std::string payload;
};

// Whether PostgresConnection::Open found servers none of which can be written.
bool IsReadOnlyServer(const Status& refusal);

// Not thread-safe. Errors of every call: as StatusOfSqlState; Unavailable also if the server does
// not answer in time. No error has a password.
class PostgresConnection {
 public:
  // Connects to the first server of the address that takes connections and, for kReadWrite, writes.
  // Errors: Unavailable if there is none now; FailedPrecondition if that will not change by itself
  // (credentials, no such database, a version before 14); InvalidArgument.
  static Result<std::unique_ptr<PostgresConnection>> Open(const std::string& address,
                                                          PgAccess access);

  // Runs statements in one transaction, sent together: all that they say is done, or nothing.
  // Within a PostgresTransaction, in that one. Gives what each gave.
  Result<std::vector<PgRows>> RunTogether(absl::Span<const PgStatement> statements);
  // Runs one.
  template <typename... Values>
  Result<PgRows> Run(const char* sql, const Values&... values) {
    return RunOne({sql, {PgValue(values)...}});
  }
  // Runs statements without parameters, which give no rows, in one transaction.
  Status RunScript(const std::string& script);
  // COPY ... TO STDOUT: calls `take` with each piece, until that gives an error.
  Status CopyOut(const std::string& sql, const std::function<Status(std::string_view)>& take);

  // Waits until the server says something of itself, `wake` (a file descriptor) can be read, or the
  // time is over. Gives what NOTIFY said. Errors: Unavailable.
  Result<std::vector<PgNotice>> AwaitNotice(int wake, absl::Duration timeout);

  // Whether it cannot be used any more.
  bool is_broken() const { return is_broken_; }
  // Looks whether the server has closed it while it was not used.
  bool IsAlive();
  // How long the server may take to answer a statement, unless it is set otherwise.
  static constexpr absl::Duration kPatience = absl::Seconds(30);
  void set_patience(absl::Duration patience) { patience_ = patience; }

 private:
  friend class PostgresTransaction;
  using Handle = std::unique_ptr<pg_conn, void (*)(pg_conn*)>;
  using ResultHandle = std::unique_ptr<pg_result, void (*)(pg_result*)>;

  PostgresConnection(const Libpq& libpq, Handle handle)
      : libpq_(libpq), handle_(std::move(handle)) {}
  Result<PgRows> RunOne(const PgStatement& statement);
  Result<std::string> Prepared(const char* sql);
  Status Send(const std::string& name, const PgStatement& statement);
  // The next result; null at the end of a statement's.
  Result<ResultHandle> Next(int64_t deadline_ns);
  // Reads until the end of a statement. Gives its last result.
  Result<ResultHandle> Finish();
  Status FinishPipeline(size_t count, std::vector<PgRows>& rows);
  Status StatusOf(const pg_result* result) const;
  int64_t Deadline() const;
  Status Broken(std::string_view why);
  ResultHandle Hold(pg_result* result) const { return ResultHandle(result, libpq_.clear); }

  const Libpq& libpq_;
  const Handle handle_;
  absl::Duration patience_ = kPatience;
  bool is_broken_ = false;
  std::map<std::string, std::string> prepared_;  // names, by SQL
};

// Undone unless it was committed.
class PostgresTransaction {
 public:
  static Result<std::unique_ptr<PostgresTransaction>> Begin(PostgresConnection& connection);
  // With statements that are sent with its begin; `rows` is what these gave.
  static Result<std::unique_ptr<PostgresTransaction>> Begin(PostgresConnection& connection,
                                                            std::vector<PgStatement> statements,
                                                            std::vector<PgRows>& rows);
  // One that sees everything as of its begin, and changes nothing.
  static Result<std::unique_ptr<PostgresTransaction>> BeginToRead(PostgresConnection& connection);
  ~PostgresTransaction();
  PostgresTransaction(const PostgresTransaction&) = delete;
  PostgresTransaction& operator=(const PostgresTransaction&) = delete;
  // After the statements, if there are some, which are sent with it.
  Status Commit(std::vector<PgStatement> statements = {});

 private:
  explicit PostgresTransaction(PostgresConnection& connection) : connection_(connection) {}
  PostgresConnection& connection_;
  bool is_open_ = true;
};

}  // namespace mdh
