#include "server/store/postgres/postgres_store.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/store/postgres/postgres_address.h"
#include "server/store/postgres/postgres_care.h"
#include "server/store/postgres/postgres_jobs.h"
#include "server/store/postgres/postgres_nodes.h"
#include "server/store/postgres/postgres_opened_store.h"
#include "server/store/postgres/postgres_schema.h"
#include "server/store/postgres/postgres_studies.h"
#include "server/store/postgres/postgres_trial_board.h"
#include "server/store/postgres/record_copy.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// A write is acknowledged without its listener when that does not get to know it for so long.
constexpr absl::Duration kMostWaitForListener = absl::Seconds(5);
constexpr absl::Duration kWaitForUnseenChange = absl::Seconds(1);
// So long the server may be gone while all records are read.
constexpr absl::Duration kPatienceOfCopies = absl::Seconds(30);
// What is done with all rows takes its time.
constexpr absl::Duration kPatienceOfCare = absl::Hours(1);
// Leases are renewed between two announcements.
constexpr absl::Duration kPatienceForNodes = absl::Seconds(5);

}  // namespace

Result<std::unique_ptr<Store>> OpenPostgresStore(const PostgresStoreOptions& options) {
  const std::string shown = WithoutSecrets(options.address);
  PgAccess access = PgAccess::kReadWrite;
  Status refusal;
  Result<std::unique_ptr<PostgresConnection>> connection =
      PostgresConnection::Open(options.address, access);
  if (IsReadOnlyServer(connection.status())) {
    access = PgAccess::kReadOnly;
    refusal = absl::FailedPreconditionError(
        absl::StrCat("database ", shown, " is read-only: nothing can be written"));
    connection = PostgresConnection::Open(options.address, access);
  }
  MDH_RETURN_IF_ERROR(connection.status());
  MDH_RETURN_IF_ERROR(refusal.ok() ? PreparePostgresSchema(**connection, shown)
                                   : CheckPostgresSchema(**connection, shown));
  MDH_ASSIGN_OR_RETURN(const PostgresIdentity identity, ReadIdentity(**connection));
  auto store = std::make_unique<PostgresStore>(options, access, std::move(refusal));
  MDH_RETURN_IF_ERROR(store->Follow(identity));
  return std::unique_ptr<Store>(std::move(store));
}

Status PostgresStore::Follow(const PostgresIdentity& identity) {
  incarnation_ = identity.incarnation;
  ChangeFollowerOptions following = {
      .identity = identity, .name = options_.daemon_name, .name_patience = options_.name_patience};
  following.seen = [this](std::string_view id, int64_t change) { kernels_.Drop(id, change); };
  MDH_ASSIGN_OR_RETURN(follower_, ChangeFollower::Start(pool_, std::move(following)));
  return absl::OkStatus();
}

Status PostgresStore::CheckWritable() const {
  MDH_RETURN_IF_ERROR(refusal_);
  return follower_->problem();
}

std::string PostgresStore::Problem() const {
  for (const Status& status : {CheckWritable(), pool_.health()}) {
    if (!status.ok()) return std::string(status.message());
  }
  const absl::Time since = follower_->behind_since();
  if (since == absl::InfiniteFuture()) return "";
  return absl::StrCat("changes of other daemons are not seen since ", absl::FormatTime(since));
}

void PostgresStore::AwaitListener(int64_t change) {
  for (int64_t before = written_; before < change;) {
    if (written_.compare_exchange_weak(before, change)) break;
  }
  if (change == 0 || !follower_->problem().ok()) return;
  if (!follower_->Await(change, kMostWaitForListener)) {
    spdlog::warn("change {} is stored and not seen yet", change);
  }
}

Result<v1::TuningRecord> PostgresStore::PutResult(const v1::TuningRecord& record,
                                                  const v1::Kernel& kernel) {
  const StoredResult result = {record, kernel};
  MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningRecord> stored,
                       PutResults(absl::MakeConstSpan(&result, 1)));
  return std::move(stored.front());
}

Result<std::vector<v1::TuningRecord>> PostgresStore::PutResults(
    absl::Span<const StoredResult> results) {
  MDH_ASSIGN_OR_RETURN(postgres::Outcome outcome,
                       WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
                         return postgres::PutResults(connection, results,
                                                     options_.remembered_changes);
                       }));
  AwaitListener(outcome.change);
  return std::move(outcome.records);
}

