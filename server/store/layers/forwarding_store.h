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
  Status ForEachRecord(const TakeRecord& take) override { return store_->ForEachRecord(take); }
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
  void SetListener(OnChange on_change) override { store_->SetListener(std::move(on_change)); }
  int64_t LatestChange() override { return store_->LatestChange(); }
  Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) override {
    return store_->ChangesAfter(after, limit);
  }
  bool WaitForChange(int64_t after, absl::Duration timeout) override {
    return store_->WaitForChange(after, timeout);
  }
  Result<int64_t> InsertJob(const v1::TuningJob& job, const JobClaim& claim) override {
    return store_->InsertJob(job, claim);
  }
  Status UpdateJob(int64_t number, const v1::TuningJob& job) override {
    return store_->UpdateJob(number, job);
  }
  Result<v1::TuningJob> GetJob(int64_t number) override { return store_->GetJob(number); }
  Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) override {
    return store_->FindJobByRequest(request_id);
  }
  Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                              const JobFilter& filter) override {
    return store_->ListJobs(before, limit, filter);
  }
  Result<std::vector<v1::TuningJob>> UnfinishedJobs(const std::string& owner) override {
    return store_->UnfinishedJobs(owner);
  }
  Result<int64_t> ClaimJobs(const JobClaim& claim, absl::Time now,
                            const std::vector<std::string>& devices) override {
    return store_->ClaimJobs(claim, now, devices);
  }
  Status PutTrials(int64_t job, absl::Span<const v1::TuningTrial> trials) override {
    return store_->PutTrials(job, trials);
  }
  Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after, int limit) override {
    return store_->ListTrials(job, after, limit);
  }
  Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) override {
    return store_->GetPeaks(fingerprint);
  }
  Status PutPeaks(std::string_view fingerprint, const v1::MachinePeaks& peaks) override {
    return store_->PutPeaks(fingerprint, peaks);
  }
  Result<v1::CollectGarbageResponse> Forget(const Retention& retention) override {
    return store_->Forget(retention);
  }
  Status BackUp(const std::string& path) override { return store_->BackUp(path); }
  Result<std::vector<std::string>> CheckIntegrity() override { return store_->CheckIntegrity(); }
  Status CheckWritable() const override { return store_->CheckWritable(); }
  void LookAfter() override { store_->LookAfter(); }
  Status Count(v1::Statistics& statistics) override { return store_->Count(statistics); }
  Result<std::unique_ptr<StudyStore>> OpenStudies() override { return store_->OpenStudies(); }
  int64_t schema_version() const override { return store_->schema_version(); }

 protected:
  Store& store() const { return *store_; }

 private:
  const std::unique_ptr<Store> store_;
};

}  // namespace mdh
