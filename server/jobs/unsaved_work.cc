#include "server/jobs/unsaved_work.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/records/resource_names.h"

namespace mdh {
namespace {

constexpr size_t kMostTrials = 100'000;

}  // namespace

bool UnsavedWork::IsBest(const v1::TuningRecord& record) const {
  const Result<v1::TuningRecord> known = table_.FindRecord(record.key());
  if (!known.ok()) return true;
  if (known->is_pinned()) return false;
  if (known->is_provisional() != record.is_provisional()) return known->is_provisional();
  return record.time_ns() < known->time_ns();
}

void UnsavedWork::Put(StoredResult result) {
  if (!IsBest(result.record)) return;
  table_.Apply(v1::KERNEL_CHANGE_KIND_PUT, result.record);
  absl::MutexLock lock(&mutex_);
  withdrawn_.erase(result.record.name());  // which it replaces
  results_[result.record.name()] = std::move(result);
}

void UnsavedWork::Withdraw(const v1::TuningRecord& record) {
  table_.Apply(v1::KERNEL_CHANGE_KIND_REMOVED, record);
  absl::MutexLock lock(&mutex_);
  results_.erase(record.name());
  withdrawn_[record.name()] = record;
}

Status UnsavedWork::SaveWithdrawals(Store& store) {
  std::map<std::string, v1::TuningRecord> withdrawn;
  {
    absl::MutexLock lock(&mutex_);
    withdrawn = withdrawn_;
  }
  Status status = absl::OkStatus();
  for (const auto& [name, record] : withdrawn) {
    MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(name));
    const Result<v1::TuningRecord> stored = store.GetRecord(id);
    const bool is_there =
        stored.ok() && stored->is_provisional() && stored->parameters() == record.parameters();
    const Status removed = is_there ? store.RemoveResult(id).status() : absl::OkStatus();
    status.Update(removed);
    if (!removed.ok()) continue;
    absl::MutexLock lock(&mutex_);
    withdrawn_.erase(name);
  }
  return status;
}

void UnsavedWork::Put(const JobClaim& job, std::vector<v1::TuningTrial> trials) {
  if (trials.empty()) return;
  absl::MutexLock lock(&mutex_);
  if (trial_count_ + trials.size() > kMostTrials) {
    spdlog::error("job={} {} trials that could not be stored are forgotten", job.number,
                  trials.size());
    return;
  }
  trial_count_ += trials.size();
  std::vector<v1::TuningTrial>& kept = trials_[job];
  for (v1::TuningTrial& trial : trials) kept.push_back(std::move(trial));
}

std::optional<v1::Kernel> UnsavedWork::FindKernel(const std::string& id) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto kept = results_.find(RecordName(id));
  return kept == results_.end() ? std::nullopt : std::make_optional(kept->second.kernel);
}

Status UnsavedWork::Save(Store& store) {
  absl::MutexLock one_at_a_time(&save_mutex_);
  std::map<std::string, StoredResult> results;
  std::map<JobClaim, std::vector<v1::TuningTrial>> trials;
  {
    absl::MutexLock lock(&mutex_);
    results = results_;
    trials.swap(trials_);
    trial_count_ = 0;
  }
  Status status = SaveWithdrawals(store);
  for (auto& [name, result] : results) {
    const Result<v1::TuningRecord> stored = PutInto(store, result);
    status.Update(stored.status());
    if (!stored.ok()) continue;
    // One that stayed, as it was better, is what lookups are to find.
    table_.Apply(v1::KERNEL_CHANGE_KIND_PUT, *stored);
    spdlog::info("{}: stored now", name);
    absl::MutexLock lock(&mutex_);
    const auto kept = results_.find(name);
    const bool is_same = kept != results_.end() && kept->second.record.SerializeAsString() ==
                                                       result.record.SerializeAsString();
    if (is_same) results_.erase(kept);
  }
  for (auto& [job, own] : trials) {
    const Status written = status.ok() ? store.PutTrials(job, own) : status;
    status.Update(written);
    if (!written.ok()) Put(job, std::move(own));
  }
  return status;
}

}  // namespace mdh
