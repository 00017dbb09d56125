#include "server/jobs/job_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/start_thread.h"
#include "proto/error_details.h"
#include "server/records/kernel_key.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"

namespace mdh {
namespace {

bool HaveCommon(const std::vector<TuningDevice*>& a, const std::vector<TuningDevice*>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

void Remove(std::deque<std::shared_ptr<Job>>& jobs, const std::shared_ptr<Job>& job) {
  jobs.erase(std::remove(jobs.begin(), jobs.end(), job), jobs.end());
}

// Whether it is about such jobs only.
bool IsOfUnfinished(const JobFilter& filter) {
  const auto is_unfinished = [](v1::TuningJobState state) {
    return state == v1::TUNING_JOB_STATE_QUEUED || state == v1::TUNING_JOB_STATE_RUNNING ||
           state == v1::TUNING_JOB_STATE_PAUSED;
  };
  return !filter.states.empty() &&
         std::all_of(filter.states.begin(), filter.states.end(), is_unfinished);
}

// Who asks for a job that is not in memory waits so long for jobs that are just being created.
constexpr absl::Duration kLongestCreation = absl::Seconds(1);

}  // namespace

JobQueue::JobQueue(Store& store, LookupTable& lookup_table, DeviceCatalogue& catalogue,
                   JobQueueOptions options)
    : store_(store),
      lookup_table_(lookup_table),
      catalogue_(catalogue),
      options_(std::move(options)),
      unsaved_work_(lookup_table) {}

Result<std::unique_ptr<JobQueue>> JobQueue::Start(Store& store, LookupTable& lookup_table,
                                                  DeviceCatalogue& catalogue,
                                                  JobQueueOptions options) {
  std::unique_ptr<JobQueue> queue(new JobQueue(store, lookup_table, catalogue, std::move(options)));
  MDH_RETURN_IF_ERROR(queue->OpenBoard());
  if (catalogue.is_open()) MDH_RETURN_IF_ERROR(queue->Begin());
  return queue;
}

Status JobQueue::Begin() {
  // Without a thread nobody works on what was taken up.
  Status begun = workers_.empty() ? StartWorkers() : absl::OkStatus();
  std::vector<HeldJob> wished;
  if (begun.ok()) begun = TakeUpUnfinishedJobs(wished);
  {
    absl::MutexLock lock(&mutex_);
    begun_ = begun;
  }
  for (const HeldJob& job : wished) Fulfil(job);
  ClaimNew();
  if (begun.ok()) BeginToHelp();
  return begun;
}

void JobQueue::LookAfter() {
  bool has_failed = false;
  {
    absl::ReaderMutexLock lock(&mutex_);
    has_failed = begun_.has_value() && !begun_->ok() && !is_draining_;
  }
  if (has_failed && Begin().ok()) spdlog::info("jobs have begun");
  // What is still unsaved was logged when that began.
  SaveUnsaved().IgnoreError();
  LookAtAwaited();
  ClaimNew();
}

Status JobQueue::StartWorkers() {
  if (options_.lease_clock && !lease_watch_.joinable()) {
    MDH_ASSIGN_OR_RETURN(lease_watch_, StartThread([this] { WatchLease(); }));
  }
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    device->SetListener([this] {
      absl::MutexLock lock(&mutex_);
      has_news_ = true;
    });
    Result<std::thread> worker = StartThread([this] { Work(); });
    if (worker.ok()) {
      workers_.push_back(*std::move(worker));
    } else if (workers_.empty()) {
      return worker.status();
    } else {
      // Those that there are take what is next, whatever its device.
      spdlog::error("job queue: {} workers: {}", workers_.size(),
                    std::string(worker.status().message()));
      break;
    }
  }
  return absl::OkStatus();
}

Status JobQueue::AwaitBegin() const {
  MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen());
  absl::MutexLock lock(&mutex_);
  const auto is_decided = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return begun_.has_value() || is_draining_;
  };
  mutex_.Await(absl::Condition(&is_decided));
  return begun_.value_or(absl::OkStatus());
}

JobQueue::~JobQueue() {
  Drain();
  for (std::thread& worker : workers_) worker.join();
  if (lease_watch_.joinable()) lease_watch_.join();
  if (const Status saved = SaveUnsaved(); !saved.ok()) {
    spdlog::error("what jobs have found is lost: {}", std::string(saved.message()));
  }
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    device->SetListener(nullptr);
  }
}

void JobQueue::Remember(const std::shared_ptr<Job>& job) {
  by_number_[job->number] = job;
  by_key_[TwinIdOf(job->proto)] = job;
}

