#include "server/store/postgres/postgres_connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/postgres/postgres_address.h"
#include "server/store/postgres/sql_state.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr int kLeastVersion = 140'000;

// Of every connection, unless the address says otherwise: a server that is cut off is noticed in
// seconds.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"connect_timeout", "2"},  {"tcp_user_timeout", "5000"},
    {"keepalives_idle", "3"},  {"keepalives_interval", "2"},
    {"keepalives_count", "3"}, {"fallback_application_name", "mdhd"},
};

// So is one that is gone, by the server: what it has locked is free after some ten seconds.
constexpr const char* kSession =
    "SET client_encoding = 'UTF8'; SET client_min_messages = warning; SET lock_timeout = '10s';"
    "SET idle_in_transaction_session_timeout = '15s'; SET synchronous_commit = on;"
    "SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = '8s'";

// libpq has no SQLSTATE for a connection that was refused, only sentences.
constexpr const char* kLastingRefusals[] = {
    "authentication failed", "no password supplied",        "no pg_hba.conf entry",
    "does not exist",        "is not permitted to log in",  "permission denied for database",
    "certificate",           "server does not support SSL", "invalid ",
};

Status RefusalOf(const std::string& address, std::string_view message) {
  const std::string text = absl::StrCat("database ", WithoutSecrets(address), ": ",
                                        absl::StripAsciiWhitespace(std::string(message)));
  // Of several servers each has a sentence, one of which may be that it is not there now.
  const bool is_passing = absl::StrContains(text, "is the server running") ||
                          absl::StrContains(text, "timeout expired") ||
                          absl::StrContains(text, "database system is") ||
                          absl::StrContains(text, "server closed the connection");
  const bool is_lasting =
      !is_passing && std::any_of(std::begin(kLastingRefusals), std::end(kLastingRefusals),
                                 [&](const char* part) { return absl::StrContains(text, part); });
  if (is_lasting) return absl::FailedPreconditionError(text);
  return absl::UnavailableError(text);
}

// As libpq says it.
constexpr const char* kReadOnly = "session is read-only";

pollfd ReadableOf(int descriptor) { return {.fd = descriptor, .events = POLLIN, .revents = 0}; }

}  // namespace

bool IsReadOnlyServer(const Status& refusal) {
  return absl::IsUnavailable(refusal) && absl::StrContains(refusal.message(), kReadOnly);
}

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::Open(const std::string& address,
                                                                     PgAccess access) {
  MDH_RETURN_IF_ERROR(CheckPostgresAddress(address));
  MDH_ASSIGN_OR_RETURN(const Libpq* const libpq, Libpq::Load());
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto add = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  for (const auto& [name, value] : kDefaults) add(name, value);
  add("dbname", address.c_str());  // what it says goes before what is above
  add("target_session_attrs", access == PgAccess::kReadWrite ? "read-write" : "any");
  add(nullptr, nullptr);
  Handle handle(libpq->connectdbParams(names.data(), values.data(), /*expand_dbname=*/1),
                libpq->finish);
  if (handle == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
  if (libpq->status(handle.get()) != kPgConnectionOk) {
    return RefusalOf(address, libpq->errorMessage(handle.get()));
  }
  libpq->setNoticeProcessor(
      handle.get(), [](void*, const char*) {}, nullptr);
  const int version = libpq->serverVersion(handle.get());
  if (version < kLeastVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", WithoutSecrets(address), " is on a server of PostgreSQL ",
                     version / 10'000, ": mdhd needs 14 or later"));
  }
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(*libpq, std::move(handle)));
  MDH_RETURN_IF_ERROR(connection->RunScript(kSession));
  return connection;
}

Status PostgresConnection::Broken(std::string_view why) {
  is_broken_ = true;
  return StatusOfSqlState("", why);
}

Status PostgresConnection::StatusOf(const pg_result* result) const {
  switch (libpq_.resultStatus(result)) {
    case kPgCommandOk:
    case kPgTuplesOk:
    case kPgCopyOut:
    case kPgPipelineSync:
      return absl::OkStatus();
    case kPgPipelineAborted:
      return absl::AbortedError("an earlier statement failed");
    default: {
      const char* const state = libpq_.resultErrorField(result, kPgSqlState);
      return StatusOfSqlState(state == nullptr ? "" : state, libpq_.resultErrorMessage(result));
    }
  }
}

