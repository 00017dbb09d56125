#include "server/store/postgres/change_follower.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/start_thread.h"
#include "server/records/resource_names.h"
#include "server/store/compressed_message.h"
#include "server/store/crc32.h"
#include "server/store/postgres/postgres_address.h"
#include "server/store/postgres/record_copy.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr int kMostAtOnce = 1'000;
// Notifications are hints: one may be lost.
constexpr absl::Duration kLook = absl::Seconds(1);
constexpr absl::Duration kReconnect = absl::Milliseconds(100);
// "MDHd"; the first half of the locks that are names of daemons.
constexpr int kNameLock = 0x4d444864;

// Whatever the change, the record as it is now; none if it is for other devices.
std::string ChangesQuery(const std::string& condition) {
  return absl::StrCat(
      "SELECT c.number, c.kind, c.id, coalesce(c.removed, r.record), r.crc32, r.is_pinned"
      " FROM mdhd.changes c LEFT JOIN mdhd.records r ON r.id = c.id AND ",
      condition, " WHERE c.number > $1 ORDER BY c.number LIMIT $2");
}

}  // namespace

Result<std::unique_ptr<ChangeFollower>> ChangeFollower::Start(const PostgresPool& pool,
                                                              ChangeFollowerOptions options) {
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return absl::ResourceExhaustedError("there is no descriptor for an event");
  const int64_t deadline_ns = NowNs() + absl::ToInt64Nanoseconds(options.name_patience);
  std::unique_ptr<ChangeFollower> follower(new ChangeFollower(pool, std::move(options), wake));
  Status connected = follower->Connect();
  while (absl::IsUnavailable(connected) && NowNs() < deadline_ns) {
    absl::SleepFor(kReconnect);
    connected = follower->Connect();
  }
  if (absl::IsUnavailable(connected)) {
    return absl::FailedPreconditionError(std::string(connected.message()));
  }
  MDH_RETURN_IF_ERROR(connected);
  MDH_ASSIGN_OR_RETURN(follower->thread_, StartThread([raw = follower.get()] { raw->Follow(); }));
  return follower;
}

ChangeFollower::ChangeFollower(const PostgresPool& pool, ChangeFollowerOptions options, int wake)
    : pool_(pool),
      options_(std::move(options)),
      wake_(wake),
      told_(options_.identity.latest_change),
      latest_(options_.identity.latest_change),
      heard_ns_(NowNs()) {}

ChangeFollower::~ChangeFollower() {
  {
    absl::MutexLock lock(&mutex_);
    is_ending_ = true;
  }
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  close(wake_);
}

void ChangeFollower::Listen(Store::OnChange on_change, int64_t from, Store::Fingerprints devices) {
  absl::MutexLock lock(&mutex_);
  on_change_ = std::move(on_change);
  devices_ = std::move(devices);
  told_ = std::min(from, latest_);
  eventfd_write(wake_, 1);
  const auto knows_all = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return told_ >= latest_ || !problem_.ok();
  };
  mutex_.AwaitWithTimeout(absl::Condition(&knows_all), absl::Seconds(10));
}

void ChangeFollower::ListenForWishes(const std::string& owner, std::function<void()> on_wish) {
  absl::MutexLock lock(&mutex_);
  owner_ = owner;
  on_wish_ = std::move(on_wish);
}

void ChangeFollower::ListenForNewJobs(std::function<void()> on_new_jobs) {
  absl::MutexLock lock(&mutex_);
  on_new_jobs_ = std::move(on_new_jobs);
}

int64_t ChangeFollower::latest() const {
  absl::MutexLock lock(&mutex_);
  return latest_;
}

bool ChangeFollower::Await(int64_t number, absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  if (told_ < number) eventfd_write(wake_, 1);
  const auto is_known = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return told_ >= number || !problem_.ok();
  };
  mutex_.AwaitWithTimeout(absl::Condition(&is_known), timeout);
  return told_ >= number;
}

Status ChangeFollower::problem() const {
  absl::MutexLock lock(&mutex_);
  return problem_;
}

absl::Time ChangeFollower::behind_since() const {
  absl::MutexLock lock(&mutex_);
  return behind_since_;
}

absl::Duration ChangeFollower::age() const { return absl::Nanoseconds(NowNs() - heard_ns_); }

bool ChangeFollower::Pause(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&is_ending_), duration);
  return !is_ending_;
}

void ChangeFollower::Follow() {
  while (Pause(absl::ZeroDuration())) {
    const Result<bool> has_more = Step();
    if (has_more.ok()) continue;
    connection_.reset();
    const bool is_passing = absl::IsUnavailable(has_more.status());
    {
      absl::MutexLock lock(&mutex_);
      if (behind_since_ == absl::InfiniteFuture()) {
        behind_since_ = absl::Now();
        spdlog::warn("changes of other daemons are not seen: {}",
                     std::string(has_more.status().message()));
      }
      if (!is_passing) problem_ = has_more.status();
    }
    if (!Pause(is_passing ? kReconnect : kLook)) return;
  }
}

