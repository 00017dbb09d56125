// A store that does what another one does, for those that do some of it otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/store/store.h"

namespace mdh {

// Every call is one of `store`.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                     const v1::Kernel& kernel) override {
    return store_->PutResult(record, kernel);
  }
  Result<std::vector<v1::TuningRecord>> PutResults(
      absl::Span<const StoredResult> results) override {
    return store_->PutResults(results);
  }
  Result<std::vector<v1::TuningRecord>> AllRecords() override { return store_->AllRecords(); }
  Status ForEachRecord(const Fingerprints& devices, const TakeRecord& take) override {
    return store_->ForEachRecord(devices, take);
  }
  Result<RecordPage> ListRecords(int64_t after, int limit) override {
    return store_->ListRecords(after, limit);
  }
  Result<v1::TuningRecord> GetRecord(std::string_view id) override { return store_->GetRecord(id); }
  Result<v1::Kernel> GetKernel(std::string_view id) override { return store_->GetKernel(id); }
  Status RestoreKernel(std::string_view id, const v1::Kernel& kernel) override {
    return store_->RestoreKernel(id, kernel);
  }
  Result<v1::TuningRecord> RemoveResult(std::string_view id) override {
    return store_->RemoveResult(id);
  }
  Result<v1::TuningRecord> SetPinning(std::string_view id, Pinning pinning) override {
    return store_->SetPinning(id, pinning);
  }
  Result<v1::TuningRecord> SetCertificate(std::string_view id,
                                          const v1::Certificate& certificate) override {
    return store_->SetCertificate(id, certificate);
  }
  void SetOnWish(const std::string& owner, std::function<void()> on_wish) override {
    store_->SetOnWish(owner, std::move(on_wish));
  }
  void SetOnNewJobs(std::function<void()> on_new_jobs) override {
    store_->SetOnNewJobs(std::move(on_new_jobs));
  }
  void SetListener(OnChange on_change) override { store_->SetListener(std::move(on_change)); }
  std::string incarnation() override { return store_->incarnation(); }
  int64_t LatestChange() override { return store_->LatestChange(); }
  std::optional<int64_t> SharedChange() override { return store_->SharedChange(); }
  Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) override {
    return store_->ChangesAfter(after, limit);
  }
  bool WaitForChange(int64_t after, absl::Duration timeout) override {
    return store_->WaitForChange(after, timeout);
  }
  Result<InsertedJob> InsertJob(const v1::TuningJob& job, const JobLease& lease,
                                std::string_view twin_id) override {
    return store_->InsertJob(job, lease, twin_id);
  }
  Status UpdateJob(const JobClaim& claim, const v1::TuningJob& job, JobWish heard,
                   std::string_view twin_id) override {
    return store_->UpdateJob(claim, job, heard, twin_id);
  }
  Result<v1::TuningJob> GetJob(int64_t number) override { return store_->GetJob(number); }
  Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) override {
    return store_->FindJobByRequest(request_id);
  }
  Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                              const JobFilter& filter) override {
    return store_->ListJobs(before, limit, filter);
  }
  Result<std::vector<v1::TuningJob>> UnfinishedJobs() override { return store_->UnfinishedJobs(); }
  Result<std::vector<ClaimedJob>> ClaimJobs(const JobLease& lease,
                                            const ClaimRequest& request) override {
    return store_->ClaimJobs(lease, request);
  }
  Result<std::vector<HeldJob>> RenewLeases(const JobLease& lease) override {
    return store_->RenewLeases(lease);
  }
  Result<v1::TuningJob> WishOfJob(int64_t number, JobWish wish) override {
    return store_->WishOfJob(number, wish);
  }
  Result<v1::TuningJob> WishMoreOfJob(int64_t number, const ChangeOfMore& change) override {
    return store_->WishMoreOfJob(number, change);
  }
  Status HeardMore(const JobClaim& claim, std::string_view more) override {
    return store_->HeardMore(claim, more);
  }
  Status PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) override {
    return store_->PutTrials(claim, trials);
  }
  Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after, int limit) override {
    return store_->ListTrials(job, after, limit);
  }
  Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) override {
    return store_->GetPeaks(fingerprint);
  }
  Result<v1::MachinePeaks> ChangePeaks(std::string_view fingerprint,
                                       const ChangeOfPeaks& change) override {
    return store_->ChangePeaks(fingerprint, change);
  }
  Status AnnounceNode(const v1::Node& node, absl::Duration lease) override {
    return store_->AnnounceNode(node, lease);
  }
  Status RemoveNode(std::string_view name) override { return store_->RemoveNode(name); }
  Result<std::vector<v1::Node>> ListNodes() override { return store_->ListNodes(); }
  absl::Duration age() const override { return store_->age(); }
  Result<v1::CollectGarbageResponse> Forget(const Retention& retention) override {
    return store_->Forget(retention);
  }
  Status BackUp(const std::string& path) override { return store_->BackUp(path); }
  Result<std::vector<std::string>> CheckIntegrity() override { return store_->CheckIntegrity(); }
  Status CheckWritable() const override { return store_->CheckWritable(); }
  void LookAfter() override { store_->LookAfter(); }
  Status Count(v1::Statistics& statistics) override { return store_->Count(statistics); }
  Result<std::unique_ptr<StudyStore>> OpenStudies() override { return store_->OpenStudies(); }
  Result<std::shared_ptr<TrialBoard>> OpenTrialBoard() override { return store_->OpenTrialBoard(); }
  int64_t schema_version() const override { return store_->schema_version(); }

 protected:
  Store& store() const { return *store_; }

 private:
  const std::unique_ptr<Store> store_;
};

}  // namespace mdh
