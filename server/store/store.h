// What the daemon remembers: records, kernels and their changes, jobs and the journals of their
// trials, the peaks of devices.
#pragma once

#include <compare>
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
#include "server/store/trial_board.h"

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

// Succeeded, failed or cancelled.
bool HasEnded(const v1::TuningJob& job);

// Whose jobs are, and how long from now on no other owner may take them. The store's clock counts,
// which all who share the store have in common.
struct JobLease {
  std::string owner = "";  // empty: nobody, and anybody may take them
  absl::Duration duration = absl::ZeroDuration();
};

// That a job was taken. The epoch grows whenever it is taken: whoever took it before is refused.
struct JobClaim {
  int64_t number = 0;
  int64_t epoch = 0;  // 0: nobody has taken it yet

  auto operator<=>(const JobClaim&) const = default;
};

// What is wanted of a job that another owner works on.
enum class JobWish { kNone = 0, kCancel = 1, kPause = 2, kResume = 3 };

// A job in the hands of its owner, and the latest that others want of it.
struct HeldJob {
  JobClaim claim;
  JobWish wish = JobWish::kNone;
  std::string more = "";  // as Store::WishMoreOfJob has it, serialised; empty: nothing
};
struct ClaimedJob : HeldJob {
  v1::TuningJob job;
};

struct InsertedJob {
  JobClaim claim;
  bool is_twin = false;  // it is the claim of a job that was there; nothing was inserted
};

// Which jobs that have not ended are to be taken. Those that another owner has are not, while its
// lease lasts.
struct ClaimRequest {
  // Those for a device with one of these fingerprints, or that name one of these devices.
  std::vector<std::string> fingerprints = {};
  std::vector<std::string> devices = {};
  // Also those that the owner has already, whatever their devices: it has begun anew.
  bool takes_own = false;
  // Only this one, and whatever its devices; 0: any.
  int64_t number = 0;
  // At most so many; 0: all.
  int limit = 0;
  // Not those that nobody has: only what was given up, and the own ones.
  bool leaves_new = false;
};

// So many changes of records are remembered, at least; older ones are forgotten.
inline constexpr int64_t kRememberedChanges = 10'000;

// Whether the job is for a device that the request names, in either way.
bool IsForOneOf(const v1::TuningJob& job, const ClaimRequest& request);

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

