// Jobs that wait for a while: paused ones, and those that an earlier process left unfinished.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/exhaustion.h"
#include "proto/error_details.h"
#include "proto/pipeline_conversion.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/records/kernel_key.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"

namespace mdh {
namespace {

Status HasEnded(const v1::TuningJob& job) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(job.name(), " has ended")),
                    "JOB_ENDED");
}

// What the job has kept in the text form.
Result<Computation> KeptComputation(const v1::TuningJob& job) {
  v1::ExpressionSource source;
  source.mutable_text()->set_text(job.expression_text());
  return ReadComputation(source, ExpressionLimits::None());
}

}  // namespace

Status JobQueue::TakeUpUnfinishedJobs() {
  // Another daemon, or this one when the database can be written again, goes on with them.
  if (!store_.CheckWritable().ok()) return absl::OkStatus();
  const absl::Time now = options_.now();
  const JobClaim claim = {.owner = options_.owner, .until = now + kClaim};
  std::vector<std::string> devices;
  for (const auto& device : catalogue_.devices()) devices.push_back(device->name());
  MDH_RETURN_IF_ERROR(store_.ClaimJobs(claim, now, devices).status());
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> own, store_.UnfinishedJobs(options_.owner));
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> all, store_.UnfinishedJobs());
  // All are read before one is taken up: what fails now is tried again.
  std::vector<std::shared_ptr<Job>> restored;
  std::vector<std::pair<const v1::TuningJob*, Status>> failed;
  for (const v1::TuningJob& job : own) {
    MDH_ASSIGN_OR_RETURN(const int64_t number, ParseJobName(job.name()));
    Result<std::shared_ptr<Job>> one = Restore(number, job);
    if (IsLack(one.status())) return one.status();
    if (one.ok()) {
      restored.push_back(*std::move(one));
    } else {
      failed.emplace_back(&job, one.status());
    }
  }
  for (const auto& [job, why] : failed) FailUnrestored(*job, why);
  for (const std::shared_ptr<Job>& job : restored) {
    spdlog::info("job={} state={} taken up after {} trials {}", job->number,
                 v1::TuningJobState_Name(job->proto.state()), job->before.trials(),
                 job->proto.progress().latest_reason());
  }
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Job>& job : restored) {
    // Nothing of it has to be written before it runs.
    Remember(job);
    Apply(*job, Waits(job->proto.state()));
    SetAside(job);
  }
  has_all_unfinished_ = std::all_of(all.begin(), all.end(), [&](const v1::TuningJob& job) {
    const Result<int64_t> number = ParseJobName(job.name());
    return number.ok() && by_number_.contains(*number);
  });
  return absl::OkStatus();
}

Result<std::shared_ptr<Job>> JobQueue::Restore(int64_t number, v1::TuningJob proto) {
  MDH_ASSIGN_OR_RETURN(Computation computation, KeptComputation(proto));
  std::vector<TuningDevice*> devices;
  for (const std::string& name : proto.devices()) {
    if (const Result<TuningDevice*> device = catalogue_.Find(name); device.ok()) {
      devices.push_back(*device);
    }
  }
  if (!devices.empty()) {
    // After another compiler or generator was installed the job goes on under the new key.
    const std::string schedule = proto.key().schedule();
    *proto.mutable_key() = MakeKernelKey(computation, devices.front()->environment(),
                                         proto.options().numerics_policy());
    proto.mutable_key()->set_schedule(schedule);
  }
  Result<std::vector<v1::TuningTrial>> trials = store_.ListTrials(number, 0, 0);
  if (IsLack(trials.status())) return trials.status();
  if (!trials.ok()) {
    spdlog::error("job={} goes on without its trials: {}", number,
                  std::string(trials.status().message()));
    trials = std::vector<v1::TuningTrial>();
  }
  v1::TuningProgress progress = SummarizeTrials(*trials).progress;
  if (progress.best_time_ns() == 0) {
    progress.set_best_time_ns(proto.progress().best_time_ns());
    progress.set_best_parameters(proto.progress().best_parameters());
  }
  progress.set_elapsed_ns(std::max(progress.elapsed_ns(), proto.continued_search_ns()));
  // Only changes of state were stored with their numbers; every trial was a step, too.
  progress.set_sequence(proto.progress().sequence() + progress.trials());
  // The daemon before this one died, or it would have left the job waiting.
  if (proto.state() == v1::TUNING_JOB_STATE_RUNNING) {
    const bool has_gone_on = progress.trials() > proto.progress().trials();
    proto.set_deaths(has_gone_on ? 1 : proto.deaths() + 1);
  }
  if (proto.deaths() >= options_.most_deaths) {
    proto.set_state(v1::TUNING_JOB_STATE_PAUSED);
    progress.set_latest_reason(absl::StrCat(
        "set aside: the daemon ended ", proto.deaths(),
        " times while it ran, without a trial in between; resume it to try once more"));
  } else if (proto.state() != v1::TUNING_JOB_STATE_PAUSED) {
    proto.set_state(v1::TUNING_JOB_STATE_QUEUED);
    if (devices.empty()) {
      progress.set_latest_reason(absl::StrCat("waits for a daemon that has ",
                                              absl::StrJoin(proto.devices(), " or "),
                                              ", which this machine has not at the moment"));
    }
  }
  progress.set_state(proto.state());
  *proto.mutable_progress() = progress;
  proto.set_restarts(proto.restarts() + 1);
  proto.clear_running_devices();
  CreateJob request = {.computation = std::move(computation),
                       .options = proto.options(),
                       .force = true,
                       .request_id = proto.request_id(),
                       .devices = std::move(devices),
                       .source = proto.source(),
                       .priority = proto.priority()};
  auto job = std::make_shared<Job>(number, std::move(request), std::move(proto));
  job->before = progress;
  return job;
}

