#include "server/store/sqlite/sqlite_opened_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/base/start_thread.h"
#include "server/store/sqlite/sqlite_connection.h"
#include "server/store/sqlite/sqlite_integrity.h"
#include "server/store/sqlite/sqlite_jobs.h"
#include "server/store/sqlite/sqlite_nodes.h"
#include "server/store/sqlite/sqlite_retention.h"

namespace mdh {
namespace {

// Of ForEachRecord, which waits for the disk as much as for memory: two on each core, at most
// these.
constexpr int64_t kReadThreads = 8;

Result<std::optional<v1::MachinePeaks>> ReadPeaks(SqliteDatabase& database,
                                                  std::string_view fingerprint) {
  return FirstRow(
      database,
      [](const SqliteStatement& row) {
        return ParseStored<v1::MachinePeaks>(row.Bytes(0), "device");
      },
      "SELECT peaks FROM devices WHERE fingerprint = ?1", fingerprint);
}

}  // namespace

Status SqliteStore::Prepare(PagesChecked checked, bool is_new) {
  if (commits_) {
    MDH_ASSIGN_OR_RETURN(const int64_t missing, ReadWith([&](SqliteDatabase& database) {
                           return commits_->CountMissing(database);
                         }));
    if (!is_new) missing_ = missing;
    // From now on a database without this comes from elsewhere.
    if (is_new) commits_->Keep();
    if (missing_ > 0) spdlog::error("{}", Problem());
    MDH_RETURN_IF_ERROR(place_.Note());
  }
  if (checked == PagesChecked::kNone) {
    MDH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, OpenAnotherReader());
    page_check_ = std::make_unique<SqlitePageCheck>(
        std::move(database), [this](const std::string& damage) { StopWriting(damage); });
  }
  MDH_ASSIGN_OR_RETURN(schema_version_, ReadWith([](SqliteDatabase& database) {
                         return database.QueryInteger("PRAGMA user_version");
                       }));
  MDH_ASSIGN_OR_RETURN(incarnation_, ReadWith([](SqliteDatabase& database) {
                         return database.QueryText("SELECT incarnation FROM store");
                       }));
  const bool is_restored = commits_ && !is_new && (missing_ > 0 || !commits_->is_known_outside());
  if (is_restored) MDH_RETURN_IF_ERROR(BeginIncarnation());
  MDH_ASSIGN_OR_RETURN(const int64_t latest, ReadWith(ReadLatestChange));
  absl::MutexLock lock(&changes_mutex_);
  latest_change_ = latest;
  return absl::OkStatus();
}

Status SqliteStore::BeginIncarnation() {
  MDH_ASSIGN_OR_RETURN(incarnation_, ReadWith([](SqliteDatabase& database) {
                         return database.QueryText("SELECT lower(hex(randomblob(8)))");
                       }));
  is_incarnation_new_ = true;
  return absl::OkStatus();
}

Status SqliteStore::EndTransaction(SqliteDatabase& database) {
  if (is_incarnation_new_) {
    MDH_RETURN_IF_ERROR(RunSql(database, "UPDATE store SET incarnation = ?1", incarnation_));
  }
  return commits_->Add(database);
}

void SqliteStore::StopWriting(const std::string& damage) {
  writer_.Refuse(FailedPrecondition("database ", options_.path, " is damaged (", damage,
                                    "): nothing is written any more; restore a backup"));
}

Status SqliteStore::CheckWritable() const {
  MDH_RETURN_IF_ERROR(writer_.refusal());
  return place_.Check();
}

std::string SqliteStore::Problem() const {
  if (const Status moved = place_.Check(); !moved.ok()) return std::string(moved.message());
  if (const Status health = writer_.health(); !health.ok()) return std::string(health.message());
  if (missing_ == 0) return "";
  return absl::StrCat(missing_, " transactions that were acknowledged are not in database ",
                      options_.path,
                      ": its log was cut or damaged, or an older database was put in its place");
}

Result<std::unique_ptr<SqliteDatabase>> SqliteStore::OpenAnotherReader() const {
  // What is at the path now need not be the database.
  MDH_RETURN_IF_ERROR(place_.Check());
  return OpenReader(options_);
}

void SqliteStore::Announce(const ChangedRecord& changed) {
  absl::MutexLock lock(&changes_mutex_);
  if (on_change_) on_change_(changed.kind, changed.record);
  latest_change_ = changed.number;
}

Result<v1::TuningRecord> SqliteStore::PutResult(const v1::TuningRecord& record,
                                                const v1::Kernel& kernel) {
  const StoredResult result = {record, kernel};
  MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningRecord> stored,
                       PutResults(absl::MakeConstSpan(&result, 1)));
  return std::move(stored.front());
}

