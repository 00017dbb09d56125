// What the daemon remembers: records, kernels and their changes, jobs and the journals of their
// trials, the peaks of devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "mdh/v1/tuning.pb.h"
#include "server/store/study_store.h"

namespace mdh {

// A record and its kernel.
struct StoredResult {
  v1::TuningRecord record;
  v1::Kernel kernel;
  bool is_given = false;  // not the result of a search of this daemon: from a bundle or a client
};

// Which jobs a list has; what is empty fits every job.
struct JobFilter {
  std::vector<v1::TuningJobState> states = {};
  std::string expression = "";  // name or digest
  std::string device = "";
  std::string source = "";

  bool Fits(const v1::TuningJob& job) const;
};

// Whose jobs are, and until when nobody else may take them.
struct JobClaim {
  std::string owner = "";
  absl::Time until = absl::UnixEpoch();
};

enum class Pinning { kPinned, kNotPinned };

// Some records in the order in which they were stored.
struct RecordPage {
  std::vector<v1::TuningRecord> records;
  int64_t last = 0;  // the place of the last one, or of what is after it and cannot be read
  bool has_more = false;
};

// What may be forgotten.
struct Retention {
  absl::Time jobs_ended_before;
  int64_t most_ended_jobs = 0;  // the newest are kept
  int generator_version = 0;    // results of older ones are forgotten where there is one of this
  bool only_count = false;
};

// Thread-safe. What a call acknowledged survives the end of the process and of the machine; every
// call that writes is one transaction: it does all that it says, or nothing. Errors of every call
// that writes: ResourceExhausted if the disk is full; CheckWritable. Errors of every call:
// FailedPrecondition if the storage is damaged, Internal.
class Store {
 public:
  virtual ~Store() = default;

  // ---- Results ----

  // Stores a record and its kernel under the record's key, unless there is a record that is pinned,
  // or of at most the same time. A provisional record replaces provisional ones only, and any other
  // replaces it whatever the times. Times in other states of the caches do not compare: a search
  // was asked for one of them and replaces a record of the other, but what is given does not.
  // Returns the record that is stored now; one that stays knows from then on what was searched for
  // another one in vain.
  virtual Result<v1::TuningRecord> PutResult(const v1::TuningRecord& record,
                                             const v1::Kernel& kernel) = 0;
  // The same for many, all or none.
  virtual Result<std::vector<v1::TuningRecord>> PutResults(
      absl::Span<const StoredResult> results) = 0;
  // A record that cannot be read is set aside, with its kernel, as if it had never been there.
  virtual Result<std::vector<v1::TuningRecord>> AllRecords() = 0;
  // Calls `take` for each of these, serialised, in no order, from several threads at once. The
  // bytes are the callee's for the time of the call. Nothing may be written meanwhile.
  using TakeRecord = std::function<void(std::string_view)>;
  virtual Status ForEachRecord(const TakeRecord& take) = 0;
  // Up to `limit` records after the place `after` (0: from the first). Those that cannot be read
  // are left out.
  virtual Result<RecordPage> ListRecords(int64_t after, int limit) = 0;
  // Errors: NotFound; FailedPrecondition if it cannot be read.
  virtual Result<v1::TuningRecord> GetRecord(std::string_view id) = 0;
  // Errors: NotFound, also if the kernel cannot be read, or is not that of its record.
  virtual Result<v1::Kernel> GetKernel(std::string_view id) = 0;
  // Stores the kernel of a record that is there, in place of one that is missing or damaged.
  // Errors: NotFound.
  virtual Status RestoreKernel(std::string_view id, const v1::Kernel& kernel) = 0;
  // Gives what was removed. Errors: NotFound; FailedPrecondition if it is pinned.
  virtual Result<v1::TuningRecord> RemoveResult(std::string_view id) = 0;
  // Gives the record as it is now. Errors: NotFound.
  virtual Result<v1::TuningRecord> SetPinning(std::string_view id, Pinning pinning) = 0;
  // Replaces the certificate of a record, and nothing else of it. Gives the record as it is now.
  // Errors: NotFound.
  virtual Result<v1::TuningRecord> SetCertificate(std::string_view id,
                                                  const v1::Certificate& certificate) = 0;

