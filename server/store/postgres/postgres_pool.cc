#include "server/store/postgres/postgres_pool.h"

#include "absl/time/clock.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(50);  // between two attempts
constexpr absl::Duration kComeAgain = absl::Seconds(1);    // for who was refused

}  // namespace

int64_t PostgresPool::Deadline() const {
  return NowNs() + absl::ToInt64Nanoseconds(options_.patience);
}

bool PostgresPool::WaitToRepeat(int64_t deadline_ns) {
  if (NowNs() + absl::ToInt64Nanoseconds(kPause) >= deadline_ns) return false;
  absl::SleepFor(kPause);
  return true;
}

Result<std::unique_ptr<PostgresConnection>> PostgresPool::TakeIdle(int64_t deadline_ns) {
  absl::MutexLock lock(&mutex_);
  const auto may_go_on = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !idle_.empty() || count_ < options_.most_connections;
  };
  const absl::Duration left = absl::Nanoseconds(std::max<int64_t>(deadline_ns - NowNs(), 0));
  if (!mutex_.AwaitWithTimeout(absl::Condition(&may_go_on), left)) {
    return absl::UnavailableError("all connections to the PostgreSQL server are in use");
  }
  if (idle_.empty()) {
    ++count_;
    return nullptr;
  }
  std::unique_ptr<PostgresConnection> connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

Result<std::unique_ptr<PostgresConnection>> PostgresPool::Take(int64_t deadline_ns) {
  while (true) {
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, TakeIdle(deadline_ns));
    if (connection != nullptr && connection->IsAlive()) return connection;
    Result<std::unique_ptr<PostgresConnection>> opened = Connect();
    if (opened.ok()) return opened;
    GiveBack(nullptr, opened.status());
    if (!absl::IsUnavailable(opened.status()) || !WaitToRepeat(deadline_ns)) return opened.status();
  }
}

void PostgresPool::GiveBack(std::unique_ptr<PostgresConnection> connection, const Status& status) {
  const bool is_usable =
      connection != nullptr && !connection->is_broken() && !absl::IsUnavailable(status);
  absl::MutexLock lock(&mutex_);
  if (is_usable) {
    connection->set_patience(PostgresConnection::kPatience);
    idle_.push_back(std::move(connection));
  } else {
    --count_;
  }
}

Status PostgresPool::Note(Status status) {
  absl::MutexLock lock(&mutex_);
  health_ = status;
  return absl::IsUnavailable(status) ? WithRetry(std::move(status), kComeAgain) : status;
}

Status PostgresPool::health() const {
  absl::MutexLock lock(&mutex_);
  return health_;
}

}  // namespace mdh