Result<std::vector<v1::TuningRecord>> SqliteStore::PutResults(
    absl::Span<const StoredResult> results) {
  std::vector<PutOutcome> outcomes;
  const auto put = [&](SqliteDatabase& database) -> Status {
    for (const StoredResult& result : results) {
      MDH_ASSIGN_OR_RETURN(PutOutcome outcome, PutResultRows(database, result));
      outcomes.push_back(std::move(outcome));
    }
    return absl::OkStatus();
  };
  MDH_RETURN_IF_ERROR(writer_.Run(put, [&] {
    for (const PutOutcome& outcome : outcomes) {
      if (outcome.change.has_value()) Announce(*outcome.change);
    }
  }));
  std::vector<v1::TuningRecord> stored;
  for (PutOutcome& outcome : outcomes) stored.push_back(std::move(outcome.stored));
  return stored;
}

Status SqliteStore::Quarantine(const std::vector<std::string>& damaged) {
  if (damaged.empty()) return absl::OkStatus();
  if (!CheckWritable().ok()) {
    for (const std::string& id : damaged) spdlog::error("record {} cannot be read", id);
    return absl::OkStatus();
  }
  MDH_RETURN_IF_ERROR(writer_.Run([&](SqliteDatabase& database) -> Status {
    for (const std::string& id : damaged) MDH_RETURN_IF_ERROR(QuarantineRows(database, id));
    return absl::OkStatus();
  }));
  for (const std::string& id : damaged) {
    spdlog::error("record {} cannot be read and was set aside", id);
  }
  return absl::OkStatus();
}

Result<std::vector<v1::TuningRecord>> SqliteStore::AllRecords() {
  std::vector<v1::TuningRecord> records;
  std::vector<std::string> damaged;
  MDH_RETURN_IF_ERROR(ReadWith([&](SqliteDatabase& database) -> Status {
    MDH_ASSIGN_OR_RETURN(const RecordRows all, AllRecordRows(database));
    const auto parse = [&](std::string_view record) {
      records.emplace_back().ParseFromArray(record.data(), static_cast<int>(record.size()));
    };
    return ReadRecords(database, all, {}, parse, damaged);
  }));
  MDH_RETURN_IF_ERROR(Quarantine(damaged));
  return records;
}

