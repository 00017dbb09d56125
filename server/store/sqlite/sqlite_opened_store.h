// The store over a database that is open: every write goes through one writer, reads have a
// connection of their own and never wait for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/store/memory_trial_board.h"
#include "server/store/sqlite/commit_count.h"
#include "server/store/sqlite/database_locks.h"
#include "server/store/sqlite/sqlite_database.h"
#include "server/store/sqlite/sqlite_page_check.h"
#include "server/store/sqlite/sqlite_place.h"
#include "server/store/sqlite/sqlite_results.h"
#include "server/store/sqlite/sqlite_schema.h"
#include "server/store/sqlite/sqlite_store.h"
#include "server/store/sqlite/sqlite_writer.h"

namespace mdh {

// See sqlite_store.h for how one is opened. Thread-safe.
class SqliteStore : public Store {
 public:
  SqliteStore(SqliteStoreOptions options, DatabaseLocks locks,
              std::unique_ptr<SqliteDatabase> writer, std::unique_ptr<SqliteDatabase> reader)
      : options_(std::move(options)),
        locks_(std::move(locks)),
        commits_(*locks_.name),
        place_(options_.path),
        writer_(std::move(writer), {.check = [this] { return place_.Check(); },
                                    .on_end = [this](auto& to) { return EndTransaction(to); },
                                    .on_commit = [this] { KeepTransaction(); }}),
        reader_(std::move(reader)) {}
  // `why` it cannot be written.
  SqliteStore(SqliteStoreOptions options, DatabaseLocks locks, Status why,
              std::unique_ptr<SqliteDatabase> reader)
      : options_(std::move(options)),
        locks_(std::move(locks)),
        place_(options_.path),
        writer_(std::move(why)),
        reader_(std::move(reader)) {}

  // `is_new`: there was no database before.
  Status Prepare(PagesChecked checked, bool is_new);

  Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                     const v1::Kernel& kernel) override;
  Result<std::vector<v1::TuningRecord>> PutResults(absl::Span<const StoredResult> results) override;
  Result<std::vector<v1::TuningRecord>> AllRecords() override;
  Status ForEachRecord(const Fingerprints& devices, const TakeRecord& take) override;
  Result<RecordPage> ListRecords(int64_t after, int limit) override;
  Result<v1::TuningRecord> GetRecord(std::string_view id) override;
  Result<v1::Kernel> GetKernel(std::string_view id) override;
  Status RestoreKernel(std::string_view id, const v1::Kernel& kernel) override;
  Result<v1::TuningRecord> RemoveResult(std::string_view id) override;
  Result<v1::TuningRecord> SetPinning(std::string_view id, Pinning pinning) override;
  Result<v1::TuningRecord> SetCertificate(std::string_view id,
                                          const v1::Certificate& certificate) override;