Result<std::vector<v1::TuningRecord>> PostgresStore::AllRecords() {
  absl::Mutex mutex;
  std::vector<v1::TuningRecord> records;
  MDH_RETURN_IF_ERROR(ForEachRecord({}, [&](std::string_view bytes) {
    v1::TuningRecord record;
    record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    absl::MutexLock lock(&mutex);
    records.push_back(std::move(record));
  }));
  return records;
}

Status PostgresStore::ForEachRecord(const Fingerprints& devices, const TakeRecord& take) {
  const int64_t latest = LatestChange();
  // From the beginning, if the server goes away meanwhile.
  const int64_t deadline_ns = NowNs() + absl::ToInt64Nanoseconds(kPatienceOfCopies);
  Result<std::vector<std::string>> copied = CopyRecords(pool_, devices, take);
  while (absl::IsUnavailable(copied.status()) && NowNs() < deadline_ns) {
    absl::SleepFor(absl::Milliseconds(200));
    copied = CopyRecords(pool_, devices, take);
  }
  MDH_RETURN_IF_ERROR(copied.status());
  const std::vector<std::string> damaged = *std::move(copied);
  noted_ = latest;
  {
    absl::MutexLock lock(&served_mutex_);
    served_ = devices;
  }
  if (damaged.empty()) return absl::OkStatus();
  if (!CheckWritable().ok()) {
    for (const std::string& id : damaged) spdlog::error("record {} cannot be read", id);
    return absl::OkStatus();
  }
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::SetAside(connection, damaged, options_.remembered_changes);
  });
}

Result<RecordPage> PostgresStore::ListRecords(int64_t after, int limit) {
  return ReadWith([&](PostgresConnection& connection) {
    return postgres::ListRecords(connection, after, limit);
  });
}

Result<v1::TuningRecord> PostgresStore::GetRecord(std::string_view id) {
  return ReadWith(
      [&](PostgresConnection& connection) { return postgres::GetRecord(connection, id); });
}

Result<v1::Kernel> PostgresStore::GetKernel(std::string_view id) {
  // The server is asked while it is there: others may have changed what it has.
  if (follower_->behind_since() != absl::InfiniteFuture()) {
    if (std::optional<v1::Kernel> kept = kernels_.Find(id)) return *std::move(kept);
  }
  const int64_t latest = LatestChange();
  Result<v1::Kernel> kernel =
      ReadWith([&](PostgresConnection& connection) { return postgres::GetKernel(connection, id); });
  if (kernel.ok()) kernels_.Put(id, *kernel, latest);
  if (!absl::IsUnavailable(kernel.status())) return kernel;
  std::optional<v1::Kernel> kept = kernels_.Find(id);
  return kept.has_value() ? Result<v1::Kernel>(*std::move(kept)) : kernel;
}

Status PostgresStore::RestoreKernel(std::string_view id, const v1::Kernel& kernel) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::RestoreKernel(connection, id, kernel);
  });
}

Result<v1::TuningRecord> PostgresStore::RemoveResult(std::string_view id) {
  // Not twice: the second time there would be none.
  return Change(PgRepeat::kOnce, [&](PostgresConnection& connection) {
    return postgres::RemoveResult(connection, std::string(id), options_.remembered_changes);
  });
}

Result<v1::TuningRecord> PostgresStore::SetPinning(std::string_view id, Pinning pinning) {
  return Change(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::SetPinning(connection, std::string(id), pinning, options_.remembered_changes);
  });
}

Result<v1::TuningRecord> PostgresStore::SetCertificate(std::string_view id,
                                                       const v1::Certificate& certificate) {
  return Change(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::SetCertificate(connection, std::string(id), certificate,
                                    options_.remembered_changes);
  });
}

void PostgresStore::SetListener(OnChange on_change) {
  const int64_t noted = noted_;
  Fingerprints devices;
  {
    absl::MutexLock lock(&served_mutex_);
    devices = served_;
  }
  follower_->Listen(std::move(on_change), noted < 0 ? LatestChange() : noted, std::move(devices));
}

