// The connections of a store, and how long its calls wait for a server that is not there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "proto/error_details.h"
#include "server/store/postgres/postgres_connection.h"

namespace mdh {

struct PostgresPoolOptions {
  std::string address;
  PgAccess access = PgAccess::kReadWrite;
  int most_connections = 8;
  absl::Duration patience = absl::Seconds(2);
};

// Whether what was sent over a connection that broke may be sent again: it does no harm if it was
// done already.
enum class PgRepeat { kMayRepeat, kOnce };

// Thread-safe.
class PostgresPool {
 public:
  explicit PostgresPool(PostgresPoolOptions options) : options_(std::move(options)) {}

  // Gives what `work` gives, which is called with a connection of its own, and again, with another
  // one, while the server is not there, as long as the patience lasts. Errors: Unavailable, which
  // says when to come again; what `work` gives.
  template <typename Work>
  auto Run(PgRepeat repeat, const Work& work)
      -> decltype(work(std::declval<PostgresConnection&>())) {
    const int64_t deadline_ns = Deadline();
    while (true) {
      Result<std::unique_ptr<PostgresConnection>> connection = Take(deadline_ns);
      if (!connection.ok()) return Note(connection.status());
      auto result = work(**connection);
      const Status status = StatusOf(result);
      GiveBack(*std::move(connection), status);
      if (!absl::IsUnavailable(status)) {
        Note(absl::OkStatus()).IgnoreError();
        return result;
      }
      if (repeat == PgRepeat::kOnce || !WaitToRepeat(deadline_ns)) return Note(status);
    }
  }

  // Gives what `work` gives with any server of the address, also where none can be written: then
  // on a connection for this call alone. For what may be as old as a standby has it.
  template <typename Work>
  auto RunOnAny(const Work& work) -> decltype(work(std::declval<PostgresConnection&>())) {
    auto result = Run(PgRepeat::kMayRepeat, work);
    if (!IsReadOnlyServer(StatusOf(result))) return result;
    MDH_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> connection,
                         PostgresConnection::Open(options_.address, PgAccess::kReadOnly));
    return work(*connection);
  }

  // Why the latest call found no server; OK if it found one.
  Status health() const ABSL_LOCKS_EXCLUDED(mutex_);
  const PostgresPoolOptions& options() const { return options_; }
  // Connects beside the others. Errors: as PostgresConnection::Open.
  Result<std::unique_ptr<PostgresConnection>> Connect() const {
    return PostgresConnection::Open(options_.address, options_.access);
  }

 private:
  static Status StatusOf(const Status& status) { return status; }
  template <typename T>
  static Status StatusOf(const Result<T>& result) {
    return result.status();
  }
  int64_t Deadline() const;
  // False if the time is over.
  static bool WaitToRepeat(int64_t deadline_ns);
  Result<std::unique_ptr<PostgresConnection>> Take(int64_t deadline_ns) ABSL_LOCKS_EXCLUDED(mutex_);
  // An idle one, or null after counting one that is to be opened. Errors: Unavailable.
  Result<std::unique_ptr<PostgresConnection>> TakeIdle(int64_t deadline_ns)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(std::unique_ptr<PostgresConnection> connection, const Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives it, with when to come again.
  Status Note(Status status) ABSL_LOCKS_EXCLUDED(mutex_);

  const PostgresPoolOptions options_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<PostgresConnection>> idle_ ABSL_GUARDED_BY(mutex_);
  int count_ ABSL_GUARDED_BY(mutex_) = 0;  // with those that are used
  Status health_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