// Thread-safe, and safe among processes where several can have what is stored open. What a call
// acknowledged survives the end of the process and of the machine; every call that writes is one
// transaction: it does all that it says, or nothing. Errors of every call that writes:
// ResourceExhausted if the disk is full; CheckWritable. Errors of every call: FailedPrecondition if
// the storage is damaged, Internal.
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
  // Calls `take` for each of these, serialised, in no order, from several threads at once;
  // `devices`: only for those of devices with these fingerprints, which have no line breaks; none:
  // for all. The bytes are the callee's for the time of the call. What is changed meanwhile, by
  // this process or another one, is given as it was before or after, or not at all: who wants to
  // miss nothing notes LatestChange before, and follows the changes from there; meeting one twice
  // does no harm.
  using TakeRecord = std::function<void(std::string_view)>;
  using Fingerprints = std::vector<std::string>;
  virtual Status ForEachRecord(const Fingerprints& devices, const TakeRecord& take) = 0;
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
  // or was before it was removed; before the call that made the change returns. Of changes of
  // others to a record that is gone by then only its removal is told. If ForEachRecord was called
  // for some devices before, it need not be told of records of others. It must not call the store.
  // Set before the first change.
  using OnChange = std::function<void(v1::KernelChangeKind, const v1::TuningRecord&)>;
  virtual void SetListener(OnChange on_change) = 0;
  // Letters and digits. Changes are numbered anew in each incarnation, or again: it is another one
  // when a backup was restored, and numbers of an earlier one say nothing of this one.
  virtual std::string incarnation() = 0;
  // Number of the latest change; 0 before the first.
  virtual int64_t LatestChange() = 0;
  // Where several daemons share the store: the number of a change up to which everything is known
  // that this process has written, and that its listener knows; nullopt: no other one can have it
  // open.
  virtual std::optional<int64_t> SharedChange() { return std::nullopt; }
  // Up to `limit` changes with larger numbers; numbers have no gaps. Errors: OutOfRange if some of
  // them are forgotten, or if `after` is larger than the latest. A store that others change waits
  // up to a second for a change that it has not seen, before it says that.
  virtual Result<std::vector<v1::KernelChange>> ChangesAfter(int64_t after, int limit) = 0;
  // Waits until there is a change after that number; false if the time was over before.
  virtual bool WaitForChange(int64_t after, absl::Duration timeout) = 0;

  // ---- Jobs ----

  // Later jobs have larger numbers. `name` is not stored: jobs that are read have the name of their
  // number. A job with an owner is in its hands at once, in epoch 1; one without waits in epoch 0.
  // If a job that has not ended has the same `twin_id`, which is not empty, that one is returned.
  // Errors: AlreadyExists if its request_id is that of another job, which is looked at first.
  virtual Result<InsertedJob> InsertJob(const v1::TuningJob& job, const JobLease& lease = {},
                                        std::string_view twin_id = "") = 0;
  // Replaces what is stored of a job that the caller has taken.
  // What was `heard` is not wanted any more, unless something else is by now. `twin_id`: its new
  // one, of which it has none if another job that has not ended has it; empty: as it was.
  // Errors: NotFound; Aborted if it was taken by another since, also if its lease was over.
  virtual Status UpdateJob(const JobClaim& claim, const v1::TuningJob& job,
                           JobWish heard = JobWish::kNone, std::string_view twin_id = "") = 0;
  // Where several daemons share the store, jobs that are read say whose they are (`node`). Errors:
  // NotFound.
  virtual Result<v1::TuningJob> GetJob(int64_t number) = 0;
  // nullopt if no job has that request_id.
  virtual Result<std::optional<v1::TuningJob>> FindJobByRequest(std::string_view request_id) = 0;
  // Up to `limit` jobs with numbers below `before` (0: any), the newest first.
  virtual Result<std::vector<v1::TuningJob>> ListJobs(int64_t before, int limit,
                                                      const JobFilter& filter = {}) = 0;
  // Jobs that have not ended.
  virtual Result<std::vector<v1::TuningJob>> UnfinishedJobs() = 0;
  // Takes jobs, each in its next epoch: first the owner's own, then those of the highest priority,
  // then the oldest. Jobs that cannot be read are left alone. With a lease of no time, or no owner,
  // anybody may take them next; until then the caller can write them.
  virtual Result<std::vector<ClaimedJob>> ClaimJobs(const JobLease& lease,
                                                    const ClaimRequest& request) = 0;
  // Renews the leases of all jobs of the owner that have not ended, and gives these, in the order
  // of their numbers. One that the owner believes to have and is not among them with its epoch is
  // another's, or was ended by another: it must not be worked on.
  virtual Result<std::vector<HeldJob>> RenewLeases(const JobLease& lease) = 0;
  // Tells the owner of a job what is wanted of it, in place of what was wanted before; it hears of
  // that when it renews its lease. Gives the job as it is. Errors: NotFound; FailedPrecondition if
  // it has ended, or is to be cancelled and `wish` is something else.
  virtual Result<v1::TuningJob> WishOfJob(int64_t number, JobWish wish) = 0;
  // Tells the owner of a job that more is wanted of it, beside what WishOfJob said: of `options`
  // the limits that it is to have at least, if there are any, and in `awaited_jobs` those that it
  // is to await, too. What is wanted is what `change` makes of what was wanted before, which is
  // empty if there was nothing; it may be called more than once and must not call the store. Gives
  // the job as it is. Errors: NotFound; FailedPrecondition if it has ended.
  using ChangeOfMore = std::function<v1::TuningJob(const v1::TuningJob& wanted)>;
  virtual Result<v1::TuningJob> WishMoreOfJob(int64_t number, const ChangeOfMore& change) = 0;
  // The owner has done what `more` says, which is not wanted any more unless something else is by
  // now.
  virtual Status HeardMore(const JobClaim& claim, std::string_view more) = 0;
  // From now on `on_wish` is called, from another thread, soon after others have told that owner
  // what they want of its jobs, and when that may have been missed; by a store that others share.
  // It must not call the store. It is not called any more when the next call of this returns.
  virtual void SetOnWish(const std::string& /*owner*/, std::function<void()> /*on_wish*/) {}

  // The same for jobs that nobody has: `on_new_jobs` is called soon after there are some more. It
  // is a hint, which may come for nothing; who works on jobs looks for them from time to time, too.
  virtual void SetOnNewJobs(std::function<void()> /*on_new_jobs*/) {}

  // ---- Journals of trials ----

  // Writes trials of a job down. Those with the same numbers that were written in the same epoch
  // are replaced; those of other epochs never are.
  virtual Status PutTrials(const JobClaim& claim, absl::Span<const v1::TuningTrial> trials) = 0;
  // Up to `limit` (0: all) trials with numbers above `after`, in their order, of all epochs: the
  // older ones first where they have the same number. Those with the number of the last one are
  // given, too, though they are more.
  virtual Result<std::vector<v1::TuningTrial>> ListTrials(int64_t job, int64_t after,
                                                          int limit) = 0;

  // ---- Devices ----

  // nullopt if none are stored for that device.
  virtual Result<std::optional<v1::MachinePeaks>> GetPeaks(std::string_view fingerprint) = 0;
  // Stores what `change` makes of the peaks that are stored, nullopt: none, and gives them, all in
  // one transaction. `change` may be called more than once and must not call the store.
  using ChangeOfPeaks =
      std::function<v1::MachinePeaks(const std::optional<v1::MachinePeaks>& stored)>;
  virtual Result<v1::MachinePeaks> ChangePeaks(std::string_view fingerprint,
                                               const ChangeOfPeaks& change) = 0;

  // ---- Nodes ----

  // Says what a daemon has, in place of what it said before. If it is not said again within the
  // lease it is gone; whoever is gone for a day is forgotten. Of `node` the time at which it is
  // seen is the store's.
  virtual Status AnnounceNode(const v1::Node& node, absl::Duration lease) = 0;
  // It is not there any more; no error if it never was.
  virtual Status RemoveNode(std::string_view name) = 0;
  // All that were announced, by name, with when they were seen. One that cannot be read is left
  // out.
  virtual Result<std::vector<v1::Node>> ListNodes() = 0;

  // ---- Care ----

  // How long ago the store was last known to be as it is in memory: others may have changed it
  // since. Never waits.
  virtual absl::Duration age() const { return absl::ZeroDuration(); }

  // Gives how much was forgotten, or would be. Pinned records stay.
  virtual Result<v1::CollectGarbageResponse> Forget(const Retention& retention) = 0;
  // Copies everything that is stored to a new file, while it is used; who goes on from the copy
  // has another incarnation. Errors: AlreadyExists; Unimplemented, naming what does it instead.
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
  // The board of trials of all who have the same database open. This must outlive the result.
  virtual Result<std::shared_ptr<TrialBoard>> OpenTrialBoard() = 0;
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
