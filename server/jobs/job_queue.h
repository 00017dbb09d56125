// Tuning jobs: identical requests share one job; jobs wait for their devices, and sources of jobs
// take turns; jobs on different devices run at the same time. What a process leaves unfinished, in
// whatever way it ends, the next one goes on with.
//
// What a call changes is on the disk before the call returns, and before anybody sees it; if it
// cannot be written the call fails and nothing has changed. What happens by itself, such as the end
// of a search, is written first, too; what cannot be written is kept and written later. The store
// is never called under the queue's lock: a disk that hangs holds up nobody who does not write.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/devices/device_catalogue.h"
#include "server/help/helped_search.h"
#include "server/help/trial_helper.h"
#include "server/help/trial_sharing.h"
#include "server/jobs/job.h"
#include "server/jobs/job_metrics.h"
#include "server/jobs/job_schedule.h"
#include "server/jobs/job_search.h"
#include "server/jobs/pipeline_search.h"
#include "server/jobs/trial_journal.h"
#include "server/jobs/unsaved_work.h"
#include "server/records/lookup_table.h"
#include "server/store/store.h"

namespace mdh {

// mdh::Tune on all runners.
Result<TuningResult> TuneOnRunners(const Expression& expression, absl::Span<Runner* const> runners,
                                   const TuningOptions& options,
                                   const std::function<void(const TuningProgress&)>& on_trial,
                                   const std::atomic<bool>& cancelled);

struct JobQueueOptions {
  int max_queued = 256;
  int max_queued_per_source = 0;  // waiting and paused ones; 0: no limit of its own
  // Whose jobs they are in a database that several daemons share.
  std::string owner = "mdhd";
  // So long after a daemon was last heard of others may take its jobs.
  absl::Duration lease = absl::Minutes(10);
  // Of this daemon alone, in nanoseconds: by it searches end when the lease is over that was begun
  // before the last renewal that succeeded was asked for. Empty: they do not, since nobody else can
  // take the jobs.
  std::function<int64_t()> lease_clock = {};
  // So long a request that wants more of a job of another daemon waits for that one to hear of it.
  absl::Duration owner_patience = absl::Seconds(2);
  // Daemons of other machines use the store, too. Their jobs are taken over as soon as they are
  // given up; and jobs are for all devices of their fingerprint, as names are those of a machine.
  bool is_shared = false;
  // Steps of progress kept per job for those who watch; older ones are forgotten.
  int max_progress_steps = 4096;
  // Ended jobs whose progress is kept.
  int max_recent = 32;
  // A job whose devices died, or for which the machine lacked room or processes, waits and goes on;
  // after so many runs it ends with what it has.
  int max_runs = 5;
  // Before the second run of a job for which the machine lacked something; twice as long before
  // each further one.
  absl::Duration lack_pause = absl::Seconds(2);
  // A job that was running when so many daemons in a row died, and ended no trial in between, is
  // not taken up again but paused.
  int most_deaths = 2;
  // Whether other daemons are asked to measure trials of jobs of this one, and whether this one
  // measures trials for others, on devices that it does not need.
  TrialSharing trial_sharing = TrialSharing::kOff;
  TrialHelperOptions helping = {};  // the owner's name and what the queue wants are filled in
  JobMetrics* metrics = nullptr;    // where jobs and trials are counted; null: nowhere
  // Called when a job has made progress, under a lock: must not call the queue. Empty: nobody is.
  std::function<void()> on_progress = {};
  std::function<absl::Time()> now = absl::Now;
  TuneFunction tune = TuneOnRunners;
  TurnsFunction measure_in_turns = MeasureInTurns;
};

// Thread-safe.
class JobQueue {
 public:
  // Begins at once if the devices are open. All arguments must outlive the queue. The store's
  // listener must keep the table. Errors: as Begin.
  static Result<std::unique_ptr<JobQueue>> Start(Store& store, LookupTable& lookup_table,
                                                 DeviceCatalogue& catalogue,
                                                 JobQueueOptions options);
  ~JobQueue();  // drains