  // ---- Changes of records ----

  // Called after every change of a record, in the order of the changes, with the record as it is,
  // or was before it was removed; before the call that made the change returns. It must not call
  // the store. Set before the first change.
  using OnChange = std::function<void(v1::KernelChangeKind, const v1::TuningRecord&)>;
  virtual void SetListener(OnChange on_change) = 0;
  // Number of the latest change; 0 before the first.
  virtual int64_t LatestChange() = 0;
  // Up to `limit` changes with larger numbers. Errors: OutOfRange if some of them are forgotten, or
  // if `after` is larger than the latest.
  virtual Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) = 0;
  // Waits until there is a change after that number; false if the time was over before.
  virtual bool WaitForChange(int64_t after, absl::Duration timeout) = 0;

  // ---- Jobs ----

  // Returns the number of the new job; later jobs have larger numbers. `name` is not stored: jobs
  // that are read have the name of their number.
  // Errors: AlreadyExists if its request_id is that of another job.
  virtual Result<int64_t> InsertJob(const v1::TuningJob& job, const JobClaim& claim = {}) = 0;
  virtual Status UpdateJob(int64_t number, const v1::TuningJob& job) = 0;
  // Errors: NotFound.
  virtual Result<v1::TuningJob> GetJob(int64_t number) = 0;
  // nullopt if no job has that request_id.
  virtual Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) = 0;
  // Up to `limit` jobs with numbers below `before` (0: any), the newest first.
  virtual Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                                      const JobFilter& filter = {}) = 0;
  // Jobs that have not ended; of `owner` (ClaimJobs), if one is given.
  virtual Result<std::vector<v1::TuningJob>> UnfinishedJobs(const std::string& owner = "") = 0;
  // Takes jobs that have not ended: those that the owner has already; and of those that nobody has,
  // or whose time is over, the ones that name one of `devices`. Returns how many the owner has now.
  virtual Result<int64_t> ClaimJobs(const JobClaim& claim, absl::Time now,
                                    const std::vector<std::string>& devices) = 0;

  // ---- Journals of trials ----

  // Writes trials of a job down, by number: those that are there already are replaced.
  virtual Status PutTrials(int64_t job, absl::Span<const v1::TuningTrial> trials) = 0;
  // Up to `limit` (0: all) trials with numbers above `after`, in their order.
  virtual Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after,
                                                          int limit) = 0;

  // ---- Devices ----

  // nullopt if none are stored for that device.
  virtual Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) = 0;
  virtual Status PutPeaks(std::string_view fingerprint, const v1::MachinePeaks& peaks) = 0;

  // ---- Care ----

  // Gives how much was forgotten, or would be. Pinned records stay.
  virtual Result<v1::CollectGarbageResponse> Forget(const Retention& retention) = 0;
  // Copies everything that is stored to a new file, while it is used. Errors: AlreadyExists.
  virtual Status BackUp(const std::string& path) = 0;
  // One sentence for everything that is wrong, at most 100.
  virtual Result<std::vector<std::string>> CheckIntegrity() = 0;
  // Errors: FailedPrecondition if nothing can be written: the storage is read-only, was found to be
  // damaged, or was moved or deleted by somebody.
  virtual Status CheckWritable() const = 0;
  // To be called about once a second: says in the log if the storage was moved or deleted, and then
  // saves what was acknowledged.
  virtual void LookAfter() {}
  // Counts, sizes and state of what is stored; the rest is left alone.
  virtual Status Count(v1::Statistics& statistics) = 0;
  // The studies in the same database, written by the same writer. This must outlive the result.
  // Errors: as of opening the store.
  virtual Result<std::unique_ptr<StudyStore>> OpenStudies() = 0;
  // Version of what is stored.
  virtual int64_t schema_version() const = 0;
};

// One result, given or found.
inline Result<v1::TuningRecord> PutInto(Store& store, const StoredResult& result) {
  if (!result.is_given) return store.PutResult(result.record, result.kernel);
  MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningRecord> stored, store.PutResults({&result, 1}));
  return std::move(stored[0]);
}

}  // namespace mdh
