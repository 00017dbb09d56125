// New jobs: what identical requests share, what is refused, and how a job is written.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/text/computation_text.h"
#include "proto/error_details.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/search_effort.h"
#include "server/jobs/tuning_request.h"
#include "server/records/cache_state.h"
#include "server/records/kernel_key.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"
#include "server/store/change_cursor.h"

namespace mdh {
namespace {

// What a refused client may wait for.
constexpr absl::Duration kRetryWhenFull = absl::Seconds(10);

// OK if one of the devices can tune, or will be able to.
Status CheckCanTune(const CreateJob& request) {
  if (request.elsewhere.has_value()) return request.elsewhere->can_tune;
  Status first;
  for (const TuningDevice* device : request.devices) {
    const Status status = device->CanTune();
    if (status.ok()) return status;
    first.Update(status);
  }
  return first;
}

// Whether a record was timed in the state of the caches that is asked for.
bool IsTimedAs(const v1::TuningOptions& options, const v1::TuningRecord& record) {
  if (options.cache_state() == v1::CACHE_STATE_UNSPECIFIED) return true;
  return IsCold(options.cache_state()) == IsCold(record.cache_state());
}

Status QueueIsFull(int64_t queued) {
  return WithRetry(WithReason(absl::ResourceExhaustedError(absl::StrCat(
                                  "the queue is full: ", queued, " jobs wait; try again later")),
                              "QUEUE_FULL"),
                   kRetryWhenFull);
}

Status SourceHasTooMany(const std::string& source, int64_t own) {
  const Status refused = absl::ResourceExhaustedError(
      absl::StrCat("source '", source, "' has ", own, " jobs waiting, as many as one may have"));
  return WithRetry(WithQuota(WithReason(refused, "SOURCE_QUOTA"), absl::StrCat("source:", source)),
                   kRetryWhenFull);
}

}  // namespace

v1::TuningJob JobQueue::NewJob(const CreateJob& request) const {
  v1::TuningJob job;
  *job.mutable_key() = MakeKernelKey(request.computation, KeyEnvironment::Of(DeviceOf(request)),
                                     request.options.numerics_policy());
  job.mutable_key()->set_schedule(request.key_schedule);
  job.set_expression_name(ComputationView(request.computation).name());
  job.set_expression_text(ToText(request.computation));
  *job.mutable_options() = request.options;
  job.set_request_id(request.request_id);
  job.set_source(request.source);
  job.set_priority(request.priority);
  for (const std::string& name : request.device_names) job.add_devices(name);
  if (job.devices().empty()) {
    for (const TuningDevice* device : request.devices) {
      job.add_devices(catalogue_.FullName(device->name()));
    }
  }
  if (options_.is_shared && !request.elsewhere.has_value()) job.set_node(NodeName(options_.owner));
  for (const std::string& name : request.awaited) job.add_awaited_jobs(name);
  *job.mutable_create_time() = ToProto(options_.now());
  return job;
}

Status JobQueue::FillIn(CreateJob& request) const {
  if (request.elsewhere.has_value()) return CheckStoredQuota(request);
  if (!request.devices.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(request.devices, catalogue_.Select({}));
  return absl::OkStatus();
}

Result<v1::CreateTuningJobResponse> JobQueue::Create(CreateJob request) {
  MDH_RETURN_IF_ERROR(AwaitBegin());
  MDH_RETURN_IF_ERROR(FillIn(request));
  const v1::TuningJob job = NewJob(request);
  while (true) {
    MDH_ASSIGN_OR_RETURN(std::optional<v1::CreateTuningJobResponse> response,
                         TryToCreate(request, job));
    if (response.has_value()) return *std::move(response);
  }
}

Result<std::optional<v1::CreateTuningJobResponse>> JobQueue::TryToCreate(const CreateJob& request,
                                                                         v1::TuningJob job) {
  v1::CreateTuningJobResponse response;
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningJob> earlier,
                       FindRequest(request.request_id, job.key()));
  absl::MutexLock lock(&mutex_);
  MDH_RETURN_IF_ERROR(CheckNotDraining());
  if (earlier.has_value()) {
    *response.mutable_job() = *std::move(earlier);
    return response;
  }
  if (AwaitTwin(request, job)) return std::nullopt;
  if (const std::shared_ptr<Job> twin = FindTwin(TwinIdOf(job)); twin != nullptr) {
    return Join(request, twin);
  }
  MDH_RETURN_IF_ERROR(Begin(request, job, response));
  const Result<InsertedJob> inserted = Insert(request, job);
  // The job of that request was created since it was looked for.
  if (absl::IsAlreadyExists(inserted.status()) && !request.request_id.empty()) return std::nullopt;
  MDH_RETURN_IF_ERROR(inserted.status());
  if (inserted->is_twin) return JoinStored(request, inserted->claim.number);
  const JobClaim& claim = inserted->claim;
  job.set_name(JobName(claim.number));
  spdlog::info("job={} expression={} digest={} device={} state={} budget_ns={}", claim.number,
               job.expression_name(), job.key().expression_digest().substr(0, 12), job.devices(0),
               v1::TuningJobState_Name(job.state()), job.options().budget_ns());
  *response.mutable_job() = job;
  if (request.elsewhere.has_value()) return response;  // whoever has such a device takes it
  if (job.state() == v1::TUNING_JOB_STATE_QUEUED) {
    const auto created = std::make_shared<Job>(claim, request, std::move(job));
    if (created->proto.continued_search_ns() > 0) created->before = created->proto.progress();
    Remember(created);
    created->awaits_others = options_.is_shared && !AwaitedElsewhere(*created).empty();
    queued_.push_back(created);
    has_news_ = true;
    ShareDevices();
  }
  return response;
}

Status JobQueue::CheckNotDraining() const {
  if (!is_draining_) return absl::OkStatus();
  return WithRetry(absl::UnavailableError("the daemon is stopping"), kRetryAfterStop);
}

bool JobQueue::AwaitTwin(const CreateJob& request, const v1::TuningJob& job) {
  const std::string twin_id = TwinIdOf(job);
  const auto has_none = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const std::shared_ptr<Job> twin = FindTwin(twin_id);
    if (twin != nullptr && twin->is_being_written) return false;
    return std::none_of(creations_.begin(), creations_.end(), [&](const Creation* creation) {
      const bool has_same_request =
          !request.request_id.empty() && creation->request_id == request.request_id;
      return has_same_request || creation->twin_id == twin_id;
    });
  };
  if (has_none()) return false;
  mutex_.Await(absl::Condition(&has_none));
  return true;
}

