#include "server/job_queue.h"

#include <google/protobuf/util/time_util.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/text/printer.h"
#include "server/kernel_key.h"
#include "server/resource_names.h"
#include "server/tuning_request.h"
#include "server/tuning_result_conversion.h"

namespace mdh {
namespace {

// Records that a search starts from.
constexpr size_t kStartRecords = 3;

google::protobuf::Timestamp ToProto(absl::Time time) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(time));
}

void SetError(const Status& error, v1::TuningJob& job) {
  job.mutable_error()->set_code(error.raw_code());
  job.mutable_error()->set_message(std::string(error.message()));
}

}  // namespace

// All but `cancelled` is guarded by the queue's mutex once the job is in the queue; what is const
// needs no guard.
struct JobQueue::Job {
  Job(int64_t number, CreateJob request, v1::TuningJob proto)
      : number(number),
        expression(std::move(request.expression)),
        options(std::move(request.options)),
        proto(std::move(proto)) {}

  const int64_t number;
  const Expression expression;
  const v1::TuningOptions options;
  std::atomic<bool> cancelled = false;
  v1::TuningJob proto;  // `progress` is the last of `steps`
  std::deque<v1::TuningProgress> steps;
  bool is_finished = false;
};

JobQueue::JobQueue(Store& store, LookupTable& lookup_table, TuningBackend& backend,
                   DeviceCatalogue& catalogue, JobQueueOptions options)
    : store_(store),
      lookup_table_(lookup_table),
      backend_(backend),
      catalogue_(catalogue),
      options_(std::move(options)) {}

Result<std::unique_ptr<JobQueue>> JobQueue::Start(Store& store, LookupTable& lookup_table,
                                                  TuningBackend& backend,
                                                  DeviceCatalogue& catalogue,
                                                  JobQueueOptions options) {
  std::unique_ptr<JobQueue> queue(
      new JobQueue(store, lookup_table, backend, catalogue, std::move(options)));
  MDH_RETURN_IF_ERROR(queue->FailInterruptedJobs());
  queue->worker_ = std::thread([&queue = *queue] { queue.Work(); });
  return queue;
}

JobQueue::~JobQueue() {
  Drain();
  if (worker_.joinable()) worker_.join();
}

Status JobQueue::FailInterruptedJobs() {
  MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningJob> jobs, store_.UnfinishedJobs());
  for (v1::TuningJob& job : jobs) {
    MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(job.name()));
    job.set_state(v1::TUNING_JOB_STATE_FAILED);
    SetError(absl::AbortedError("the daemon ended before the job did"), job);
    job.mutable_progress()->set_state(job.state());
    job.mutable_progress()->set_sequence(job.progress().sequence() + 1);
    *job.mutable_end_time() = ToProto(options_.now());
    MDH_RETURN_IF_ERROR(store_.UpdateJob(number, job));
    spdlog::warn("job={} was interrupted by the end of an earlier process", number);
  }
  return absl::OkStatus();
}

Result<v1::CreateTuningJobResponse> JobQueue::Create(CreateJob request) {
  v1::TuningJob job;
  *job.mutable_key() = MakeKernelKey(request.expression, catalogue_.environment(),
                                     request.options.numerics_policy());
  job.set_expression_name(request.expression.name());
  job.set_expression_text(ToText(request.expression));
  *job.mutable_options() = request.options;
  job.set_request_id(request.request_id);
  *job.mutable_create_time() = ToProto(options_.now());

  absl::MutexLock lock(&mutex_);
  if (is_draining_) return absl::UnavailableError("the daemon is stopping");
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningJob> earlier,
                       FindRequest(request.request_id, job.key()));
  v1::CreateTuningJobResponse response;
  if (earlier.has_value()) {
    *response.mutable_job() = *std::move(earlier);
    return response;
  }
  const auto joins = [&](const std::shared_ptr<Job>& other) {
    return other != nullptr && !other->cancelled &&
           KernelId(other->proto.key()) == KernelId(job.key());
  };
  const auto twin = std::find_if(queued_.begin(), queued_.end(), joins);
  if (joins(running_) || twin != queued_.end()) {
    *response.mutable_job() = joins(running_) ? running_->proto : (*twin)->proto;
    response.set_joined(true);
    return response;
  }
  return Enqueue(std::move(request), std::move(job));
}

