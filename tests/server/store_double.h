// A store whose calls hang, or whose writes fail, when a test says so.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/store/store.h"

namespace mdh {

// Does what `store` does. Thread-safe.
class StoreDouble final : public Store {
 public:
  explicit StoreDouble(Store& store) : store_(store) {}

  // From now on every call hangs, until Go.
  void Hang() {
    Set([this] { hangs_ = true; });
  }
  void Go() {
    Set([this] { hangs_ = false; });
  }
  // From now on every call that writes gives this; Ok: what the store gives.
  void FailWrites(Status failure) {
    Set([&] { failure_ = std::move(failure); });
  }
  // It was not heard of for so long.
  void SetAge(absl::Duration age) {
    Set([&] { age_ = age; });
  }
  // It is shared with others, and changes of records are known here up to that one only.
  void Share(int64_t known) {
    Set([&] { known_ = known; });
  }
  // Leases that were asked for, whether or not there was an answer.
  int renewals() const {
    absl::ReaderMutexLock lock(&mutex_);
    return renewals_;
  }
  // Calls that hang.
  int hanging() const {
    absl::ReaderMutexLock lock(&mutex_);
    return hanging_;
  }

  Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                     const v1::Kernel& kernel) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.PutResult(record, kernel);
  }
  Result<std::vector<v1::TuningRecord>> PutResults(
      absl::Span<const StoredResult> results) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.PutResults(results);
  }
  Result<std::vector<v1::TuningRecord>> AllRecords() override {
    Read();
    return store_.AllRecords();
  }
  Status ForEachRecord(const Fingerprints& devices, const TakeRecord& take) override {
    Read();
    return store_.ForEachRecord(devices, take);
  }
  Result<RecordPage> ListRecords(int64_t after, int limit) override {
    Read();
    return store_.ListRecords(after, limit);
  }
  Result<v1::TuningRecord> GetRecord(std::string_view id) override {
    Read();
    return store_.GetRecord(id);
  }
  Status RestoreKernel(std::string_view id, const v1::Kernel& kernel) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.RestoreKernel(id, kernel);
  }
  Result<v1::Kernel> GetKernel(std::string_view id) override {
    Read();
    return store_.GetKernel(id);
  }
  Result<v1::TuningRecord> RemoveResult(std::string_view id) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.RemoveResult(id);
  }
  Result<v1::TuningRecord> SetPinning(std::string_view id, Pinning pinning) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.SetPinning(id, pinning);
  }
  Result<v1::TuningRecord> SetCertificate(std::string_view id,
                                          const v1::Certificate& certificate) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.SetCertificate(id, certificate);
  }
  void SetOnWish(const std::string& owner, std::function<void()> on_wish) override {
    store_.SetOnWish(owner, std::move(on_wish));
  }
  void SetOnNewJobs(std::function<void()> on_new_jobs) override {
    store_.SetOnNewJobs(std::move(on_new_jobs));
  }
  void SetListener(OnChange on_change) override { store_.SetListener(std::move(on_change)); }
  std::string incarnation() override { return store_.incarnation(); }
  int64_t LatestChange() override {
    absl::ReaderMutexLock lock(&mutex_);
    return std::min(store_.LatestChange(), known_.value_or(std::numeric_limits<int64_t>::max()));
  }
  std::optional<int64_t> SharedChange() override {
    absl::ReaderMutexLock lock(&mutex_);
    return known_.has_value() ? std::optional<int64_t>(store_.LatestChange()) : std::nullopt;
  }
  Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) override {
    Read();
    return store_.ChangesAfter(after, limit);
  }
  bool WaitForChange(int64_t after, absl::Duration timeout) override {
    if (!SharedChange().has_value()) return store_.WaitForChange(after, timeout);
    absl::MutexLock lock(&mutex_);
    const auto is_known = [&] { return *known_ > after; };
    return mutex_.AwaitWithTimeout(absl::Condition(&is_known), timeout);
  }
  Result<InsertedJob> InsertJob(const v1::TuningJob& job, const JobLease& lease,
                                std::string_view twin_id) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.InsertJob(job, lease, twin_id);
  }
  Status UpdateJob(const JobClaim& claim, const v1::TuningJob& job, JobWish heard,
                   std::string_view twin_id) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.UpdateJob(claim, job, heard, twin_id);
  }
  Result<v1::TuningJob> GetJob(int64_t number) override {
    Read();
    return store_.GetJob(number);
  }
  Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) override {
    Read();
    return store_.FindJobByRequest(request_id);
  }
  Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                              const JobFilter& filter) override {
    Read();
    return store_.ListJobs(before, limit, filter);
  }
  Result<std::vector<v1::TuningJob>> UnfinishedJobs() override {
    Read();
    return store_.UnfinishedJobs();
  }
  Result<std::vector<ClaimedJob>> ClaimJobs(const JobLease& lease,
                                            const ClaimRequest& request) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.ClaimJobs(lease, request);
  }
  Result<std::vector<HeldJob>> RenewLeases(const JobLease& lease) override {
    Set([this] { ++renewals_; });
    MDH_RETURN_IF_ERROR(Write());
    return store_.RenewLeases(lease);
  }
  Result<v1::TuningJob> WishOfJob(int64_t number, JobWish wish) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.WishOfJob(number, wish);
  }
  Result<v1::TuningJob> WishMoreOfJob(int64_t number, const ChangeOfMore& change) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.WishMoreOfJob(number, change);
  }
  Status HeardMore(const JobClaim& claim, std::string_view more) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.HeardMore(claim, more);
  }
  Status PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.PutTrials(claim, trials);
  }
  Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after, int limit) override {
    Read();
    return store_.ListTrials(job, after, limit);
  }
  Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) override {
    Read();
    return store_.GetPeaks(fingerprint);
  }
  Result<v1::MachinePeaks> ChangePeaks(std::string_view fingerprint,
                                       const ChangeOfPeaks& change) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.ChangePeaks(fingerprint, change);
  }
  Status AnnounceNode(const v1::Node& node, absl::Duration lease) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.AnnounceNode(node, lease);
  }
  Status RemoveNode(std::string_view name) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.RemoveNode(name);
  }
  Result<std::vector<v1::Node>> ListNodes() override {
    Read();
    return store_.ListNodes();
  }
  absl::Duration age() const override {
    absl::ReaderMutexLock lock(&mutex_);
    return age_;
  }
  Result<v1::CollectGarbageResponse> Forget(const Retention& retention) override {
    MDH_RETURN_IF_ERROR(Write());
    return store_.Forget(retention);
  }
  Status BackUp(const std::string& path) override {
    Read();
    return store_.BackUp(path);
  }
  Result<std::vector<std::string>> CheckIntegrity() override {
    Read();
    return store_.CheckIntegrity();
  }
  void LookAfter() override { store_.LookAfter(); }
  Status CheckWritable() const override { return store_.CheckWritable(); }
  Status Count(v1::Statistics& statistics) override {
    Read();
    return store_.Count(statistics);
  }
  Result<std::unique_ptr<StudyStore>> OpenStudies() override { return store_.OpenStudies(); }
  Result<std::shared_ptr<TrialBoard>> OpenTrialBoard() override { return store_.OpenTrialBoard(); }
  int64_t schema_version() const override { return store_.schema_version(); }

 private:
  template <typename Change>
  void Set(const Change& change) {
    absl::MutexLock lock(&mutex_);
    change();
  }
  void Read() {
    absl::MutexLock lock(&mutex_);
    Wait();
  }
  Status Write() {
    absl::MutexLock lock(&mutex_);
    Wait();
    return failure_;
  }
  void Wait() {
    ++hanging_;
    const auto goes = [this] { return !hangs_; };
    mutex_.Await(absl::Condition(&goes));
    --hanging_;
  }

  Store& store_;
  mutable absl::Mutex mutex_;
  bool hangs_ = false;
  int hanging_ = 0, renewals_ = 0;
  Status failure_;
  absl::Duration age_;
  std::optional<int64_t> known_;
};

}  // namespace mdh