Result<InsertedJob> JobQueue::Insert(const CreateJob& request, const v1::TuningJob& job) {
  const Creation creation = {TwinIdOf(job), request.request_id, request.source,
                             std::holds_alternative<Pipeline>(request.computation)};
  creations_.push_back(&creation);
  // The disk is waited for: others go on meanwhile, and new jobs share the wait.
  mutex_.Unlock();
  const std::string twin_id = HasEnded(job) ? "" : creation.twin_id;
  const JobLease lease = request.elsewhere.has_value() ? JobLease() : Lease();
  Result<InsertedJob> inserted = store_.InsertJob(job, lease, twin_id);
  mutex_.Lock();
  creations_.erase(std::find(creations_.begin(), creations_.end(), &creation));
  return inserted;
}

Result<v1::CreateTuningJobResponse> JobQueue::Validate(const CreateJob& given) {
  MDH_RETURN_IF_ERROR(AwaitBegin());
  CreateJob request = given;
  MDH_RETURN_IF_ERROR(FillIn(request));
  v1::TuningJob job = NewJob(request);
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningJob> earlier,
                       FindRequest(request.request_id, job.key()));
  v1::CreateTuningJobResponse response;
  absl::MutexLock lock(&mutex_);
  MDH_RETURN_IF_ERROR(CheckNotDraining());
  if (earlier.has_value()) {
    *response.mutable_job() = *std::move(earlier);
  } else if (const std::shared_ptr<Job> twin = FindTwin(TwinIdOf(job)); twin != nullptr) {
    *response.mutable_job() = twin->proto;
    response.set_joined(true);
  } else {
    MDH_RETURN_IF_ERROR(Begin(request, job, response));
    *response.mutable_job() = std::move(job);
  }
  return response;
}

std::shared_ptr<Job> JobQueue::FindTwin(const std::string& twin_id) const {
  const auto twin = by_key_.find(twin_id);
  if (twin == by_key_.end()) return nullptr;
  return twin->second->stop_reason == StopReason::kCancel ? nullptr : twin->second;
}

Result<std::optional<v1::TuningJob>> JobQueue::FindRequest(const std::string& request_id,
                                                           const v1::KernelKey& key) {
  if (request_id.empty()) return std::nullopt;
  MDH_ASSIGN_OR_RETURN(std::optional<v1::TuningJob> found, store_.FindJobByRequest(request_id));
  if (!found.has_value()) return std::nullopt;
  if (found->key().expression_digest() != key.expression_digest()) {
    return InvalidField("request_id",
                        absl::StrCat("request_id '", request_id,
                                     "' was used for another expression, by ", found->name()));
  }
  MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(found->name()));
  absl::ReaderMutexLock lock(&mutex_);
  const std::shared_ptr<Job> in_memory = Find(number);
  return in_memory == nullptr ? *found : in_memory->proto;
}