Result<std::vector<v1::KernelChange>> PostgresStore::ChangesAfter(int64_t after, int limit) {
  follower_->Await(after, kWaitForUnseenChange);
  const int64_t latest = LatestChange();
  if (after > latest) {
    return absl::OutOfRangeError(absl::StrCat("there is no change ", after, " yet"));
  }
  MDH_ASSIGN_OR_RETURN(std::vector<v1::KernelChange> changes,
                       ReadWith([&](PostgresConnection& connection) {
                         return postgres::ChangesAfter(connection, after, limit);
                       }));
  // Numbers have no gaps.
  const bool are_forgotten =
      changes.empty() ? after < latest : changes.front().number() > after + 1;
  if (are_forgotten) {
    return absl::OutOfRangeError(absl::StrCat("changes after number ", after, " are forgotten"));
  }
  // What lookups here do not know yet is for the next time.
  while (!changes.empty() && changes.back().number() > latest) changes.pop_back();
  return changes;
}

bool PostgresStore::WaitForChange(int64_t after, absl::Duration timeout) {
  return follower_->Await(after + 1, timeout);
}

Result<InsertedJob> PostgresStore::InsertJob(const v1::TuningJob& job, const JobLease& lease,
                                             std::string_view twin_id) {
  // Not twice: there would be two.
  return WriteWith(PgRepeat::kOnce, [&](PostgresConnection& connection) {
    return postgres::InsertJob(connection, job, lease, twin_id);
  });
}

Status PostgresStore::UpdateJob(const JobClaim& claim, const v1::TuningJob& job, JobWish heard,
                                std::string_view twin_id) {
  const auto update = [&] {
    return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
      return postgres::UpdateJob(connection, claim, job, heard, twin_id);
    });
  };
  // Another job got the twin_id between the look and the write.
  Status status = update();
  return absl::IsAlreadyExists(status) ? update() : status;
}

Result<v1::TuningJob> PostgresStore::GetJob(int64_t number) {
  return ReadWith(
      [&](PostgresConnection& connection) { return postgres::GetJob(connection, number); });
}

Result<std::optional<v1::TuningJob>> PostgresStore::FindJobByRequest(std::string_view request_id) {
  return ReadWith([&](PostgresConnection& connection) {
    return postgres::FindJobByRequest(connection, request_id);
  });
}

Result<std::vector<v1::TuningJob>> PostgresStore::ListJobs(int64_t before, int limit,
                                                           const JobFilter& filter) {
  return ReadWith([&](PostgresConnection& connection) {
    return postgres::ListJobs(connection, before, limit, filter);
  });
}

Result<std::vector<v1::TuningJob>> PostgresStore::UnfinishedJobs() {
  return ReadWith(postgres::UnfinishedJobs);
}

Result<std::vector<ClaimedJob>> PostgresStore::ClaimJobs(const JobLease& lease,
                                                         const ClaimRequest& request) {
  return WriteWith(PgRepeat::kOnce, [&](PostgresConnection& connection) {
    return postgres::ClaimJobs(connection, lease, request);
  });
}

Result<std::vector<HeldJob>> PostgresStore::RenewLeases(const JobLease& lease) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::RenewLeases(connection, lease);
  });
}

Result<v1::TuningJob> PostgresStore::WishOfJob(int64_t number, JobWish wish) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::WishOfJob(connection, number, wish);
  });
}

Result<v1::TuningJob> PostgresStore::WishMoreOfJob(int64_t number, const ChangeOfMore& change) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::WishMoreOfJob(connection, number, change);
  });
}

Status PostgresStore::HeardMore(const JobClaim& claim, std::string_view more) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::HeardMore(connection, claim, more);
  });
}

Status PostgresStore::PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::PutTrials(connection, claim, trials);
  });
}

Result<std::vector<v1::TuningTrial>> PostgresStore::ListTrials(int64_t job, int64_t after,
                                                               int limit) {
  return ReadWith([&](PostgresConnection& connection) {
    return postgres::ListTrials(connection, job, after, limit);
  });
}

namespace {

Result<std::optional<v1::MachinePeaks>> ReadPeaks(PostgresConnection& connection,
                                                  std::string_view fingerprint) {
  MDH_ASSIGN_OR_RETURN(
      const PgRows rows,
      connection.Run("SELECT peaks FROM mdhd.devices WHERE fingerprint = $1", fingerprint));
  if (rows.empty()) return std::nullopt;
  v1::MachinePeaks peaks;
  if (!peaks.ParseFromString(rows[0].Bytes(0))) {
    return absl::FailedPreconditionError("a stored device is damaged");
  }
  return peaks;
}

}  // namespace

