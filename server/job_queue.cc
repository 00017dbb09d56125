#include "server/job_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/start_thread.h"
#include "proto/error_details.h"
#include "server/kernel_key.h"
#include "server/resource_names.h"

namespace mdh {
namespace {

bool HaveCommon(const std::vector<TuningDevice*>& a, const std::vector<TuningDevice*>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

void Remove(std::deque<std::shared_ptr<Job>>& jobs, const std::shared_ptr<Job>& job) {
  jobs.erase(std::remove(jobs.begin(), jobs.end(), job), jobs.end());
}

// Who asks for a job that is not in memory waits so long for jobs that are just being created.
constexpr absl::Duration kLongestCreation = absl::Seconds(1);

}  // namespace

JobQueue::JobQueue(Store& store, LookupTable& lookup_table, DeviceCatalogue& catalogue,
                   JobQueueOptions options)
    : store_(store),
      lookup_table_(lookup_table),
      catalogue_(catalogue),
      options_(std::move(options)) {}

Result<std::unique_ptr<JobQueue>> JobQueue::Start(Store& store, LookupTable& lookup_table,
                                                  DeviceCatalogue& catalogue,
                                                  JobQueueOptions options) {
  std::unique_ptr<JobQueue> queue(new JobQueue(store, lookup_table, catalogue, std::move(options)));
  if (catalogue.is_open()) MDH_RETURN_IF_ERROR(queue->Begin());
  return queue;
}

Status JobQueue::Begin() {
  MDH_RETURN_IF_ERROR(TakeUpUnfinishedJobs());
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
  absl::MutexLock lock(&mutex_);
  has_begun_ = true;
  return absl::OkStatus();
}

Status JobQueue::AwaitBegin() const {
  MDH_RETURN_IF_ERROR(catalogue_.AwaitOpen());
  absl::ReaderMutexLock lock(&mutex_);
  const auto is_decided = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return has_begun_ || is_draining_;
  };
  mutex_.Await(absl::Condition(&is_decided));
  return absl::OkStatus();
}

JobQueue::~JobQueue() {
  Drain();
  for (std::thread& worker : workers_) worker.join();
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    device->SetListener(nullptr);
  }
}

void JobQueue::Remember(const std::shared_ptr<Job>& job) {
  by_number_[job->number] = job;
  by_key_[KernelId(job->proto.key())] = job;
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

std::vector<WaitingJob> JobQueue::Waiting() const {
  std::vector<WaitingJob> waiting;
  for (const std::shared_ptr<Job>& job : queued_) {
    waiting.push_back({job->number, job->source, job->devices, job->priority});
  }
  return waiting;
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
  MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningJob> jobs, store_.ListJobs(before, limit, filter));
  absl::ReaderMutexLock lock(&mutex_);
  for (v1::TuningJob& job : jobs) {
    MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(job.name()));
    // The store knows only changes of state.
    if (const std::shared_ptr<Job> in_memory = Find(number)) job = in_memory->proto;
  }
  return jobs;
}

Result<v1::TuningJob> JobQueue::Cancel(int64_t number) {
  MDH_RETURN_IF_ERROR(AwaitBegin());
  {
    absl::MutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = FindCreated(number); job != nullptr) {
      CancelLocked(job);
      return job->proto;
    }
  }
  return store_.GetJob(number);
}

void JobQueue::CancelLocked(const std::shared_ptr<Job>& job) {
  if (job->is_finished) return;
  if (job->has_devices()) {
    StopRunning(job, StopReason::kCancel);
  } else {
    Finish(job, v1::TUNING_JOB_STATE_CANCELLED, absl::OkStatus());
  }
}

Result<std::vector<v1::TuningProgress>> JobQueue::WaitForProgress(int64_t number,
                                                                  int64_t after_sequence,
                                                                  absl::Duration timeout,
                                                                  size_t most) {
  absl::ReleasableMutexLock lock(&mutex_);
  const std::shared_ptr<Job> job = Find(number);
  if (job == nullptr) {
    lock.Release();
    MDH_ASSIGN_OR_RETURN(const v1::TuningJob stored, store_.GetJob(number));
    return std::vector<v1::TuningProgress>{stored.progress()};
  }
  const auto has_stopped = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_draining_ && running_.empty();
  };
  const auto has_news = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return job->is_finished || has_stopped() || job->proto.progress().sequence() > after_sequence;
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

void JobQueue::Drain() {
  absl::MutexLock lock(&mutex_);
  is_draining_ = true;
  for (const std::shared_ptr<Job>& job : running_) {
    const bool stops_anyway =
        job->stop_reason == StopReason::kCancel || job->stop_reason == StopReason::kPause;
    if (!stops_anyway) StopRunning(job, StopReason::kDrain);
  }
  const auto have_ended = [this] { return running_.empty(); };
  mutex_.Await(absl::Condition(&have_ended));
}

void JobQueue::Finish(const std::shared_ptr<Job>& job, v1::TuningJobState state,
                      const Status& error) {
  job->proto.set_state(state);
  *job->proto.mutable_end_time() = ToProto(options_.now());
  if (!error.ok()) SetError(error, job->proto);
  v1::TuningProgress step = job->proto.progress();
  step.set_remaining_ns(0);
  step.clear_phase();
  Publish(*job, std::move(step));
  Save(*job);
  spdlog::info("job={} state={} trials={} best_ns={} {}", job->number,
               v1::TuningJobState_Name(state), job->proto.progress().trials(),
               job->proto.progress().best_time_ns(), std::string(error.message()));
  if (options_.metrics != nullptr) options_.metrics->CountEnd(state);
  job->is_finished = true;
  for (auto* jobs : {&running_, &queued_, &paused_}) Remove(*jobs, job);
  // A job that is being cancelled may have a successor already.
  const auto active = by_key_.find(KernelId(job->proto.key()));
  if (active != by_key_.end() && active->second == job) by_key_.erase(active);
  recent_.push_back(job);
  if (static_cast<int>(recent_.size()) <= options_.max_recent) return;
  by_number_.erase(recent_.front()->number);
  recent_.pop_front();
}

void JobQueue::Publish(Job& job, v1::TuningProgress step) {
  job.Publish(std::move(step), options_.max_progress_steps);
  if (options_.on_progress) options_.on_progress();
}

void JobQueue::Save(const Job& job) {
  const Status stored = store_.UpdateJob(job.number, job.proto);
  if (!stored.ok()) spdlog::error("job={} {}", job.number, std::string(stored.message()));
}

}  // namespace mdh