  void SetListener(OnChange on_change) override;
  std::string incarnation() override { return incarnation_; }
  int64_t LatestChange() override;
  Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) override;
  bool WaitForChange(int64_t after, absl::Duration timeout) override;

  Result<InsertedJob> InsertJob(const v1::TuningJob& job, const JobLease& lease,
                                std::string_view twin_id) override;
  Status UpdateJob(const JobClaim& claim, const v1::TuningJob& job, JobWish heard,
                   std::string_view twin_id) override;
  Result<v1::TuningJob> GetJob(int64_t number) override;
  Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) override;
  Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                              const JobFilter& filter) override;
  Result<std::vector<v1::TuningJob>> UnfinishedJobs() override;
  Result<std::vector<ClaimedJob>> ClaimJobs(const JobLease& lease,
                                            const ClaimRequest& request) override;
  Result<std::vector<HeldJob>> RenewLeases(const JobLease& lease) override;
  Result<v1::TuningJob> WishOfJob(int64_t number, JobWish wish) override;
  Result<v1::TuningJob> WishMoreOfJob(int64_t number, const ChangeOfMore& change) override;
  Status HeardMore(const JobClaim& claim, std::string_view more) override;

  Status PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) override;
  Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after, int limit) override;

  Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) override;
  Result<v1::MachinePeaks> ChangePeaks(std::string_view fingerprint,
                                       const ChangeOfPeaks& change) override;

  Status AnnounceNode(const v1::Node& node, absl::Duration lease) override;
  Status RemoveNode(std::string_view name) override;
  Result<std::vector<v1::Node>> ListNodes() override;

  Result<v1::CollectGarbageResponse> Forget(const Retention& retention) override;
  Status BackUp(const std::string& path) override;
  Result<std::vector<std::string>> CheckIntegrity() override;
  Status CheckWritable() const override;
  void LookAfter() override { place_.LookAfter(writer_); }
  Status Count(v1::Statistics& statistics) override;
  Result<std::unique_ptr<StudyStore>> OpenStudies() override;
  // No other process has the database open: the board is in memory.
  Result<std::shared_ptr<TrialBoard>> OpenTrialBoard() override { return board_; }
  int64_t schema_version() const override { return schema_version_; }

 private:
  // Errors: Aborted if the job is another's, or has ended.
  Status CheckClaim(const JobClaim& claim) ABSL_LOCKS_EXCLUDED(reader_mutex_);
  // Writes a change of a record, and announces it.
  Result<v1::TuningRecord> Change(const std::function<Result<PutOutcome>(SqliteDatabase&)>& change);
  void StopWriting(const std::string& damage);
  // The changes that are there are not, or not for certain, those that clients have seen. It is
  // stored with what is written next: until then one can see what is missing, also after a restart.
  Status BeginIncarnation();
  // What every transaction writes at its end, and what follows when it is committed.
  Status EndTransaction(SqliteDatabase& database);
  void KeepTransaction() {
    is_incarnation_new_ = false;
    commits_->Keep();
  }
  // What is wrong with the storage; empty: nothing.
  std::string Problem() const;
  // A connection of its own, to the database that is open.
  Result<std::unique_ptr<SqliteDatabase>> OpenAnotherReader() const;
  // Sets records that cannot be read aside, if anything can be written.
  Status Quarantine(const std::vector<std::string>& damaged);
  // Tells the listener and those who wait. By the writer, in the order of the changes.
  void Announce(const ChangedRecord& changed);
  // Takes a call of a function that reads.
  template <typename Read>
  auto ReadWith(const Read& read) ABSL_LOCKS_EXCLUDED(reader_mutex_) {
    absl::MutexLock lock(&reader_mutex_);
    return read(*reader_);
  }

  // Gives what `write` gives, in one transaction; `on_commit` gets it before others can see it.
  template <typename Write, typename OnCommit>
  auto WriteWith(const Write& write, const OnCommit& on_commit)
      -> decltype(write(std::declval<SqliteDatabase&>())) {
    std::optional<typename decltype(write(std::declval<SqliteDatabase&>()))::value_type> written;
    MDH_RETURN_IF_ERROR(writer_.Run(
        [&](SqliteDatabase& database) -> Status {
          MDH_ASSIGN_OR_RETURN(written, write(database));
          return absl::OkStatus();
        },
        [&] { on_commit(*written); }));
    return *std::move(written);
  }
  template <typename Write>
  auto WriteWith(const Write& write) {
    return WriteWith(write, [](const auto&) {});
  }

  const SqliteStoreOptions options_;
  DatabaseLocks locks_;                 // released after the database is closed
  std::optional<CommitCount> commits_;  // of a database that can be written
  int64_t missing_ = 0;                 // transactions, when it was opened
  std::string incarnation_;             // set by Prepare
  bool is_incarnation_new_ = false;     // not stored yet; of who writes
  int64_t schema_version_ = 0;          // set by Prepare
  SqlitePlace place_;
  SqliteWriter writer_;
  absl::Mutex reader_mutex_;
  std::unique_ptr<SqliteDatabase> reader_ ABSL_GUARDED_BY(reader_mutex_);
  absl::Mutex changes_mutex_;
  OnChange on_change_ ABSL_GUARDED_BY(changes_mutex_);
  int64_t latest_change_ ABSL_GUARDED_BY(changes_mutex_) = 0;
  const std::shared_ptr<TrialBoard> board_ =
      MakeMemoryTrialBoard([this](const JobClaim& claim) { return CheckClaim(claim); });
  std::unique_ptr<SqlitePageCheck> page_check_;  // null if the pages were checked before
};

}  // namespace mdh