Status ChangeFollower::TakeName(PostgresConnection& connection) const {
  if (options_.name.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(const PgRows taken,
                       connection.Run("SELECT pg_try_advisory_lock($1::int, hashtext($2))",
                                      kNameLock, options_.name));
  if (taken[0].Integer(0) != 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("another mdhd on database ", WithoutSecrets(pool_.options().address),
                   " is called ", options_.name, ": give each a --daemon-name of its own"));
}

Status ChangeFollower::Connect() {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, pool_.Connect());
  MDH_RETURN_IF_ERROR(TakeName(*connection));
  connection_ = std::move(connection);
  query_.clear();
  // Before what there is is read: nothing falls between the two.
  MDH_RETURN_IF_ERROR(
      connection_->RunScript("LISTEN mdhd_changes; LISTEN mdhd_wishes; LISTEN mdhd_jobs"));
  MDH_ASSIGN_OR_RETURN(const PostgresIdentity identity, ReadIdentity(*connection_));
  const std::string shown = WithoutSecrets(pool_.options().address);
  if (identity.incarnation != options_.identity.incarnation) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", shown,
                     " is another one than when mdhd was started (a backup was"
                     " restored, or another server has its address): start mdhd again"));
  }
  if (identity.latest_change < latest()) {
    return absl::FailedPreconditionError(
        absl::StrCat("database ", shown, " is older than it was, at change ",
                     identity.latest_change, " after ", latest(),
                     ": was a backup restored, or a standby promoted that had not all?"
                     " Start mdhd again"));
  }
  // What was said meanwhile was not heard.
  absl::MutexLock lock(&mutex_);
  if (on_wish_) on_wish_();
  if (on_new_jobs_) on_new_jobs_();
  return absl::OkStatus();
}

Result<bool> ChangeFollower::Step() {
  if (connection_ == nullptr) MDH_RETURN_IF_ERROR(Connect());
  eventfd_t ignored = 0;
  eventfd_read(wake_, &ignored);
  int64_t after = 0;
  Store::Fingerprints devices;
  {
    absl::MutexLock lock(&mutex_);
    after = told_;
    devices = devices_;
  }
  const int64_t asked_ns = NowNs();
  MDH_ASSIGN_OR_RETURN(const bool has_more, ReadMore(after, devices));
  if (has_more) return true;
  heard_ns_ = asked_ns;
  {
    absl::MutexLock lock(&mutex_);
    if (behind_since_ != absl::InfiniteFuture()) spdlog::info("changes are seen again");
    behind_since_ = absl::InfiniteFuture();
    problem_ = absl::OkStatus();
  }
  MDH_ASSIGN_OR_RETURN(const std::vector<PgNotice> notices, connection_->AwaitNotice(wake_, kLook));
  Hear(notices);
  return false;
}

void ChangeFollower::Hear(const std::vector<PgNotice>& notices) {
  absl::MutexLock lock(&mutex_);
  const bool is_for_us = std::any_of(notices.begin(), notices.end(), [&](const PgNotice& notice) {
    return notice.channel == "mdhd_wishes" && notice.payload == owner_;
  });
  if (is_for_us && on_wish_) on_wish_();
  const bool has_new_jobs = std::any_of(notices.begin(), notices.end(), [](const PgNotice& notice) {
    return notice.channel == "mdhd_jobs";
  });
  if (has_new_jobs && on_new_jobs_) on_new_jobs_();
}

Result<bool> ChangeFollower::ReadMore(int64_t after, const Store::Fingerprints& devices) {
  if (query_.empty() || query_devices_ != devices) {
    MDH_ASSIGN_OR_RETURN(const std::string condition, ConditionOfDevices(*connection_, devices));
    query_ = ChangesQuery(condition);
    query_devices_ = devices;
  }
  MDH_ASSIGN_OR_RETURN(const PgRows rows, connection_->Run(query_.c_str(), after, kMostAtOnce));
  if (!rows.empty() && rows[0].Integer(0) != after + 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "changes ", after + 1, " to ", rows[0].Integer(0) - 1,
        " of the records are forgotten and were not seen by this daemon: start mdhd again"));
  }
  for (int n = 0; n < rows.size(); ++n) Apply(rows[n]);
  return rows.size() == kMostAtOnce;
}

void ChangeFollower::Apply(const PgRow& row) {
  const int64_t number = row.Integer(0);
  v1::TuningRecord record;
  const bool is_removal = row.Integer(1) == v1::KERNEL_CHANGE_KIND_REMOVED;
  std::string room;
  const std::optional<std::string_view> stored = Decompressed(row.View(3), room);
  // One that is not there any more has a later change that says so, or is for other devices.
  bool is_there = !row.IsNull(3) && stored.has_value();
  if (is_there && !is_removal && Crc32Of(row.View(3)) != row.Integer(4)) is_there = false;
  is_there = is_there && record.ParseFromArray(stored->data(), static_cast<int>(stored->size()));
  if (is_there && !is_removal && row.Integer(5) != 0) record.set_is_pinned(true);
  options_.seen(row.View(2), number);
  absl::MutexLock lock(&mutex_);
  if (told_ + 1 != number) return;  // there is another listener, who begins anew
  if (is_there && on_change_) on_change_(static_cast<v1::KernelChangeKind>(row.Integer(1)), record);
  told_ = number;
  latest_ = std::max(latest_, number);
}

}  // namespace mdh