  // When the devices are open: takes up the jobs that an earlier process left unfinished, and
  // starts one worker per device. Before, jobs are only told of. Errors: what the store says;
  // ResourceExhausted if there is no thread. Then nothing was taken up, calls that change jobs get
  // this error, and LookAfter tries again.
  Status Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // To be called each second: begins, if that failed before, and writes what could not be written.
  void LookAfter() ABSL_LOCKS_EXCLUDED(mutex_);
  // To be called several times in the time of a lease: renews those of all jobs, does what others
  // want of them, stops those that others have taken, and takes those that are given up.
  void RenewLeases() ABSL_LOCKS_EXCLUDED(mutex_);

  // Errors: see TuningService.CreateTuningJob.
  Result<v1::CreateTuningJobResponse> Create(CreateJob request) ABSL_LOCKS_EXCLUDED(mutex_);
  // What Create would give, but for the name. Errors: as Create.
  Result<v1::CreateTuningJobResponse> Validate(const CreateJob& request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Errors: NotFound.
  Result<v1::TuningJob> Get(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<std::vector<v1::TuningJob>> List(int64_t before, int limit, const JobFilter& filter = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A queued job ends at once, a running one as soon as the search has noticed. That of another
  // daemon, when that has heard of it: until then it is as it was. Errors: NotFound; those of
  // Store::UpdateJob, and then nothing has changed; so also of the next two.
  Result<v1::TuningJob> Cancel(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // A queued job waits at once, a running one as soon as the search has noticed. Errors: NotFound;
  // FailedPrecondition if it has ended.
  Result<v1::TuningJob> Pause(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // Errors: NotFound; FailedPrecondition if it has ended.
  Result<v1::TuningJob> Resume(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  // The kernel of a record that could not be stored yet, by its id.
  std::optional<v1::Kernel> FindUnsavedKernel(const std::string& id) const {
    return unsaved_work_.FindKernel(id);
  }
  // Writes what could not be written before. Errors: what the store says; then the rest is kept.
  Status SaveUnsaved() ABSL_LOCKS_EXCLUDED(mutex_);
  struct Counts {
    int64_t queued = 0;
    int64_t running = 0;
    int64_t paused = 0;
  };
  Counts CountJobs() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Jobs that wait and may run on that device.
  int CountQueued(const TuningDevice& device) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until there is progress after `after_sequence` or the time is over, and gives the first
  // `most` steps of it. Of a job that ended long ago: its last step, whatever `after_sequence`
  // says. Errors: NotFound; Unavailable if the daemon stops before the job has ended.
  Result<std::vector<v1::TuningProgress>> WaitForProgress(
      int64_t number, int64_t after_sequence, absl::Duration timeout,
      size_t most = std::numeric_limits<size_t>::max()) ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses new jobs and interrupts the running ones, which wait for the next process then, with
  // their best stored. Before devices are given up: a search that ends because its device does was
  // not cancelled.
  void BeginToDrain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until they have stopped, too.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // When to try again what a daemon that stops refuses: another one may run by then.
  static constexpr absl::Duration kRetryAfterStop = absl::Seconds(5);

  JobQueue(Store& store, LookupTable& lookup_table, DeviceCatalogue& catalogue,
           JobQueueOptions options);
  Status StartWorkers();
  JobLease Lease() const { return {options_.owner, options_.lease}; }
  // Before that jobs cannot be changed. Errors: as DeviceCatalogue::AwaitOpen, and Begin.
  Status AwaitBegin() const ABSL_LOCKS_EXCLUDED(mutex_);

  // In job_queue_resume.cc.
  // `wished`: those of them of which others want something.
  Status TakeUpUnfinishedJobs(std::vector<HeldJob>& wished) ABSL_LOCKS_EXCLUDED(mutex_);
  // The job as an earlier process left it. One whose devices are not attached waits. Errors: why
  // it cannot go on; a lack that may pass (IsLack).
  Result<std::shared_ptr<Job>> Restore(ClaimedJob claimed);
  void FailUnrestored(ClaimedJob claimed, const Status& why);
  // Lets a job that has run, or waited, wait again, paused or not, as its state says.
  void SetAside(const std::shared_ptr<Job>& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopRunning(const std::shared_ptr<Job>& job, StopReason reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same when it is on the disk, so that it holds whatever becomes of this process.
  Status WriteAndStop(const std::shared_ptr<Job>& job, StopReason reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Cancels, pauses or resumes a job that is in memory; it expects AwaitWritten.
  using ChangeOwn = Result<v1::TuningJob> (JobQueue::*)(const std::shared_ptr<Job>& job);
  Result<v1::TuningJob> CancelOwn(const std::shared_ptr<Job>& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<v1::TuningJob> PauseOwn(const std::shared_ptr<Job>& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<v1::TuningJob> ResumeOwn(const std::shared_ptr<Job>& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The job in memory or, if it is not, in the store.
  Result<v1::TuningJob> ChangeJob(int64_t number, JobWish wish) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a job that is not in memory: if nobody works on it; or its owner is told.
  Result<v1::TuningJob> ChangeStored(int64_t number, JobWish wish) ABSL_LOCKS_EXCLUDED(mutex_);

  // In job_queue_claims.cc.
  // Which jobs of others this daemon can work on.
  ClaimRequest Claimable() const;
  // Takes as many of the jobs that nobody has as there are devices for: others have some, too.
  void ClaimNew() ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks the store for the jobs of other daemons that jobs here await.
  void LookAtAwaited() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<int64_t> AwaitedElsewhere(const Job& job) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // A job of this daemon none of whose devices it has: whoever has one may take it.
  void HandOver(const Job& job) ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t LeaseClock() const { return options_.lease_clock ? options_.lease_clock() : 0; }
  // Leases that were asked for then are granted.
  void NoteLease(int64_t asked_ns) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsLeaseOver() const { return options_.lease_clock && LeaseClock() >= lease_until_ns_; }
  // A thread: stops what runs when the lease is over.
  void WatchLease() ABSL_LOCKS_EXCLUDED(mutex_);
  // Those of this daemon that a job may run on, whoever had it before.
  std::vector<TuningDevice*> DevicesFor(const v1::TuningJob& job) const;
  // Takes up what was claimed. Errors: a lack that may pass (IsLack); then nothing was.
  Status TakeUp(const std::vector<ClaimedJob>& claimed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Those that are given up, and those that are this daemon's without its knowing, as an answer of
  // the store was lost.
  Status TakeUpMore(const std::vector<HeldJob>& held) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does what others want.
  void Fulfil(const HeldJob& held) ABSL_LOCKS_EXCLUDED(mutex_);
  // Stops those of `jobs` that are not among `held`.
  void LoseOthers(const std::vector<std::shared_ptr<Job>>& jobs, const std::vector<HeldJob>& held)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Another daemon has taken it.
  void Lose(const std::shared_ptr<Job>& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The latest step of a job that is not in memory, as it was half a second ago at most: many may
  // watch. Errors: NotFound; Unavailable at once while the store is away.
  Result<v1::TuningProgress> ProgressElsewhere(int64_t number) ABSL_LOCKS_EXCLUDED(seen_mutex_);

  // Writing, in job_queue_write.cc.
  // What a change makes of a job: its state, and in `progress` what is new in the next step.
  using Change = std::function<void(v1::TuningJob&)>;
  // Until no change of the job's state is on the way to the disk.
  void AwaitWritten(const Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the job as it will be, and then changes it, with a step for all who watch. These give
  // the lock up while the job is written; nobody else changes its state meanwhile. They expect
  // AwaitWritten. Errors: those of the store; then nothing has changed.
  Status ChangeIfWritten(const std::shared_ptr<Job>& job, const Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of what has happened anyway: if it cannot be written it is by SaveUnsaved.
  void ChangeAnyway(const std::shared_ptr<Job>& job, const Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without writing.
  void Apply(Job& job, const Change& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Write(Job& job, const v1::TuningJob& proto) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As it is to be after this process: with what it was asked to stop for.
  v1::TuningJob ToStore(v1::TuningJob proto, StopReason reason) const;

  // Workers, in job_queue_work.cc.
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next job with its devices, which it holds; null if none can begin.
  std::shared_ptr<Job> StartNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunJob(const std::shared_ptr<Job>& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // After its search.
  void EndRun(const std::shared_ptr<Job>& job, const Result<v1::TuningRecord>& record,
              const Status& health) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where compilers were replaced since it was created, a job goes on under their key. Errors: why
  // the device does not answer.
  Status TakeNewCompilers(const std::shared_ptr<Job>& job) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<v1::TuningRecord> Search(Job& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Measures whole kernels of a pipeline. Errors: also Cancelled if all that it has awaited was.
  Result<v1::TuningRecord> MeasureWhole(Job& job, const Pipeline& pipeline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What it has awaited, as far as that is still known.
  std::vector<v1::TuningJob> AwaitedOf(const v1::TuningJob& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a job that must have ended before it has not.
  bool IsAwaiting(const Job& job) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // `key`: of which the journals of other jobs count, too; null: none.
  Result<JournalSummary> ReadJournal(int64_t number, const v1::KernelKey* key);
  std::vector<DeviceLease*> LeasesOf(const Job& job) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Those that the search is told of now.
  std::vector<Runner*> TakeJoining(Job& job, HelpedSearch* helped) ABSL_LOCKS_EXCLUDED(mutex_);
  // The options of the rest of its run, if they were changed since it was last told.
  std::optional<v1::TuningOptions> TakeExtension(Job& job) ABSL_LOCKS_EXCLUDED(mutex_);
  void PublishStep(Job& job, const SearchStep& step) ABSL_LOCKS_EXCLUDED(mutex_);
  void PublishTrial(Job& job, const TuningProgress& progress, TrialJournal& journal)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Where other daemons share the store they show the progress that is there: now and then, as long
  // as it can be written.
  void StoreProgress(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a search had published was shown to be wrong.
  void WithdrawProvisional(const v1::KernelKey& key) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets the job wait again, with what it has found.
  void Requeue(const std::shared_ptr<Job>& job, const Status& reason, absl::Duration pause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until the first of the jobs that wait for what was lacking may begin.
  absl::Duration UntilNextDue() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Lets devices that no waiting job wants help those that run.
  void LendFreeDevices() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes devices back from jobs that have several, for jobs that have none.
  void ShareDevices() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static WaitingJob ToWaiting(const Job& job);
  std::vector<WaitingJob> Waiting() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  // Help of other daemons, in job_queue_help.cc.
  Status OpenBoard();
  // Offers the trials of a search to others; null: they are not asked, or cannot be.
  std::unique_ptr<HelpedSearch> AskForHelp(Job& job, const v1::KernelKey& key,
                                           const v1::TuningOptions& options)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void BeginToHelp() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a job of this daemon waits for the device, or could use it.
  bool IsWanted(const TuningDevice& device) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Joining, in job_queue_join.cc.
  // Lets a request have the job of an earlier one, whose limits are raised to those of the request.
  Result<v1::CreateTuningJobResponse> Join(const CreateJob& request,
                                           const std::shared_ptr<Job>& twin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The response to a request whose job another daemon has inserted before. nullopt: it has changed
  // since.
  Result<std::optional<v1::CreateTuningJobResponse>> JoinStored(const CreateJob& request,
                                                                int64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has a job allow what `more` wants of it (Store::WishMoreOfJob); expects AwaitWritten. Gives
  // whether its limits were raised.
  Result<bool> ExtendOwn(const std::shared_ptr<Job>& job, const v1::TuningJob& more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for a job that is not in memory, as it was read: if nobody works on it; or its owner
  // is told, and waited for, but not longer than a caller should wait. Gives the job as it is then.
  Result<v1::TuningJob> ExtendStored(int64_t number, v1::TuningJob job, const v1::TuningJob& more)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Does what others want more of a job.
  void FulfilMore(const HeldJob& held) ABSL_LOCKS_EXCLUDED(mutex_);

  // Creating, in job_queue_create.cc.
  v1::TuningJob NewJob(const CreateJob& request) const;
  // The devices, if none are named. Errors: as of Create, if only other daemons have them.
  Status FillIn(CreateJob& request) const;
  // Of jobs for other daemons: counts what waits in the store, whosever it is.
  Status CheckStoredQuota(const CreateJob& request) const;
  // Jobs that the source may have waiting; 0: no limit of its own.
  int64_t MostOfSource(const CreateJob& request) const;
  // One attempt; nullopt if others were waited for, so that what was known may not hold any more.
  Result<std::optional<v1::CreateTuningJobResponse>> TryToCreate(const CreateJob& request,
                                                                 v1::TuningJob job)
      ABSL_LOCKS_EXCLUDED(mutex_);
  Status CheckNotDraining() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Fills in the state that the job begins with: queued, or succeeded if there is a record with as
  // much search behind it as is asked for; and in the response what there is. Errors: why it cannot
  // be queued.
  Status Begin(const CreateJob& request, v1::TuningJob& job,
               v1::CreateTuningJobResponse& response) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  Status CheckQuota(const CreateJob& request) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The claim of a new job. The lock is given up while it is written, and what must not be created
  // twice is not: those who ask for that wait. Errors: as Store::InsertJob.
  Result<InsertedJob> Insert(const CreateJob& request, const v1::TuningJob& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for what must not be there twice: a job that is being created, or a twin that is being
  // written. False if there was nothing to wait for.
  bool AwaitTwin(const CreateJob& request, const v1::TuningJob& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The job in memory; also if it is just being created, and is in the store already.
  std::shared_ptr<Job> FindCreated(int64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const std::shared_ptr<Job>& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The job of an earlier request with the same id; nullopt if there is none.
  Result<std::optional<v1::TuningJob>> FindRequest(const std::string& request_id,
                                                   const v1::KernelKey& key)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A job with the same key and devices in common that waits or runs; null if there is none.
  std::shared_ptr<Job> FindTwin(const std::string& twin_id) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // What waiting, queued or paused, changes.
  static Change Waits(v1::TuningJobState state);
  // What the end of a job changes; `more`: what else.
  Change Ended(v1::TuningJobState state, const Status& error, const Change& more = {}) const;
  // When its end is in `proto`.
  void Retire(const std::shared_ptr<Job>& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The job as it is now, if it is in memory.
  std::shared_ptr<Job> Find(int64_t number) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Jobs that will have a device of the waiting job before it does.
  int CountAhead(const Job& job) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Makes `step` the latest one, for all who watch.
  void Publish(Job& job, v1::TuningProgress step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Store& store_;
  LookupTable& lookup_table_;
  DeviceCatalogue& catalogue_;
  const JobQueueOptions options_;

  mutable absl::Mutex mutex_;
  // Of Begin; nullopt: it was not called yet.
  std::optional<Status> begun_ ABSL_GUARDED_BY(mutex_);
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  // Something has changed that may let a job begin.
  bool has_news_ ABSL_GUARDED_BY(mutex_) = false;
  Turns turns_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> queued_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> running_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> paused_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> recent_ ABSL_GUARDED_BY(mutex_);  // ended, the oldest first
  // All of these by number, and those that have not ended by TwinIdOf.
  absl::flat_hash_map<int64_t, std::shared_ptr<Job>> by_number_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::shared_ptr<Job>> by_key_ ABSL_GUARDED_BY(mutex_);
  bool has_all_unfinished_ ABSL_GUARDED_BY(mutex_) = false;  // none is in the store only
  // Whose latest state could not be written.
  std::map<int64_t, std::shared_ptr<Job>> unsaved_ ABSL_GUARDED_BY(mutex_);
  UnsavedWork unsaved_work_;  // of their searches
  // A job that is being written.
  struct Creation {
    std::string twin_id;
    std::string request_id;
    std::string source;
    bool is_whole;  // of a pipeline
  };
  std::vector<const Creation*> creations_ ABSL_GUARDED_BY(mutex_);
  // Of jobs that are not in memory and somebody watches.
  struct SeenJob {
    int64_t asked_ns = 0;
    Result<v1::TuningProgress> progress = v1::TuningProgress();
  };
  absl::Mutex seen_mutex_;
  std::map<int64_t, SeenJob> seen_ ABSL_GUARDED_BY(seen_mutex_);
  std::vector<std::thread> workers_;   // changed by Begin alone
  std::shared_ptr<TrialBoard> board_;  // null: no help is asked for or given
  std::unique_ptr<TrialHelper> helper_ ABSL_GUARDED_BY(mutex_);  // null: none
  // On the lease_clock; never before the first one is granted.
  std::atomic<int64_t> lease_until_ns_ = std::numeric_limits<int64_t>::max();
  std::thread lease_watch_;  // of Begin, if there is a lease_clock
};

}  // namespace mdh
