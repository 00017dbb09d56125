// What is known of searches and could not be stored, until it can be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/records/lookup_table.h"
#include "server/store/store.h"

namespace mdh {

// Thread-safe.
class UnsavedWork {
 public:
  // Lookups find it from now on. `table` must outlive this.
  explicit UnsavedWork(LookupTable& table) : table_(table) {}

  // The last one of each record is kept; one that lookups know better than is not.
  void Put(StoredResult result) ABSL_LOCKS_EXCLUDED(mutex_);
  // A provisional record that was shown to be wrong: nobody finds it any more.
  void Withdraw(const v1::TuningRecord& record) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a job's journal. Beyond a number of trials of all jobs they are forgotten, which is logged.
  void Put(const JobClaim& job, std::vector<v1::TuningTrial> trials) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a record that is not stored yet, by its id; nullopt: there is none.
  std::optional<v1::Kernel> FindKernel(const std::string& id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Stores what there is. Errors: what the store says; what is not stored then is kept.
  Status Save(Store& store) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Status SaveWithdrawals(Store& store) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether what lookups give now would be replaced by it.
  bool IsBest(const v1::TuningRecord& record) const;

  LookupTable& table_;
  absl::Mutex save_mutex_;  // one Save at a time
  mutable absl::Mutex mutex_;
  std::map<std::string, StoredResult> results_ ABSL_GUARDED_BY(mutex_);              // by name
  std::map<std::string, v1::TuningRecord> withdrawn_ ABSL_GUARDED_BY(mutex_);        // idem
  std::map<JobClaim, std::vector<v1::TuningTrial>> trials_ ABSL_GUARDED_BY(mutex_);  // by job
  size_t trial_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mdh