std::shared_ptr<Job> JobQueue::Find(int64_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

std::shared_ptr<Job> JobQueue::FindCreated(int64_t number) {
  const auto has_come = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return creations_.empty() || by_number_.contains(number);
  };
  // Others may be created all the time, of jobs that ended long ago.
  mutex_.AwaitWithTimeout(absl::Condition(&has_come), kLongestCreation);
  return Find(number);
}

JobQueue::Counts JobQueue::CountJobs() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {static_cast<int64_t>(queued_.size()), static_cast<int64_t>(running_.size()),
          static_cast<int64_t>(paused_.size())};
}

WaitingJob JobQueue::ToWaiting(const Job& job) {
  return {job.number, job.source, job.devices, job.priority};
}

std::vector<WaitingJob> JobQueue::Waiting() const {
  std::vector<WaitingJob> waiting;
  for (const std::shared_ptr<Job>& job : queued_) {
    if (!IsAwaiting(*job)) waiting.push_back(ToWaiting(*job));
  }
  return waiting;
}

bool JobQueue::IsAwaiting(const Job& job) const {
  const auto& awaited = job.proto.awaited_jobs();
  return job.awaits_others ||
         std::any_of(awaited.begin(), awaited.end(),
                     [&](const std::string& name) ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
                       const Result<int64_t> number = ParseJobName(name);
                       const std::shared_ptr<Job> other = number.ok() ? Find(*number) : nullptr;
                       return other != nullptr && !other->is_finished;
                     });
}

int JobQueue::CountAhead(const Job& job) const {
  int ahead = 0;
  for (const std::shared_ptr<Job>& other : running_) {
    if (HaveCommon(other->devices, job.devices)) ++ahead;
  }
  const std::vector<WaitingJob> waiting = Waiting();
  for (const size_t position : turns_.Order(waiting)) {
    if (waiting[position].number == job.number) break;
    if (HaveCommon(waiting[position].devices, job.devices)) ++ahead;
  }
  return ahead;
}

int JobQueue::CountQueued(const TuningDevice& device) const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int>(
      std::count_if(queued_.begin(), queued_.end(), [&](const std::shared_ptr<Job>& job) {
        return std::find(job->devices.begin(), job->devices.end(), &device) != job->devices.end();
      }));
}

Result<v1::TuningJob> JobQueue::Get(int64_t number) {
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = Find(number); job != nullptr) {
      v1::TuningJob proto = job->proto;
      if (proto.state() == v1::TUNING_JOB_STATE_QUEUED) {
        proto.mutable_progress()->set_queue_position(CountAhead(*job));
      }
      return proto;
    }
  }
  return store_.GetJob(number);
}

Result<std::vector<v1::TuningJob>> JobQueue::List(int64_t before, int limit,
                                                  const JobFilter& filter) {
  std::map<int64_t, v1::TuningJob, std::greater<>> found;  // the newest first
  bool has_more = true;
  {
    absl::ReaderMutexLock lock(&mutex_);
    has_more = !has_all_unfinished_ || !IsOfUnfinished(filter);
    std::vector<const Job*> jobs;
    for (const auto& [number, job] : by_number_) {
      const bool is_before = before == 0 || number < before;
      if (is_before && filter.Fits(job->proto)) jobs.push_back(job.get());
    }
    std::sort(jobs.begin(), jobs.end(),
              [](const Job* a, const Job* b) { return a->number > b->number; });
    if (limit > 0 && jobs.size() > static_cast<size_t>(limit)) jobs.resize(limit);
    for (const Job* job : jobs) found.emplace(job->number, job->proto);
  }
  // Of those in memory the store may know an older state only. A page of it may have none that is
  // not in memory.
  while (has_more) {
    MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> stored,
                         store_.ListJobs(before, limit, filter));
    has_more = limit > 0 && static_cast<int>(stored.size()) == limit;
    int64_t last = 0;
    absl::ReaderMutexLock lock(&mutex_);
    for (const v1::TuningJob& job : stored) {
      MDH_ASSIGN_OR_RETURN(last, ParseJobName(job.name()));
      if (Find(last) == nullptr) found.emplace(last, job);
    }
    before = last;
    // All that follow are older.
    const auto newer = std::distance(found.begin(), found.upper_bound(last));
    if (newer >= limit) has_more = false;
  }
  std::vector<v1::TuningJob> jobs;
  for (auto& [number, job] : found) {
    if (limit > 0 && static_cast<int>(jobs.size()) == limit) break;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<v1::TuningJob> JobQueue::Cancel(int64_t number) {
  return ChangeJob(number, JobWish::kCancel);
}

Result<v1::TuningJob> JobQueue::CancelOwn(const std::shared_ptr<Job>& job) {
  if (job->is_finished || job->stop_reason == StopReason::kCancel) return job->proto;
  if (job->is_running) {
    MDH_RETURN_IF_ERROR(WriteAndStop(job, StopReason::kCancel));
  } else {
    MDH_RETURN_IF_ERROR(
        ChangeIfWritten(job, Ended(v1::TUNING_JOB_STATE_CANCELLED, absl::OkStatus())));
    Retire(job);
  }
  return job->proto;
}

Result<std::vector<v1::TuningProgress>> JobQueue::WaitForProgress(int64_t number,
                                                                  int64_t after_sequence,
                                                                  absl::Duration timeout,
                                                                  size_t most) {
  absl::ReleasableMutexLock lock(&mutex_);
  const std::shared_ptr<Job> job = Find(number);
  if (job == nullptr) {
    lock.Release();
    MDH_ASSIGN_OR_RETURN(v1::TuningProgress latest, ProgressElsewhere(number));
    return std::vector<v1::TuningProgress>{std::move(latest)};
  }
  const auto has_stopped = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_draining_ && running_.empty();
  };
  const auto has_news = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return job->is_finished || job->is_lost || has_stopped() ||
           job->proto.progress().sequence() > after_sequence;
  };
  // Without a timeout nobody waits, whatever the machine's clock says.
  if (timeout > absl::ZeroDuration()) mutex_.AwaitWithTimeout(absl::Condition(&has_news), timeout);
  std::vector<v1::TuningProgress> news;
  for (const v1::TuningProgress& step : job->steps) {
    if (step.sequence() > after_sequence && news.size() < most) news.push_back(step);
  }
  if (news.empty() && job->is_finished) news.push_back(job->steps.back());
  if (news.empty() && has_stopped()) {
    return WithRetry(
        absl::UnavailableError("the daemon is stopping; the job goes on when it is started again"),
        kRetryAfterStop);
  }
  return news;
}