Result<std::optional<v1::TuningJob>> JobQueue::FindRequest(const std::string& request_id,
                                                           const v1::KernelKey& key) {
  if (request_id.empty()) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningJob> found, store_.FindJobByRequest(request_id));
  if (!found.has_value()) return std::nullopt;
  if (found->key().expression_digest() != key.expression_digest()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request_id '", request_id, "' was used for another expression, by ", found->name()));
  }
  MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(found->name()));
  const std::shared_ptr<Job> in_memory = Find(number);
  return in_memory == nullptr ? *found : in_memory->proto;
}

Result<v1::CreateTuningJobResponse> JobQueue::Enqueue(CreateJob request, v1::TuningJob job) {
  const Result<v1::TuningRecord> known = lookup_table_.FindRecord(job.key());
  const bool is_done = known.ok() && !request.force;
  v1::TuningProgress progress;
  progress.set_sequence(1);
  progress.set_state(is_done ? v1::TUNING_JOB_STATE_SUCCEEDED : v1::TUNING_JOB_STATE_QUEUED);
  if (is_done) {
    job.set_record(known->name());
    progress.set_best_time_ns(known->time_ns());
    progress.set_best_parameters(known->parameters());
    *job.mutable_end_time() = job.create_time();
  } else {
    MDH_RETURN_IF_ERROR(backend_.CanTune());
    if (static_cast<int>(queued_.size()) >= options_.max_queued) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the queue is full: ", queued_.size(), " jobs wait; try again later"));
    }
  }
  job.set_state(progress.state());
  *job.mutable_progress() = progress;
  MDH_ASSIGN_OR_RETURN(const int64_t number, store_.InsertJob(job));
  job.set_name(JobName(number));
  spdlog::info("job={} expression={} digest={} state={} budget_ns={}", number,
               job.expression_name(), job.key().expression_digest().substr(0, 12),
               v1::TuningJobState_Name(job.state()), job.options().budget_ns());
  v1::CreateTuningJobResponse response;
  *response.mutable_job() = job;
  if (!is_done) {
    auto queued = std::make_shared<Job>(number, std::move(request), std::move(job));
    queued->steps.push_back(std::move(progress));
    queued_.push_back(std::move(queued));
  }
  return response;
}

std::shared_ptr<JobQueue::Job> JobQueue::Find(int64_t number) const {
  if (running_ != nullptr && running_->number == number) return running_;
  for (const auto* jobs : {&queued_, &recent_}) {
    for (const std::shared_ptr<Job>& job : *jobs) {
      if (job->number == number) return job;
    }
  }
  return nullptr;
}

Result<v1::TuningJob> JobQueue::Get(int64_t number) {
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = Find(number); job != nullptr) {
      v1::TuningJob proto = job->proto;
      const auto position = std::find(queued_.begin(), queued_.end(), job);
      if (position != queued_.end()) {
        proto.mutable_progress()->set_queue_position(static_cast<int>(position - queued_.begin()) +
                                                     (running_ != nullptr ? 1 : 0));
      }
      return proto;
    }
  }
  return store_.GetJob(number);
}

Result<std::vector<v1::TuningJob>> JobQueue::List(int64_t before, int limit) {
  MDH_ASSIGN_OR_RETURN(std::vector<v1::TuningJob> jobs, store_.ListJobs(before, limit));
  absl::ReaderMutexLock lock(&mutex_);
  for (v1::TuningJob& job : jobs) {
    MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(job.name()));
    // The store knows only changes of state.
    if (const std::shared_ptr<Job> in_memory = Find(number)) job = in_memory->proto;
  }
  return jobs;
}