Status SqliteStore::ForEachRecord(const Fingerprints& devices, const TakeRecord& take) {
  struct Part {
    RecordRows rows;
    std::vector<std::string> damaged;
    Status status;
  };
  MDH_ASSIGN_OR_RETURN(const RecordRows all, ReadWith(AllRecordRows));
  const int64_t count =
      std::clamp<int64_t>(2 * std::thread::hardware_concurrency(), 1, kReadThreads);
  const int64_t rows = (all.last - all.first) / count + 1;
  std::vector<Part> parts(count);
  std::vector<std::thread> threads;
  for (int64_t n = 0; n < count; ++n) {
    parts[n].rows = {all.first + n * rows, std::min(all.first + (n + 1) * rows - 1, all.last)};
    const auto read = [this, &devices, &take, &part = parts[n]] {
      // A connection of its own: one connection reads one row at a time.
      const Result<std::unique_ptr<SqliteDatabase>> database = OpenAnotherReader();
      part.status = database.ok() ? ReadRecords(**database, part.rows, devices, take, part.damaged)
                                  : database.status();
    };
    Result<std::thread> thread = StartThread(read);
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else {
      read();
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const Part& part : parts) {
    MDH_RETURN_IF_ERROR(part.status);
    MDH_RETURN_IF_ERROR(Quarantine(part.damaged));
  }
  return absl::OkStatus();
}

Result<RecordPage> SqliteStore::ListRecords(int64_t after, int limit) {
  return ReadWith([&](SqliteDatabase& database) { return ReadRecordPage(database, after, limit); });
}

Result<v1::TuningRecord> SqliteStore::GetRecord(std::string_view id) {
  return ReadWith([&](SqliteDatabase& database) { return ReadRecord(database, std::string(id)); });
}

Status SqliteStore::RestoreKernel(std::string_view id, const v1::Kernel& kernel) {
  return writer_.Run([&](SqliteDatabase& database) -> Status {
    MDH_RETURN_IF_ERROR(ReadRecord(database, std::string(id)).status());
    return PutKernelRow(database, std::string(id), kernel);
  });
}

Result<v1::Kernel> SqliteStore::GetKernel(std::string_view id) {
  Result<v1::Kernel> kernel =
      ReadWith([&](SqliteDatabase& database) { return ReadKernel(database, id); });
  if (kernel.ok() || absl::IsNotFound(kernel.status())) return kernel;
  spdlog::error("kernel {}: {}", std::string(id), std::string(kernel.status().message()));
  return NotFound("kernel ", std::string(id), " cannot be read: ", kernel.status().message());
}

Result<v1::TuningRecord> SqliteStore::RemoveResult(std::string_view id) {
  MDH_ASSIGN_OR_RETURN(
      const ChangedRecord changed,
      WriteWith(
          [&](SqliteDatabase& database) { return RemoveResultRows(database, std::string(id)); },
          [&](const ChangedRecord& removed) { Announce(removed); }));
  return changed.record;
}

Result<v1::TuningRecord> SqliteStore::Change(
    const std::function<Result<PutOutcome>(SqliteDatabase&)>& change) {
  MDH_ASSIGN_OR_RETURN(const PutOutcome outcome, WriteWith(change, [&](const PutOutcome& put) {
                         if (put.change.has_value()) Announce(*put.change);
                       }));
  return outcome.stored;
}

Result<v1::TuningRecord> SqliteStore::SetPinning(std::string_view id, Pinning pinning) {
  return Change(
      [&](SqliteDatabase& database) { return SetPinningRow(database, std::string(id), pinning); });
}

Result<v1::TuningRecord> SqliteStore::SetCertificate(std::string_view id,
                                                     const v1::Certificate& certificate) {
  return Change([&](SqliteDatabase& database) {
    return SetCertificateRow(database, std::string(id), certificate);
  });
}

void SqliteStore::SetListener(OnChange on_change) {
  absl::MutexLock lock(&changes_mutex_);
  on_change_ = std::move(on_change);
}

int64_t SqliteStore::LatestChange() {
  absl::MutexLock lock(&changes_mutex_);
  return latest_change_;
}

Result<std::vector<v1::KernelChange>> SqliteStore::ChangesAfter(int64_t after, int limit) {
  if (after > LatestChange()) return OutOfRange("there is no change ", after, " yet");
  MDH_ASSIGN_OR_RETURN(
      std::vector<v1::KernelChange> changes,
      ReadWith([&](SqliteDatabase& database) { return ReadChanges(database, after, limit); }));
  // Numbers have no gaps.
  const bool are_forgotten =
      changes.empty() ? after < LatestChange() : changes.front().number() > after + 1;
  if (are_forgotten) return OutOfRange("changes after number ", after, " are forgotten");
  return changes;
}

bool SqliteStore::WaitForChange(int64_t after, absl::Duration timeout) {
  absl::MutexLock lock(&changes_mutex_);
  const auto is_later = [&]() ABSL_SHARED_LOCKS_REQUIRED(changes_mutex_) {
    return latest_change_ > after;
  };
  return changes_mutex_.AwaitWithTimeout(absl::Condition(&is_later), timeout);
}

Result<InsertedJob> SqliteStore::InsertJob(const v1::TuningJob& job, const JobLease& lease,
                                           std::string_view twin_id) {
  return WriteWith(
      [&](SqliteDatabase& database) { return InsertJobRow(database, job, lease, twin_id); });
}

Status SqliteStore::UpdateJob(const JobClaim& claim, const v1::TuningJob& job, JobWish heard,
                              std::string_view twin_id) {
  return writer_.Run(
      [&](SqliteDatabase& database) { return UpdateJobRow(database, claim, job, heard, twin_id); });
}

Result<v1::TuningJob> SqliteStore::GetJob(int64_t number) {
  return ReadWith([&](SqliteDatabase& database) { return ReadJob(database, number); });
}

Result<std::optional<v1::TuningJob>> SqliteStore::FindJobByRequest(std::string_view request_id) {
  return ReadWith([&](SqliteDatabase& database) { return ReadJobByRequest(database, request_id); });
}

Result<std::vector<v1::TuningJob>> SqliteStore::ListJobs(int64_t before, int limit,
                                                         const JobFilter& filter) {
  return ReadWith(
      [&](SqliteDatabase& database) { return ReadJobs(database, before, limit, filter); });
}

Result<std::vector<v1::TuningJob>> SqliteStore::UnfinishedJobs() {
  return ReadWith(ReadUnfinishedJobs);
}

Result<std::vector<ClaimedJob>> SqliteStore::ClaimJobs(const JobLease& lease,
                                                       const ClaimRequest& request) {
  return WriteWith(
      [&](SqliteDatabase& database) { return ClaimJobRows(database, lease, request); });
}

Result<std::vector<HeldJob>> SqliteStore::RenewLeases(const JobLease& lease) {
  // An idle daemon leaves the disk alone.
  MDH_ASSIGN_OR_RETURN(const int64_t held, ReadWith([&](SqliteDatabase& database) {
                         return CountHeldJobs(database, lease.owner);
                       }));
  if (held == 0) return std::vector<HeldJob>();
  return WriteWith([&](SqliteDatabase& database) { return RenewLeaseRows(database, lease); });
}

Result<v1::TuningJob> SqliteStore::WishOfJob(int64_t number, JobWish wish) {
  return WriteWith([&](SqliteDatabase& database) { return WishOfJobRow(database, number, wish); });
}

Result<v1::TuningJob> SqliteStore::WishMoreOfJob(int64_t number, const ChangeOfMore& change) {
  return WriteWith(
      [&](SqliteDatabase& database) { return WishMoreOfJobRow(database, number, change); });
}

Status SqliteStore::HeardMore(const JobClaim& claim, std::string_view more) {
  return writer_.Run([&](SqliteDatabase& database) { return HeardMoreRow(database, claim, more); });
}

Status SqliteStore::PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) {
  return writer_.Run(
      [&](SqliteDatabase& database) { return PutTrialRows(database, claim, trials); });
}

