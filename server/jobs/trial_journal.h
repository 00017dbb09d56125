// The journal of one job's trials: what is running, and what earlier runs have measured.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "mdh/v1/tuning.pb.h"
#include "server/records/kernel_key.h"
#include "server/store/store.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// What the journal of a job says of its runs so far.
struct JournalSummary {
  int64_t latest_number = 0;
  // Counts, times and the best, as if progress had been stored with the last trial.
  v1::TuningProgress progress;
  // By the digest of the kernel; what can be told again without measuring.
  std::map<std::string, Measurement> known;
};
JournalSummary SummarizeTrials(const std::vector<v1::TuningTrial>& trials);
// Adds to what is known the measurements of earlier jobs for the same key, of which the store has
// the latest. Errors: what the store says.
Status AddEarlierJobs(Store& store, int64_t job, const v1::KernelKey& key, JournalSummary& summary);

// Used by the thread that tunes. What it cannot store it keeps, and tries again with the next
// trial: a search does not end for that.
class TrialJournal {
 public:
  // `summary`: of the trials that are there. What was measured under another key than `key`, with
  // another compiler, is not known. `store` must outlive this.
  TrialJournal(Store& store, const JobClaim& job, const v1::KernelKey& key, JournalSummary summary,
               std::function<absl::Time()> now)
      : store_(store),
        job_(job),
        key_id_(KernelId(key)),
        summary_(std::move(summary)),
        now_(std::move(now)) {}

  // Before a kernel is given to a device.
  void Begin(const TuningParameters& parameters, const std::string& identity);
  // After a trial, also of one that needed no device. `progress`: of the job, over all its runs.
  // `device`: that measured it; empty: none did.
  void End(const Trial& trial, const v1::TuningProgress& progress, const std::string& device = "");
  // The measurement of an earlier run; nullptr if there is none.
  const Measurement* Known(const std::string& identity) const;
  // What could not be stored until now.
  std::vector<v1::TuningTrial> TakeUnwritten() { return std::move(unwritten_); }

 private:
  // Of a kernel's identity (tuner/run/trial_history.h) and the key, 32 hexadecimal digits.
  std::string Digest(const std::string& identity) const;
  void Write(const v1::TuningTrial& trial);

  Store& store_;
  const JobClaim job_;
  const std::string key_id_;
  JournalSummary summary_;
  const std::function<absl::Time()> now_;
  std::map<std::string, v1::TuningTrial> running_;  // by digest of the kernel
  std::vector<v1::TuningTrial> unwritten_;
};

}  // namespace mdh
