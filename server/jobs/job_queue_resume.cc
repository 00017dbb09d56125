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

Status EndedError(const v1::TuningJob& job) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(job.name(), " has ended")),
                    "JOB_ENDED");
}

}  // namespace

Status JobQueue::TakeUpUnfinishedJobs(std::vector<HeldJob>& wished) {
  // Another daemon, or this one when the database can be written again, goes on with them.
  if (!store_.CheckWritable().ok()) return absl::OkStatus();
  ClaimRequest request = Claimable();
  request.takes_own = true;
  request.leaves_new = options_.is_shared;  // others are to have some of these, too
  const int64_t asked_ns = LeaseClock();
  MDH_ASSIGN_OR_RETURN(const std::vector<ClaimedJob> own, store_.ClaimJobs(Lease(), request));
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningJob> all, store_.UnfinishedJobs());
  NoteLease(asked_ns);
  MDH_RETURN_IF_ERROR(TakeUp(own));
  for (const ClaimedJob& job : own) {
    if (job.wish != JobWish::kNone || !job.more.empty()) wished.push_back(job);
  }
  absl::MutexLock lock(&mutex_);
  has_all_unfinished_ =
      !options_.is_shared && std::all_of(all.begin(), all.end(), [&](const v1::TuningJob& job) {
        const Result<int64_t> number = ParseJobName(job.name());
        return number.ok() && by_number_.contains(*number);
      });
  return absl::OkStatus();
}

Status JobQueue::TakeUp(const std::vector<ClaimedJob>& claimed) {
  // All are read before one is taken up: what fails now is tried again.
  std::vector<std::shared_ptr<Job>> restored;
  std::vector<std::pair<const ClaimedJob*, Status>> failed;
  for (const ClaimedJob& job : claimed) {
    Result<std::shared_ptr<Job>> one = Restore(job);
    if (IsLack(one.status())) return one.status();
    if (one.ok()) {
      restored.push_back(*std::move(one));
    } else {
      failed.emplace_back(&job, one.status());
    }
  }
  for (const auto& [job, why] : failed) FailUnrestored(*job, why);
  if (options_.is_shared) {
    const auto mine = std::stable_partition(restored.begin(), restored.end(),
                                            [](const auto& job) { return !job->devices.empty(); });
    for (auto job = mine; job != restored.end(); ++job) HandOver(**job);
    restored.erase(mine, restored.end());
  }
  for (const std::shared_ptr<Job>& job : restored) {
    spdlog::info("job={} state={} taken up after {} trials {}", job->number,
                 v1::TuningJobState_Name(job->proto.state()), job->before.trials(),
                 job->proto.progress().latest_reason());
  }
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Job>& job : restored) {
    // Nothing of it has to be written before it runs.
    Remember(job);
    job->awaits_others = options_.is_shared && !AwaitedElsewhere(*job).empty();
    Apply(*job, Waits(job->proto.state()));
    SetAside(job);
  }
  return absl::OkStatus();
}

Result<std::shared_ptr<Job>> JobQueue::Restore(ClaimedJob claimed) {
  v1::TuningJob& proto = claimed.job;
  const int64_t number = claimed.claim.number;
  MDH_ASSIGN_OR_RETURN(Computation computation,
                       ReadPrinted(proto.expression_text(), ExpressionLimits::None()));
  std::vector<TuningDevice*> devices = DevicesFor(proto);
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
  if (options_.is_shared) proto.set_node(devices.empty() ? "" : NodeName(options_.owner));
  CreateJob request = {.computation = std::move(computation),
                       .options = proto.options(),
                       .force = true,
                       .request_id = proto.request_id(),
                       .devices = std::move(devices),
                       .source = proto.source(),
                       .priority = proto.priority()};
  auto job = std::make_shared<Job>(claimed.claim, std::move(request), std::move(proto));
  job->before = progress;
  return job;
}