Result<std::vector<v1::TuningTrial>> SqliteStore::ListTrials(int64_t job, int64_t after,
                                                             int limit) {
  return ReadWith(
      [&](SqliteDatabase& database) { return ReadTrials(database, job, after, limit); });
}

Result<std::optional<v1::MachinePeaks>> SqliteStore::GetPeaks(std::string_view fingerprint) {
  return ReadWith([&](SqliteDatabase& database) { return ReadPeaks(database, fingerprint); });
}

Result<v1::MachinePeaks> SqliteStore::ChangePeaks(std::string_view fingerprint,
                                                  const ChangeOfPeaks& change) {
  return WriteWith([&](SqliteDatabase& database) -> Result<v1::MachinePeaks> {
    const Result<std::optional<v1::MachinePeaks>> stored = ReadPeaks(database, fingerprint);
    // Those that cannot be read are replaced.
    v1::MachinePeaks peaks = change(stored.ok() ? *stored : std::nullopt);
    MDH_RETURN_IF_ERROR(RunSql(database, "INSERT OR REPLACE INTO devices VALUES (?1, ?2)",
                               fingerprint, BytesOf(peaks)));
    return peaks;
  });
}

Status SqliteStore::AnnounceNode(const v1::Node& node, absl::Duration lease) {
  return writer_.Run(
      [&](SqliteDatabase& database) { return AnnounceNodeRow(database, node, lease); });
}

Status SqliteStore::RemoveNode(std::string_view name) {
  return writer_.Run([&](SqliteDatabase& database) { return RemoveNodeRow(database, name); });
}

Result<std::vector<v1::Node>> SqliteStore::ListNodes() { return ReadWith(ReadNodes); }

Result<v1::CollectGarbageResponse> SqliteStore::Forget(const Retention& retention) {
  std::vector<ChangedRecord> changes;
  return WriteWith(
      [&](SqliteDatabase& database) { return ForgetRows(database, retention, changes); },
      [&](const v1::CollectGarbageResponse&) {
        for (const ChangedRecord& changed : changes) Announce(changed);
      });
}

Status SqliteStore::BackUp(const std::string& path) {
  // A connection of its own: neither readers nor the writer wait for it.
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteDatabase> source, OpenAnotherReader());
  return source->CopyTo(path);
}

Result<std::vector<std::string>> SqliteStore::CheckIntegrity() {
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteDatabase> source, OpenAnotherReader());
  MDH_ASSIGN_OR_RETURN(std::vector<std::string> problems, FindProblems(*source));
  if (missing_ > 0) problems.push_back(Problem());
  return problems;
}

Status SqliteStore::Count(v1::Statistics& statistics) {
  statistics.set_transactions(writer_.transactions());
  statistics.set_writes(writer_.writes());
  statistics.set_storage_problem(Problem());
  statistics.set_lost_transactions(missing_);
  statistics.set_latest_change(LatestChange());
  if (page_check_ != nullptr) {
    *statistics.mutable_page_check() = page_check_->Read();
  } else {
    statistics.mutable_page_check()->set_state(v1::PAGE_CHECK_STATE_PASSED);
  }
  return ReadWith([&](SqliteDatabase& database) { return CountRows(database, statistics); });
}

}  // namespace mdh