Result<PostgresConnection::ResultHandle> PostgresConnection::Next(int64_t deadline_ns) {
  while (libpq_.isBusy(handle_.get()) != 0) {
    pollfd readable = ReadableOf(libpq_.socket(handle_.get()));
    const int64_t left_ns = std::max<int64_t>(deadline_ns - NowNs(), 0);
    const int ready = poll(&readable, 1, static_cast<int>(left_ns / 1'000'000) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Broken("the server does not answer");
    if (libpq_.consumeInput(handle_.get()) == 0) return Broken(libpq_.errorMessage(handle_.get()));
  }
  ResultHandle result = Hold(libpq_.getResult(handle_.get()));
  if (result != nullptr && libpq_.status(handle_.get()) != kPgConnectionOk) is_broken_ = true;
  return result;
}

Result<PostgresConnection::ResultHandle> PostgresConnection::Finish() {
  const int64_t deadline_ns = Deadline();
  ResultHandle last = Hold(nullptr);
  Status status;
  while (true) {
    MDH_ASSIGN_OR_RETURN(ResultHandle next, Next(deadline_ns));
    if (next == nullptr) break;
    status.Update(StatusOf(next.get()));
    last = std::move(next);
  }
  if (last == nullptr) return Broken("the server gave no result");
  MDH_RETURN_IF_ERROR(status);
  return last;
}

int64_t PostgresConnection::Deadline() const {
  return NowNs() + absl::ToInt64Nanoseconds(patience_);
}

bool PostgresConnection::IsAlive() {
  pollfd readable = ReadableOf(libpq_.socket(handle_.get()));
  if (poll(&readable, 1, 0) != 0) is_broken_ |= libpq_.consumeInput(handle_.get()) == 0;
  return !is_broken_;
}

Status PostgresConnection::RunScript(const std::string& script) {
  if (libpq_.sendQuery(handle_.get(), script.c_str()) == 0) {
    return Broken(libpq_.errorMessage(handle_.get()));
  }
  return Finish().status();
}

Result<std::string> PostgresConnection::Prepared(const char* sql) {
  const auto found = prepared_.find(sql);
  if (found != prepared_.end()) return found->second;
  const std::string name = absl::StrCat("s", prepared_.size());
  if (libpq_.sendPrepare(handle_.get(), name.c_str(), sql, 0, nullptr) == 0) {
    return Broken(libpq_.errorMessage(handle_.get()));
  }
  MDH_RETURN_IF_ERROR(Finish().status());
  prepared_[sql] = name;
  return name;
}

Status PostgresConnection::Send(const std::string& name, const PgStatement& statement) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const PgValue& value : statement.values) {
    values.push_back(value.data().has_value() ? value.data()->data() : nullptr);
    lengths.push_back(value.data().has_value() ? static_cast<int>(value.data()->size()) : 0);
    formats.push_back(value.is_binary() ? 1 : 0);
  }
  const int is_sent =
      libpq_.sendQueryPrepared(handle_.get(), name.c_str(), static_cast<int>(values.size()),
                               values.data(), lengths.data(), formats.data(), /*result_format=*/1);
  return is_sent == 0 ? Broken(libpq_.errorMessage(handle_.get())) : absl::OkStatus();
}

Result<PgRows> PostgresConnection::RunOne(const PgStatement& statement) {
  MDH_ASSIGN_OR_RETURN(const std::string name, Prepared(statement.sql));
  MDH_RETURN_IF_ERROR(Send(name, statement));
  MDH_ASSIGN_OR_RETURN(ResultHandle result, Finish());
  return PgRows(libpq_, result.release());
}

Status PostgresConnection::FinishPipeline(size_t count, std::vector<PgRows>& rows) {
  Status status;
  for (size_t n = 0; n < count; ++n) {
    Result<ResultHandle> result = Finish();
    if (is_broken_) return result.status();
    // The first error; the statements after it were not run.
    if (status.ok() && !result.ok()) status = result.status();
    if (status.ok()) rows.emplace_back(libpq_, (*result).release());
  }
  MDH_ASSIGN_OR_RETURN(const ResultHandle sync, Next(Deadline()));
  if (sync == nullptr || libpq_.resultStatus(sync.get()) != kPgPipelineSync) {
    return Broken("the server did not end the transaction");
  }
  // The commit, if there was no BEGIN, is a part of the synchronisation.
  return status;
}