void JobQueue::BeginToDrain() {
  absl::MutexLock lock(&mutex_);
  is_draining_ = true;
  for (const std::shared_ptr<Job>& job : running_) {
    const bool stops_anyway =
        job->stop_reason == StopReason::kCancel || job->stop_reason == StopReason::kPause;
    if (!stops_anyway) StopRunning(job, StopReason::kDrain);
  }
}

void JobQueue::Drain() {
  BeginToDrain();
  std::unique_ptr<TrialHelper> helper;
  {
    absl::MutexLock lock(&mutex_);
    std::swap(helper, helper_);
  }
  helper.reset();
  absl::MutexLock lock(&mutex_);
  const auto have_ended = [this] { return running_.empty(); };
  mutex_.Await(absl::Condition(&have_ended));
}

JobQueue::Change JobQueue::Ended(v1::TuningJobState state, const Status& error,
                                 const Change& more) const {
  return [state, error, more, end_time = ToProto(options_.now())](v1::TuningJob& job) {
    job.set_state(state);
    *job.mutable_end_time() = end_time;
    if (!error.ok()) SetError(error, job);
    job.mutable_progress()->set_remaining_ns(0);
    job.mutable_progress()->clear_phase();
    if (more) more(job);
  };
}

void JobQueue::Retire(const std::shared_ptr<Job>& job) {
  spdlog::info("job={} state={} trials={} best_ns={} {}", job->number,
               v1::TuningJobState_Name(job->proto.state()), job->proto.progress().trials(),
               job->proto.progress().best_time_ns(), job->proto.error().message());
  if (options_.metrics != nullptr) options_.metrics->CountEnd(job->proto.state());
  job->is_finished = true;
  job->is_running = false;
  has_news_ = true;  // others may have awaited it
  for (auto* jobs : {&running_, &queued_, &paused_}) Remove(*jobs, job);
  if (job->is_lost) return;
  // A job that is being cancelled may have a successor already.
  const auto active = by_key_.find(TwinIdOf(job->proto));
  if (active != by_key_.end() && active->second == job) by_key_.erase(active);
  recent_.push_back(job);
  if (static_cast<int>(recent_.size()) <= options_.max_recent) return;
  // One whose end is not on the disk is nowhere else.
  const auto oldest = std::find_if(recent_.begin(), recent_.end(), [&](const auto& ended) {
    return !unsaved_.contains(ended->number);
  });
  if (oldest == recent_.end()) return;
  by_number_.erase((*oldest)->number);
  recent_.erase(oldest);
}

void JobQueue::Publish(Job& job, v1::TuningProgress step) {
  job.Publish(std::move(step), options_.max_progress_steps);
  if (options_.on_progress) options_.on_progress();
}

}  // namespace mdh