Result<v1::TuningJob> JobQueue::Cancel(int64_t number) {
  {
    absl::MutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = Find(number); job != nullptr) {
      CancelLocked(job);
      return job->proto;
    }
  }
  return store_.GetJob(number);
}

void JobQueue::CancelLocked(const std::shared_ptr<Job>& job) {
  if (job->is_finished) return;
  job->cancelled = true;
  if (job == running_) {
    backend_.Interrupt();
  } else {
    Finish(job, v1::TUNING_JOB_STATE_CANCELLED, absl::OkStatus());
  }
}

Result<std::vector<v1::TuningProgress>> JobQueue::WaitForProgress(int64_t number,
                                                                  int64_t after_sequence,
                                                                  absl::Duration timeout) {
  absl::ReleasableMutexLock lock(&mutex_);
  const std::shared_ptr<Job> job = Find(number);
  if (job == nullptr) {
    lock.Release();
    MDH_ASSIGN_OR_RETURN(const v1::TuningJob stored, store_.GetJob(number));
    return std::vector<v1::TuningProgress>{stored.progress()};
  }
  const auto has_news = [&] {
    return job->is_finished || job->proto.progress().sequence() > after_sequence;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&has_news), timeout);
  std::vector<v1::TuningProgress> news;
  for (const v1::TuningProgress& step : job->steps) {
    if (step.sequence() > after_sequence) news.push_back(step);
  }
  if (news.empty() && job->is_finished) news.push_back(job->steps.back());
  return news;
}

void JobQueue::Drain() {
  absl::MutexLock lock(&mutex_);
  is_draining_ = true;
  while (!queued_.empty()) CancelLocked(queued_.back());
  if (running_ != nullptr) CancelLocked(running_);
  const auto has_ended = [this] { return running_ == nullptr; };
  mutex_.Await(absl::Condition(&has_ended));
}

void JobQueue::Work() {
  while (true) {
    std::shared_ptr<Job> job;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this] { return is_draining_ || !queued_.empty(); };
      mutex_.Await(absl::Condition(&has_work));
      if (queued_.empty()) return;
      job = queued_.front();
      queued_.pop_front();
      running_ = job;
    }
    RunJob(job);
  }
}

void JobQueue::RunJob(const std::shared_ptr<Job>& job) {
  {
    absl::MutexLock lock(&mutex_);
    job->proto.set_state(v1::TUNING_JOB_STATE_RUNNING);
    *job->proto.mutable_start_time() = ToProto(options_.now());
    v1::TuningProgress step = job->proto.progress();
    step.set_remaining_ns(job->options.budget_ns());
    Publish(*job, std::move(step));
    const Status stored = store_.UpdateJob(job->number, job->proto);
    if (!stored.ok()) spdlog::error("job={} {}", job->number, std::string(stored.message()));
  }
  const Result<v1::TuningRecord> record = Search(*job);
  absl::MutexLock lock(&mutex_);
  if (record.ok()) {
    job->proto.set_record(record->name());
    // The search ends with a measurement on new inputs, which is what counts.
    job->proto.mutable_progress()->set_best_time_ns(record->time_ns());
    job->proto.mutable_progress()->set_best_parameters(record->parameters());
    Finish(job, job->cancelled ? v1::TUNING_JOB_STATE_CANCELLED : v1::TUNING_JOB_STATE_SUCCEEDED,
           absl::OkStatus());
  } else if (absl::IsCancelled(record.status())) {
    Finish(job, v1::TUNING_JOB_STATE_CANCELLED, absl::OkStatus());
  } else {
    Finish(job, v1::TUNING_JOB_STATE_FAILED, record.status());
  }
}