Result<std::optional<v1::MachinePeaks>> PostgresStore::GetPeaks(std::string_view fingerprint) {
  return ReadWith(
      [&](PostgresConnection& connection) { return ReadPeaks(connection, fingerprint); });
}

Result<v1::MachinePeaks> PostgresStore::ChangePeaks(std::string_view fingerprint,
                                                    const ChangeOfPeaks& change) {
  const auto write = [&](PostgresConnection& connection) -> Result<v1::MachinePeaks> {
    std::vector<PgRows> lock;
    MDH_ASSIGN_OR_RETURN(
        const auto transaction,
        PostgresTransaction::Begin(
            connection,
            {{"SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", {std::string(fingerprint)}}},
            lock));
    const Result<std::optional<v1::MachinePeaks>> stored = ReadPeaks(connection, fingerprint);
    if (!absl::IsFailedPrecondition(stored.status())) MDH_RETURN_IF_ERROR(stored.status());
    // Those that cannot be read are replaced.
    v1::MachinePeaks peaks = change(stored.ok() ? *stored : std::nullopt);
    MDH_RETURN_IF_ERROR(transaction->Commit(
        {{"INSERT INTO mdhd.devices VALUES ($1, $2) ON CONFLICT (fingerprint) DO UPDATE SET"
          " peaks = excluded.peaks",
          {std::string(fingerprint), PgValue::Bytes(peaks)}}}));
    return peaks;
  };
  return WriteWith(PgRepeat::kMayRepeat, write);
}

Status PostgresStore::AnnounceNode(const v1::Node& node, absl::Duration lease) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    connection.set_patience(kPatienceForNodes);
    return postgres::AnnounceNode(connection, node, lease);
  });
}

Status PostgresStore::RemoveNode(std::string_view name) {
  return WriteWith(PgRepeat::kMayRepeat, [&](PostgresConnection& connection) {
    return postgres::RemoveNode(connection, name);
  });
}

Result<std::vector<v1::Node>> PostgresStore::ListNodes() {
  // What it says of a daemon is some seconds old anyway.
  return pool_.RunOnAny([](PostgresConnection& connection) {
    connection.set_patience(kPatienceForNodes);
    return postgres::ListNodes(connection);
  });
}

Result<v1::CollectGarbageResponse> PostgresStore::Forget(const Retention& retention) {
  const auto forget = [&](PostgresConnection& connection) {
    connection.set_patience(kPatienceOfCare);
    return postgres::Forget(connection, retention, options_.remembered_changes);
  };
  if (retention.only_count) {
    MDH_ASSIGN_OR_RETURN(const postgres::Forgotten counted, ReadWith(forget));
    return counted.counts;
  }
  MDH_ASSIGN_OR_RETURN(const postgres::Forgotten forgotten, WriteWith(PgRepeat::kOnce, forget));
  AwaitListener(forgotten.change);
  return forgotten.counts;
}

Status PostgresStore::BackUp(const std::string&) {
  return absl::UnimplementedError(
      absl::StrCat("database ", WithoutSecrets(options_.address),
                   " is on a PostgreSQL server, which has tools of its own for backups: pg_dump"
                   " --schema=mdhd, or pg_basebackup"));
}

Result<std::vector<std::string>> PostgresStore::CheckIntegrity() {
  return ReadWith([&](PostgresConnection& connection) {
    connection.set_patience(kPatienceOfCare);
    return postgres::CheckIntegrity(connection);
  });
}

Status PostgresStore::Count(v1::Statistics& statistics) {
  statistics.set_transactions(writes_);
  statistics.set_writes(writes_);
  statistics.set_storage_problem(Problem());
  statistics.set_latest_change(LatestChange());
  statistics.mutable_page_check()->set_state(v1::PAGE_CHECK_STATE_PASSED);
  return ReadWith(
      [&](PostgresConnection& connection) { return postgres::Count(connection, statistics); });
}

Result<std::unique_ptr<StudyStore>> PostgresStore::OpenStudies() {
  return MakePostgresStudyStore(pool_);
}

Result<std::shared_ptr<TrialBoard>> PostgresStore::OpenTrialBoard() {
  return std::shared_ptr<TrialBoard>(MakePostgresTrialBoard(pool_));
}

int64_t PostgresStore::schema_version() const { return PostgresSchemaVersion(); }

}  // namespace mdh