Result<std::vector<PgRows>> PostgresConnection::RunTogether(
    absl::Span<const PgStatement> statements) {
  std::vector<std::string> names;
  for (const PgStatement& statement : statements) {
    MDH_ASSIGN_OR_RETURN(names.emplace_back(), Prepared(statement.sql));
  }
  if (libpq_.enterPipelineMode(handle_.get()) == 0) return Broken("no pipeline");
  for (size_t n = 0; n < statements.size(); ++n) {
    MDH_RETURN_IF_ERROR(Send(names[n], statements[n]));
  }
  if (libpq_.pipelineSync(handle_.get()) == 0) return Broken(libpq_.errorMessage(handle_.get()));
  std::vector<PgRows> rows;
  const Status status = FinishPipeline(statements.size(), rows);
  if (!is_broken_ && libpq_.exitPipelineMode(handle_.get()) == 0) {
    return Broken(libpq_.errorMessage(handle_.get()));
  }
  MDH_RETURN_IF_ERROR(status);
  return rows;
}

Status PostgresConnection::CopyOut(const std::string& sql,
                                   const std::function<Status(std::string_view)>& take) {
  if (libpq_.sendQuery(handle_.get(), sql.c_str()) == 0) {
    return Broken(libpq_.errorMessage(handle_.get()));
  }
  MDH_ASSIGN_OR_RETURN(const ResultHandle begin, Next(Deadline()));
  if (begin == nullptr) return Broken("the server gave no result");
  MDH_RETURN_IF_ERROR(StatusOf(begin.get()));
  Status status;
  while (status.ok()) {
    char* piece = nullptr;
    const int size = libpq_.getCopyData(handle_.get(), &piece, /*async=*/0);
    if (size == -1) return Finish().status();
    if (size < 0) return Broken(libpq_.errorMessage(handle_.get()));
    status = take({piece, static_cast<size_t>(size)});
    libpq_.freemem(piece);
  }
  is_broken_ = true;  // what is left of it is not read
  return status;
}

Result<std::vector<PgNotice>> PostgresConnection::AwaitNotice(int wake, absl::Duration timeout) {
  std::vector<PgNotice> notices;
  const auto take_notices = [&] {
    while (PgNotify* const notice = libpq_.notifies(handle_.get())) {
      notices.push_back({notice->channel, notice->payload});
      libpq_.freemem(notice);
    }
  };
  take_notices();
  if (!notices.empty()) return notices;
  pollfd files[] = {ReadableOf(libpq_.socket(handle_.get())), ReadableOf(wake)};
  const int ready = poll(files, 2, static_cast<int>(absl::ToInt64Milliseconds(timeout)));
  if (ready <= 0 || files[0].revents == 0) return notices;
  if (libpq_.consumeInput(handle_.get()) == 0) return Broken(libpq_.errorMessage(handle_.get()));
  take_notices();
  return notices;
}

Result<std::unique_ptr<PostgresTransaction>> PostgresTransaction::Begin(
    PostgresConnection& connection) {
  MDH_RETURN_IF_ERROR(connection.Run("BEGIN").status());
  return std::unique_ptr<PostgresTransaction>(new PostgresTransaction(connection));
}

Result<std::unique_ptr<PostgresTransaction>> PostgresTransaction::Begin(
    PostgresConnection& connection, std::vector<PgStatement> statements,
    std::vector<PgRows>& rows) {
  std::unique_ptr<PostgresTransaction> transaction(new PostgresTransaction(connection));
  statements.insert(statements.begin(), PgStatement{"BEGIN"});
  MDH_ASSIGN_OR_RETURN(rows, connection.RunTogether(statements));
  rows.erase(rows.begin());
  return transaction;
}

Result<std::unique_ptr<PostgresTransaction>> PostgresTransaction::BeginToRead(
    PostgresConnection& connection) {
  MDH_RETURN_IF_ERROR(connection.Run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").status());
  return std::unique_ptr<PostgresTransaction>(new PostgresTransaction(connection));
}

PostgresTransaction::~PostgresTransaction() {
  if (!is_open_ || connection_.is_broken()) return;
  if (!connection_.RunScript("ROLLBACK").ok()) connection_.is_broken_ = true;
}

Status PostgresTransaction::Commit(std::vector<PgStatement> statements) {
  statements.push_back({"COMMIT"});
  MDH_ASSIGN_OR_RETURN(const std::vector<PgRows> rows, connection_.RunTogether(statements));
  is_open_ = false;
  return absl::OkStatus();
}

}  // namespace mdh
