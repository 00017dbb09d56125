// Tuning jobs of one device: one queue, one worker thread, identical requests share one job.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/expression.h"
#include "core/status.h"
#include "mdh/v1/tuning.pb.h"
#include "server/device_catalogue.h"
#include "server/lookup_table.h"
#include "server/store.h"
#include "server/tuning_backend.h"

namespace mdh {

struct JobQueueOptions {
  int max_queued = 256;
  // Steps of progress kept per job for those who watch; older ones are forgotten.
  int max_progress_steps = 4096;
  // Ended jobs whose progress is kept.
  int max_recent = 32;
  std::function<absl::Time()> now = absl::Now;
};

struct CreateJob {
  Expression expression;
  v1::TuningOptions options;  // as CheckTuningOptions gives them
  bool force = false;
  std::string request_id;
};

// Thread-safe.
class JobQueue {
 public:
  // Marks jobs that an earlier process left unfinished as failed, and starts the worker. All
  // arguments must outlive the queue. Errors: what the store says.
  static Result<std::unique_ptr<JobQueue>> Start(Store& store, LookupTable& lookup_table,
                                                 TuningBackend& backend, DeviceCatalogue& catalogue,
                                                 JobQueueOptions options);
  ~JobQueue();  // drains

  // Errors: see TuningService.CreateTuningJob.
  Result<v1::CreateTuningJobResponse> Create(CreateJob request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Errors: NotFound.
  Result<v1::TuningJob> Get(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<std::vector<v1::TuningJob>> List(int64_t before, int limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // A queued job ends at once, a running one as soon as the search has noticed. Errors: NotFound.
  Result<v1::TuningJob> Cancel(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until there is progress after `after_sequence` or the time is over, and gives all of it.
  // Of a job that ended long ago: its last step, whatever `after_sequence` says. Errors: NotFound.
  Result<std::vector<v1::TuningProgress>> WaitForProgress(int64_t number, int64_t after_sequence,
                                                          absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses new jobs, cancels all, and waits until they have ended.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Job;
  JobQueue(Store& store, LookupTable& lookup_table, TuningBackend& backend,
           DeviceCatalogue& catalogue, JobQueueOptions options);

  Status FailInterruptedJobs();
  void Work();
  void RunJob(const std::shared_ptr<Job>& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Searches and stores. Gives the record that is stored now.
  Result<v1::TuningRecord> Search(Job& job) ABSL_LOCKS_EXCLUDED(mutex_);
  void PublishTrial(Job& job, const TuningProgress& progress) ABSL_LOCKS_EXCLUDED(mutex_);

  Result<v1::CreateTuningJobResponse> Enqueue(CreateJob request, v1::TuningJob job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The job of an earlier request with the same id; nullopt if there is none.
  Result<std::optional<v1::TuningJob>> FindRequest(const std::string& request_id,
                                                   const v1::KernelKey& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Publish(Job& job, v1::TuningProgress step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const std::shared_ptr<Job>& job, v1::TuningJobState state, const Status& error)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CancelLocked(const std::shared_ptr<Job>& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The job as it is now, if it is in memory.
  std::shared_ptr<Job> Find(int64_t number) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Store& store_;
  LookupTable& lookup_table_;
  TuningBackend& backend_;
  DeviceCatalogue& catalogue_;
  const JobQueueOptions options_;

  mutable absl::Mutex mutex_;
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<Job>> queued_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Job> running_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> recent_ ABSL_GUARDED_BY(mutex_);  // ended, the oldest first
  std::thread worker_;
};

}  // namespace mdh