void JobQueue::FailUnrestored(ClaimedJob claimed, const Status& why) {
  v1::TuningJob& job = claimed.job;
  job.set_state(v1::TUNING_JOB_STATE_FAILED);
  SetError(absl::AbortedError(absl::StrCat("the daemon ended before the job did, and it cannot go "
                                           "on: ",
                                           std::string(why.message()))),
           job);
  job.mutable_progress()->set_state(job.state());
  job.mutable_progress()->set_sequence(job.progress().sequence() + 1);
  *job.mutable_end_time() = ToProto(options_.now());
  const Status stored = store_.UpdateJob(claimed.claim, job, claimed.wish);
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
  if (job->is_lost) return;
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

Result<v1::TuningJob> JobQueue::ChangeStored(int64_t number, JobWish wish) {
  MDH_ASSIGN_OR_RETURN(v1::TuningJob job, store_.GetJob(number));
  const bool is_cancelled = wish == JobWish::kCancel;
  if (HasEnded(job)) return is_cancelled ? Result<v1::TuningJob>(job) : EndedError(job);
  // Nobody has it afterwards, either.
  MDH_ASSIGN_OR_RETURN(const std::vector<ClaimedJob> claimed,
                       store_.ClaimJobs({}, {.number = number}));
  if (claimed.empty()) {
    Result<v1::TuningJob> told = store_.WishOfJob(number, wish);
    if (!absl::IsFailedPrecondition(told.status())) return told;
    // It has ended just now, or will.
    return is_cancelled ? ChangeStored(number, wish) : EndedError(job);
  }
  if (is_cancelled) {
    Ended(v1::TUNING_JOB_STATE_CANCELLED, absl::OkStatus())(job);
  } else {
    Waits(wish == JobWish::kPause ? v1::TUNING_JOB_STATE_PAUSED : v1::TUNING_JOB_STATE_QUEUED)(job);
  }
  job.mutable_progress()->set_state(job.state());
  job.mutable_progress()->set_sequence(job.progress().sequence() + 1);
  const Status written = store_.UpdateJob(claimed.front().claim, job, claimed.front().wish);
  // Somebody was faster to take it.
  if (absl::IsAborted(written)) return ChangeStored(number, wish);
  MDH_RETURN_IF_ERROR(written);
  return job;
}

Result<v1::TuningJob> JobQueue::ChangeJob(int64_t number, JobWish wish) {
  MDH_RETURN_IF_ERROR(AwaitBegin());
  {
    absl::MutexLock lock(&mutex_);
    if (const std::shared_ptr<Job> job = FindCreated(number); job != nullptr) {
      AwaitWritten(*job);
      const ChangeOwn change = wish == JobWish::kCancel  ? &JobQueue::CancelOwn
                               : wish == JobWish::kPause ? &JobQueue::PauseOwn
                                                         : &JobQueue::ResumeOwn;
      Result<v1::TuningJob> changed = (this->*change)(job);
      if (!job->is_lost) return changed;
    }
  }
  return ChangeStored(number, wish);
}

Result<v1::TuningJob> JobQueue::Pause(int64_t number) { return ChangeJob(number, JobWish::kPause); }

Result<v1::TuningJob> JobQueue::PauseOwn(const std::shared_ptr<Job>& job) {
  if (job->is_finished || job->stop_reason == StopReason::kCancel) return EndedError(job->proto);
  if (job->is_running && job->stop_reason != StopReason::kPause) {
    MDH_RETURN_IF_ERROR(WriteAndStop(job, StopReason::kPause));
  } else if (job->proto.state() == v1::TUNING_JOB_STATE_QUEUED && !job->is_running) {
    MDH_RETURN_IF_ERROR(ChangeIfWritten(job, Waits(v1::TUNING_JOB_STATE_PAUSED)));
    SetAside(job);
  }
  return job->proto;
}

Result<v1::TuningJob> JobQueue::Resume(int64_t number) {
  return ChangeJob(number, JobWish::kResume);
}

Result<v1::TuningJob> JobQueue::ResumeOwn(const std::shared_ptr<Job>& job) {
  if (job->is_finished || job->stop_reason == StopReason::kCancel) return EndedError(job->proto);
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

}  // namespace mdh