Status JobQueue::Begin(const CreateJob& request, v1::TuningJob& job,
                       v1::CreateTuningJobResponse& response) const {
  const Result<v1::TuningRecord> known = lookup_table_.FindRecord(job.key());
  const bool is_searched =
      known.ok() && !known->is_provisional() && IsTimedAs(request.options, *known);
  const bool is_known = is_searched && (!known->is_disturbed() || known->is_pinned());
  const SearchEffort effort = is_known ? EffortBehind(*known) : SearchEffort{};
  const bool takes_it = is_known && (request.takes_any_search || known->is_pinned() ||
                                     !AllowsMore(request.options, effort));
  const bool is_done = takes_it && !request.force;
  v1::TuningProgress progress;
  progress.set_sequence(1);
  progress.set_state(is_done ? v1::TUNING_JOB_STATE_SUCCEEDED : v1::TUNING_JOB_STATE_QUEUED);
  if (is_known) {
    response.set_search_time_ns(effort.time_ns);
    response.set_note(absl::StrCat(is_done         ? "there is a record, behind which stands "
                                   : request.force ? "searches anew; there is a record of "
                                                   : "goes on from ",
                                   ToText(effort)));
  } else if (is_searched) {
    response.set_note(absl::StrCat("searches anew; there is a record of ",
                                   ToText(EffortBehind(*known)),
                                   ", during which others used the machine"));
  }
  if (is_done) {
    job.set_record(known->name());
    job.set_min_cursor(SharedCursor(store_));
  }
  if (is_done || (is_known && !request.force)) {
    progress.set_best_time_ns(known->time_ns());
    progress.set_best_parameters(known->parameters());
  }
  if (is_done) {
    if (known->is_pinned()) response.set_note(absl::StrCat(response.note(), "; it is pinned"));
    *job.mutable_end_time() = job.create_time();
  } else {
    MDH_RETURN_IF_ERROR(CheckCanTune(request));
    MDH_RETURN_IF_ERROR(CheckQuota(request));
    if (is_known && !request.force) {
      job.set_continued_search_ns(effort.time_ns);
      job.set_continued_trials(effort.trials);
      progress.set_elapsed_ns(effort.time_ns);
    }
    progress.set_remaining_ns(RemainingTime(request.options, 0, progress.elapsed_ns()));
  }
  job.set_state(progress.state());
  *job.mutable_progress() = std::move(progress);
  return absl::OkStatus();
}

Status JobQueue::CheckQuota(const CreateJob& request) const {
  const std::string& source = request.source;
  if (request.elsewhere.has_value()) return absl::OkStatus();  // CheckStoredQuota
  if (static_cast<int>(queued_.size() + creations_.size()) >= options_.max_queued) {
    return QueueIsFull(std::ssize(queued_));
  }
  const int64_t most = MostOfSource(request);
  if (most == 0) return absl::OkStatus();
  // Jobs of whole pipelines are counted by themselves: who may ask for the steps may have the
  // whole.
  const bool is_whole = std::holds_alternative<Pipeline>(request.computation);
  int64_t own = std::count_if(creations_.begin(), creations_.end(), [&](const Creation* creation) {
    return creation->source == source && creation->is_whole == is_whole;
  });
  for (const auto* jobs : {&queued_, &paused_}) {
    own += std::count_if(jobs->begin(), jobs->end(), [&](const std::shared_ptr<Job>& job) {
      return job->source == source &&
             std::holds_alternative<Pipeline>(job->computation) == is_whole;
    });
  }
  return own < most ? absl::OkStatus() : SourceHasTooMany(source, own);
}

int64_t JobQueue::MostOfSource(const CreateJob& request) const {
  const int64_t most = options_.max_queued_per_source;
  const int64_t of_request = request.max_queued_of_source;
  return most == 0 || (of_request > 0 && of_request < most) ? of_request : most;
}

Status JobQueue::CheckStoredQuota(const CreateJob& request) const {
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> unfinished, store_.UnfinishedJobs());
  int64_t queued = 0, own = 0;
  const bool is_whole = std::holds_alternative<Pipeline>(request.computation);
  for (const v1::TuningJob& job : unfinished) {
    if (job.state() == v1::TUNING_JOB_STATE_RUNNING) continue;
    if (job.state() == v1::TUNING_JOB_STATE_QUEUED) ++queued;
    if (job.source() == request.source && job.awaited_jobs().empty() != is_whole) ++own;
  }
  if (queued >= options_.max_queued) return QueueIsFull(queued);
  const int64_t most = MostOfSource(request);
  return most == 0 || own < most ? absl::OkStatus() : SourceHasTooMany(request.source, own);
}

}  // namespace mdh
