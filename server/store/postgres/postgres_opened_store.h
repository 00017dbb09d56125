// The store over a PostgreSQL database that is open.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/store/postgres/change_follower.h"
#include "server/store/postgres/kept_kernels.h"
#include "server/store/postgres/postgres_pool.h"
#include "server/store/postgres/postgres_results.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/store.h"

namespace mdh {

// See postgres_store.h for how one is opened. Thread-safe. Calls that write records return when
// this process's listener knows what they did.
class PostgresStore : public Store {
 public:
  // `refusal`: why nothing can be written; OK if it can.
  PostgresStore(PostgresStoreOptions options, PgAccess access, Status refusal)
      : options_(std::move(options)),
        refusal_(std::move(refusal)),
        kernels_(options_.kept_kernel_bytes),
        pool_({.address = options_.address,
               .access = access,
               .most_connections = options_.most_connections,
               .patience = options_.patience}) {}
  // Before everything else.
  Status Follow(const PostgresIdentity& identity);

  // ---- What reads ----

  Status ForEachRecord(const Fingerprints& devices, const TakeRecord& take) override;
  Result<std::vector<v1::TuningRecord>> AllRecords() override;
  Result<v1::TuningRecord> GetRecord(std::string_view id) override;
  Result<RecordPage> ListRecords(int64_t after, int limit) override;
  Result<v1::Kernel> GetKernel(std::string_view id) override;
  Result<std::vector<v1::TuningJob>> UnfinishedJobs() override;
  Result<v1::TuningJob> GetJob(int64_t number) override;
  Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                              const JobFilter& filter) override;
  Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) override;
  Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after, int limit) override;
  Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) override;
  Result<std::vector<v1::Node>> ListNodes() override;
  Status Count(v1::Statistics& statistics) override;
  Result<std::vector<std::string>> CheckIntegrity() override;
  Status BackUp(const std::string& path) override;
  Result<std::unique_ptr<StudyStore>> OpenStudies() override;
  Result<std::shared_ptr<TrialBoard>> OpenTrialBoard() override;
  int64_t schema_version() const override;

  // ---- What follows changes ----

  std::string incarnation() override { return incarnation_; }
  void SetListener(OnChange on_change) override;
  bool WaitForChange(int64_t after, absl::Duration timeout) override;
  Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) override;
  int64_t LatestChange() override { return follower_->latest(); }
  std::optional<int64_t> SharedChange() override {
    return std::max<int64_t>(written_, LatestChange());
  }
  absl::Duration age() const override { return follower_->age(); }

  // ---- What writes ----

  Status CheckWritable() const override;
  Result<std::vector<v1::TuningRecord>> PutResults(absl::Span<const StoredResult> results) override;
  Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                     const v1::Kernel& kernel) override;
  Result<v1::TuningRecord> RemoveResult(std::string_view id) override;
  Status RestoreKernel(std::string_view id, const v1::Kernel& kernel) override;
  Result<v1::TuningRecord> SetCertificate(std::string_view id,
                                          const v1::Certificate& certificate) override;
  Result<v1::TuningRecord> SetPinning(std::string_view id, Pinning pinning) override;
  Status UpdateJob(const JobClaim& claim, const v1::TuningJob& job, JobWish heard,
                   std::string_view twin_id) override;
  Result<InsertedJob> InsertJob(const v1::TuningJob& job, const JobLease& lease,
                                std::string_view twin_id) override;
  Result<v1::TuningJob> WishOfJob(int64_t number, JobWish wish) override;
  Result<v1::TuningJob> WishMoreOfJob(int64_t number, const ChangeOfMore& change) override;
  Status HeardMore(const JobClaim& claim, std::string_view more) override;
  void SetOnWish(const std::string& owner, std::function<void()> on_wish) override {
    follower_->ListenForWishes(owner, std::move(on_wish));
  }
  void SetOnNewJobs(std::function<void()> on_new_jobs) override {
    follower_->ListenForNewJobs(std::move(on_new_jobs));
  }
  Result<std::vector<HeldJob>> RenewLeases(const JobLease& lease) override;
  Result<std::vector<ClaimedJob>> ClaimJobs(const JobLease& lease,
                                            const ClaimRequest& request) override;
  Status PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) override;
  Status AnnounceNode(const v1::Node& node, absl::Duration lease) override;
  Status RemoveNode(std::string_view name) override;
  Result<v1::CollectGarbageResponse> Forget(const Retention& retention) override;
  Result<v1::MachinePeaks> ChangePeaks(std::string_view fingerprint,
                                       const ChangeOfPeaks& change) override;

 private:
  template <typename Read>
  auto ReadWith(const Read& read) {
    return pool_.Run(PgRepeat::kMayRepeat, read);
  }
  template <typename Write>
  auto WriteWith(PgRepeat repeat, const Write& write)
      -> decltype(write(std::declval<PostgresConnection&>())) {
    MDH_RETURN_IF_ERROR(CheckWritable());
    ++writes_;
    return pool_.Run(repeat, write);
  }
  // Writes a change of a record. Gives the record as it is now.
  template <typename Write>
  Result<v1::TuningRecord> Change(PgRepeat repeat, const Write& write) {
    MDH_ASSIGN_OR_RETURN(postgres::Outcome outcome, WriteWith(repeat, write));
    AwaitListener(outcome.change);
    return std::move(outcome.records.front());
  }
  // Until the listener knows that change.
  void AwaitListener(int64_t change);
  std::string Problem() const;

  const PostgresStoreOptions options_;
  const Status refusal_;
  KeptKernels kernels_;
  PostgresPool pool_;
  std::string incarnation_;
  std::atomic<int64_t> writes_ = 0;
  std::atomic<int64_t> written_ = 0;  // the latest change of this process
  std::atomic<int64_t> noted_ = -1;   // the latest change when all records were read; -1: never
  absl::Mutex served_mutex_;
  Fingerprints served_ ABSL_GUARDED_BY(served_mutex_);  // of ForEachRecord
  std::unique_ptr<ChangeFollower> follower_;
};

}  // namespace mdh