Result<v1::TuningRecord> JobQueue::Search(Job& job) {
  v1::MachinePeaks peaks;
  if (const Result<v1::MachinePeaks> measured = catalogue_.Peaks(); measured.ok()) {
    peaks = *measured;
  } else {
    spdlog::warn("job={} peaks are unknown: {}", job.number,
                 std::string(measured.status().message()));
  }
  TuningOptions options = FromProto(job.options);
  v1::KernelKey key;
  {
    absl::ReaderMutexLock lock(&mutex_);
    key = job.proto.key();
  }
  for (const v1::TuningRecord& known : lookup_table_.FindSimilar(key, kStartRecords)) {
    Result<TuningParameters> start = ParseTuningParameters(known.parameters());
    const std::optional<ExpressionShape> shape = ExpressionShape::Of(known.key().canonical_form());
    if (start.ok() && shape) options.start.push_back({*std::move(start), shape->sizes});
  }
  MDH_ASSIGN_OR_RETURN(
      const TuningResult result,
      backend_.Tune(
          job.expression, options,
          [&](const TuningProgress& progress) { PublishTrial(job, progress); }, job.cancelled));
  MDH_RETURN_IF_ERROR(CheckPlausible(job.expression, result.measurement.time_ns(), peaks));
  v1::TuningRecord record = MakeRecord(job.expression, key, backend_.device(), result);
  record.set_search_end(job.cancelled ? v1::SEARCH_END_CANCELLED : v1::SEARCH_END_BUDGET);
  *record.mutable_peaks() = peaks;
  record.set_technique(job.options.technique());
  record.set_seed(job.options.seed());
  *record.mutable_create_time() = ToProto(options_.now());
  MDH_ASSIGN_OR_RETURN(
      v1::TuningRecord stored,
      store_.PutResult(record, MakeKernel(key, result.kernel, backend_.device().cores)));
  lookup_table_.Put(stored);
  return stored;
}

void JobQueue::PublishTrial(Job& job, const TuningProgress& progress) {
  v1::TuningProgress step;
  step.set_trials(progress.trials);
  step.set_failed_trials(progress.failed_trials);
  step.set_best_time_ns(progress.best_ns);
  if (progress.best != nullptr) step.set_best_parameters(ToText(*progress.best));
  step.set_elapsed_ns(progress.elapsed_ns);
  step.set_remaining_ns(RemainingTime(job.options, progress.trials, progress.elapsed_ns));
  const Measurement& latest = progress.trial->measurement;
  step.set_latest_outcome(std::string(Name(latest.outcome)));
  step.set_latest_reason(latest.reason);
  absl::MutexLock lock(&mutex_);
  Publish(job, std::move(step));
}

void JobQueue::Publish(Job& job, v1::TuningProgress step) {
  step.set_sequence(job.proto.progress().sequence() + 1);
  step.set_state(job.proto.state());
  *job.proto.mutable_progress() = step;
  job.steps.push_back(std::move(step));
  if (static_cast<int>(job.steps.size()) > options_.max_progress_steps) job.steps.pop_front();
}

void JobQueue::Finish(const std::shared_ptr<Job>& job, v1::TuningJobState state,
                      const Status& error) {
  job->proto.set_state(state);
  *job->proto.mutable_end_time() = ToProto(options_.now());
  if (!error.ok()) SetError(error, job->proto);
  v1::TuningProgress step = job->proto.progress();
  step.set_remaining_ns(0);
  Publish(*job, std::move(step));
  const Status stored = store_.UpdateJob(job->number, job->proto);
  if (!stored.ok()) spdlog::error("job={} {}", job->number, std::string(stored.message()));
  spdlog::info("job={} state={} trials={} best_ns={} {}", job->number,
               v1::TuningJobState_Name(state), job->proto.progress().trials(),
               job->proto.progress().best_time_ns(), std::string(error.message()));
  job->is_finished = true;
  if (running_ == job) running_ = nullptr;
  queued_.erase(std::remove(queued_.begin(), queued_.end(), job), queued_.end());
  recent_.push_back(job);
  if (static_cast<int>(recent_.size()) > options_.max_recent) recent_.pop_front();
}

}  // namespace mdh