void JobQueue::FailUnrestored(v1::TuningJob job, const Status& why) {
  job.set_state(v1::TUNING_JOB_STATE_FAILED);
  SetError(absl::AbortedError(absl::StrCat("the daemon ended before the job did, and it cannot go "
                                           "on: ",
                                           std::string(why.message()))),
           job);
  job.mutable_progress()->set_state(job.state());
  job.mutable_progress()->set_sequence(job.progress().sequence() + 1);
  *job.mutable_end_time() = ToProto(options_.now());
  const Result<int64_t> number = ParseJobName(job.name());
  const Status stored = number.ok() ? store_.UpdateJob(*number, job) : number.status();
  spdlog::warn("{} {} {}", job.name(), job.error().message(), std::string(stored.message()));
}

void JobQueue::SetAside(const std::shared_ptr<Job>& job) {
  for (auto* jobs : {&queued_, &running_, &paused_}) {
    jobs->erase(std::remove(jobs->begin(), jobs->end(), job), jobs->end());
  }
  job->is_running = false;
  job->stop_reason = StopReason::kNone;
  job->is_stopping = false;
  job->before = job->proto.progress();
  const bool is_paused = job->proto.state() == v1::TUNING_JOB_STATE_PAUSED;
  (is_paused ? paused_ : queued_).push_back(job);
  has_news_ = true;
}

JobQueue::Change JobQueue::Waits(v1::TuningJobState state) {
  return [state](v1::TuningJob& job) {
    job.set_state(state);
    v1::TuningProgress& step = *job.mutable_progress();
    step.set_remaining_ns(RemainingTime(job.options(), step.trials(), step.elapsed_ns()));
    step.clear_phase();
  };
}

void JobQueue::StopRunning(const std::shared_ptr<Job>& job, StopReason reason) {
  job->stop_reason = reason;
  job->is_stopping = true;
  for (const std::unique_ptr<DeviceLease>& lease : job->leases) lease->Interrupt();
}

Status JobQueue::WriteAndStop(const std::shared_ptr<Job>& job, StopReason reason) {
  MDH_RETURN_IF_ERROR(Write(*job, ToStore(job->proto, reason)));
  StopRunning(job, reason);
  return absl::OkStatus();
}

Result<v1::TuningJob> JobQueue::ChangeStored(int64_t number, v1::TuningJobState state) {
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, store_.GetJob(number));
  const bool has_ended = job.has_end_time();
  if (has_ended && state == v1::TUNING_JOB_STATE_CANCELLED) return job;
  if (has_ended) return HasEnded(job);
  if (state == v1::TUNING_JOB_STATE_CANCELLED) {
    Ended(state, absl::OkStatus())(job);
  } else {
    Waits(state)(job);
  }
  job.mutable_progress()->set_state(state);
  job.mutable_progress()->set_sequence(job.progress().sequence() + 1);
  MDH_RETURN_IF_ERROR(store_.UpdateJob(number, job));
  return job;
}

Result<v1::TuningJob> JobQueue::Pause(int64_t number) {
  MDH_RETURN_IF_ERROR(AwaitBegin());
  {
    absl::MutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = FindCreated(number); job != nullptr) {
      AwaitWritten(*job);
      if (job->is_finished || job->stop_reason == StopReason::kCancel) return HasEnded(job->proto);
      if (job->is_running && job->stop_reason != StopReason::kPause) {
        MDH_RETURN_IF_ERROR(WriteAndStop(job, StopReason::kPause));
      } else if (job->proto.state() == v1::TUNING_JOB_STATE_QUEUED && !job->is_running) {
        MDH_RETURN_IF_ERROR(ChangeIfWritten(job, Waits(v1::TUNING_JOB_STATE_PAUSED)));
        SetAside(job);
      }
      return job->proto;
    }
  }
  return ChangeStored(number, v1::TUNING_JOB_STATE_PAUSED);
}

Result<v1::TuningJob> JobQueue::Resume(int64_t number) {
  MDH_RETURN_IF_ERROR(AwaitBegin());
  {
    absl::MutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = FindCreated(number); job != nullptr) {
      AwaitWritten(*job);
      if (job->is_finished || job->stop_reason == StopReason::kCancel) return HasEnded(job->proto);
      if (job->proto.state() == v1::TUNING_JOB_STATE_PAUSED) {
        MDH_RETURN_IF_ERROR(ChangeIfWritten(job, [](v1::TuningJob& proto) {
          Waits(v1::TUNING_JOB_STATE_QUEUED)(proto);
          proto.clear_deaths();
          proto.mutable_progress()->clear_latest_reason();
        }));
        SetAside(job);
        ShareDevices();
      } else if (job->stop_reason == StopReason::kPause) {
        // Its search ends just now; then the job waits like others.
        MDH_RETURN_IF_ERROR(Write(*job, ToStore(job->proto, StopReason::kRequeue)));
        job->stop_reason = StopReason::kRequeue;
      }
      return job->proto;
    }
  }
  return ChangeStored(number, v1::TUNING_JOB_STATE_QUEUED);
}

}  // namespace mdh
