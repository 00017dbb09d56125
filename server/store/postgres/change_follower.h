// Changes of records in a PostgreSQL database, by whichever daemon: one thread reads them in their
// order and tells the listener.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/store/postgres/postgres_connection.h"
#include "server/store/postgres/postgres_pool.h"
#include "server/store/postgres/postgres_schema.h"
#include "server/store/store.h"

namespace mdh {

struct ChangeFollowerOptions {
  PostgresIdentity identity;  // of the database; it begins after its latest change
  // Of the daemon, which no other one that is connected has; empty: none.
  std::string name = "";
  // How long a name may be another's: the server notices only after seconds that the one who had it
  // was cut off.
  absl::Duration name_patience = absl::Seconds(15);
  // Called with the id and the number of each change, before the listener.
  std::function<void(std::string_view, int64_t)> seen = [](std::string_view, int64_t) {};
};

// Thread-safe. It listens to the channel mdhd_changes, which says that there is something to read,
// and reads once a second anyway, and after each reconnection. While it is connected, its daemon's
// name is taken. It listens for wishes of jobs, too: there the owner is said whom they are for; and
// for jobs that nobody has.
class ChangeFollower {
 public:
  // `pool` must outlive it. Errors: FailedPrecondition if the name is taken; ResourceExhausted; as
  // PostgresConnection::Open.
  static Result<std::unique_ptr<ChangeFollower>> Start(const PostgresPool& pool,
                                                       ChangeFollowerOptions options);
  ~ChangeFollower();

  // From now on `on_change` is told of changes after number `from`, also of those that were read
  // before; of records of these devices only, if there are any. Returns when it knows all that was
  // read.
  void Listen(Store::OnChange on_change, int64_t from, Store::Fingerprints devices)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Store::SetOnWish.
  void ListenForWishes(const std::string& owner, std::function<void()> on_wish)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Store::SetOnNewJobs.
  void ListenForNewJobs(std::function<void()> on_new_jobs) ABSL_LOCKS_EXCLUDED(mutex_);
  // Number of the latest change that was read.
  int64_t latest() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the listener knows all changes up to that one. False if the time was over before,
  // or there is a problem.
  bool Await(int64_t number, absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // OK, or why changes are not read any more: the database is another one than it was, or older,
  // or has forgotten some that were not read.
  Status problem() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Since when changes may be missing; InfiniteFuture: none are.
  absl::Time behind_since() const ABSL_LOCKS_EXCLUDED(mutex_);
  // How long ago all changes were known, by the monotonic clock.
  absl::Duration age() const;

 private:
  ChangeFollower(const PostgresPool& pool, ChangeFollowerOptions options, int wake);
  void Follow();
  // Connects if there is no connection, and reads what is new. Gives whether there may be more.
  Result<bool> Step();
  Result<bool> ReadMore(int64_t after, const Store::Fingerprints& devices);
  Status Connect();
  // Errors: Unavailable if another daemon, or what the server still takes for one, has it.
  Status TakeName(PostgresConnection& connection) const;
  void Hear(const std::vector<PgNotice>& notices) ABSL_LOCKS_EXCLUDED(mutex_);
  void Apply(const PgRow& row) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Pause(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);

  const PostgresPool& pool_;
  const ChangeFollowerOptions options_;
  const int wake_;                                  // an eventfd
  std::unique_ptr<PostgresConnection> connection_;  // of the thread
  // Of the thread: what it reads over that connection, for these devices; empty: not known yet.
  std::string query_;
  Store::Fingerprints query_devices_;
  mutable absl::Mutex mutex_;
  Store::OnChange on_change_ ABSL_GUARDED_BY(mutex_);
  Store::Fingerprints devices_ ABSL_GUARDED_BY(mutex_);  // whose records it is told of; none: all
  std::string owner_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_wish_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_new_jobs_ ABSL_GUARDED_BY(mutex_);
  int64_t told_ ABSL_GUARDED_BY(mutex_);    // the listener knows it
  int64_t latest_ ABSL_GUARDED_BY(mutex_);  // never goes back
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  Status problem_ ABSL_GUARDED_BY(mutex_);
  absl::Time behind_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::atomic<int64_t> heard_ns_;  // when the server last said that there is no more
  std::thread thread_;
};

}  // namespace mdh
