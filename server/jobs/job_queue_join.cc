// Requests for a job that there is already, of this daemon or of another one: it is made to allow
// as much as each of them wants.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/search_effort.h"
#include "server/jobs/tuning_request.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Between two looks whether the owner of a job has heard what is wanted.
constexpr absl::Duration kLookAtOwner = absl::Milliseconds(20);

// What a request wants of its twin.
v1::TuningJob WantedBy(const CreateJob& request) {
  v1::TuningJob more;
  if (!request.takes_any_search) {
    v1::TuningOptions& limits = *more.mutable_options();
    limits.set_budget_ns(request.options.budget_ns());
    limits.set_max_trials(request.options.max_trials());
    limits.set_max_device_time_ns(request.options.max_device_time_ns());
  }
  for (const std::string& name : request.awaited) more.add_awaited_jobs(name);
  return more;
}

// Those that `more` awaits and the job does not.
std::vector<std::string> NewlyAwaited(const v1::TuningJob& more, const v1::TuningJob& job) {
  std::vector<std::string> names;
  for (const std::string& name : more.awaited_jobs()) {
    const auto& known = job.awaited_jobs();
    if (std::find(known.begin(), known.end(), name) == known.end()) names.push_back(name);
  }
  return names;
}

v1::TuningOptions ExtendedBy(const v1::TuningJob& more, const v1::TuningOptions& options) {
  return more.has_options() ? WithLimitsOf(options, more.options()) : options;
}

bool Allows(const v1::TuningJob& job, const v1::TuningJob& more) {
  return NewlyAwaited(more, job).empty() &&
         HaveSameLimits(job.options(), ExtendedBy(more, job.options()));
}

void Raise(v1::TuningJob& job, const v1::TuningOptions& extended) {
  *job.mutable_options() = extended;
  v1::TuningProgress& step = *job.mutable_progress();
  step.set_remaining_ns(RemainingTime(extended, step.trials(), step.elapsed_ns()));
}

// All that two requests want.
v1::TuningJob Both(v1::TuningJob wanted, const v1::TuningJob& more) {
  if (!wanted.has_options() && more.has_options()) {
    *wanted.mutable_options() = more.options();
  } else if (wanted.has_options()) {
    *wanted.mutable_options() = ExtendedBy(more, wanted.options());
  }
  for (const std::string& name : NewlyAwaited(more, wanted)) wanted.add_awaited_jobs(name);
  return wanted;
}

}  // namespace

Result<bool> JobQueue::ExtendOwn(const std::shared_ptr<Job>& job, const v1::TuningJob& more) {
  const std::vector<std::string> awaited = NewlyAwaited(more, job->proto);
  if (!awaited.empty()) {
    MDH_RETURN_IF_ERROR(ChangeIfWritten(job, [&](v1::TuningJob& changed) {
      for (const std::string& name : awaited) changed.add_awaited_jobs(name);
    }));
    ++job->extensions;  // one that runs is to run again
    job->awaits_others = options_.is_shared && !AwaitedElsewhere(*job).empty();
  }
  const v1::TuningOptions extended = ExtendedBy(more, job->options());
  if (HaveSameLimits(job->options(), extended)) return false;
  MDH_RETURN_IF_ERROR(
      ChangeIfWritten(job, [&](v1::TuningJob& changed) { Raise(changed, extended); }));
  ++job->extensions;
  spdlog::info("job={} extended to budget_ns={} max_trials={}", job->number, extended.budget_ns(),
               extended.max_trials());
  return true;
}

Result<v1::CreateTuningJobResponse> JobQueue::Join(const CreateJob& request,
                                                   const std::shared_ptr<Job>& twin) {
  const v1::TuningOptions before = twin->options();
  MDH_ASSIGN_OR_RETURN(const bool is_extended, ExtendOwn(twin, WantedBy(request)));
  v1::CreateTuningJobResponse response;
  response.set_joined(true);
  response.set_extended(is_extended);
  response.set_note(is_extended
                        ? absl::StrCat("joined ", twin->proto.name(), " and extended it from ",
                                       LimitsText(before), " to ", LimitsText(twin->options()))
                        : absl::StrCat("joined ", twin->proto.name(), ", which searches for ",
                                       LimitsText(before)));
  *response.mutable_job() = twin->proto;
  return response;
}

Result<std::optional<v1::CreateTuningJobResponse>> JobQueue::JoinStored(const CreateJob& request,
                                                                        int64_t number) {
  if (const std::shared_ptr<Job> own = Find(number); own != nullptr && !own->is_finished) {
    AwaitWritten(*own);
    if (own->is_finished || own->is_lost) return std::nullopt;
    return Join(request, own);
  }
  // If it is this daemon's its end is not on the disk yet.
  const bool is_own = Find(number) != nullptr;
  const v1::TuningJob more = WantedBy(request);
  mutex_.Unlock();
  const Status saved = is_own ? SaveUnsaved() : absl::OkStatus();
  const Result<v1::TuningJob> before = store_.GetJob(number);
  Result<v1::TuningJob> twin = before;
  if (!is_own && twin.ok() && !HasEnded(*twin)) twin = ExtendStored(number, *before, more);
  mutex_.Lock();
  MDH_RETURN_IF_ERROR(saved);
  MDH_RETURN_IF_ERROR(twin.status());
  if (is_own || HasEnded(*twin)) return std::nullopt;
  v1::CreateTuningJobResponse response;
  response.set_joined(true);
  response.set_extended(!HaveSameLimits(before->options(), twin->options()) && Allows(*twin, more));
  const std::string joined = absl::StrCat("joined ", twin->name(), " of another daemon");
  const std::string wanted = LimitsText(ExtendedBy(more, twin->options()));
  response.set_note(response.extended() ? absl::StrCat(joined, " and extended it from ",
                                                       LimitsText(before->options()), " to ",
                                                       LimitsText(twin->options()))
                    : Allows(*twin, more)
                        ? absl::StrCat(joined, ", which searches for ", LimitsText(twin->options()))
                        : absl::StrCat(joined, ", which searches for ", LimitsText(twin->options()),
                                       " and has not heard yet that ", wanted, " is wanted"));
  *response.mutable_job() = *std::move(twin);
  return response;
}

Result<v1::TuningJob> JobQueue::ExtendStored(int64_t number, v1::TuningJob job,
                                             const v1::TuningJob& more) {
  if (Allows(job, more)) return job;
  // Nobody has it afterwards, either.
  MDH_ASSIGN_OR_RETURN(std::vector<ClaimedJob> claimed, store_.ClaimJobs({}, {.number = number}));
  if (!claimed.empty()) {
    job = std::move(claimed.front().job);
    for (const std::string& name : NewlyAwaited(more, job)) job.add_awaited_jobs(name);
    Raise(job, ExtendedBy(more, job.options()));
    job.mutable_progress()->set_sequence(job.progress().sequence() + 1);
    const Status written = store_.UpdateJob(claimed.front().claim, job);
    if (!absl::IsAborted(written)) {
      MDH_RETURN_IF_ERROR(written);
      return job;
    }
    // Somebody was faster to take it, and is told.
  }
  const Result<v1::TuningJob> told =
      store_.WishMoreOfJob(number, [&](const v1::TuningJob& wanted) { return Both(wanted, more); });
  if (absl::IsFailedPrecondition(told.status())) return store_.GetJob(number);  // it has ended
  MDH_RETURN_IF_ERROR(told.status());
  // One that ends meanwhile without having heard is no answer to the request.
  const int64_t deadline_ns = NowNs() + absl::ToInt64Nanoseconds(options_.owner_patience);
  while (true) {
    MDH_ASSIGN_OR_RETURN(job, store_.GetJob(number));
    if (HasEnded(job) || Allows(job, more) || NowNs() >= deadline_ns) return job;
    absl::MutexLock lock(&mutex_);
    if (is_draining_) return job;
    mutex_.AwaitWithTimeout(absl::Condition(&is_draining_), kLookAtOwner);
  }
}

void JobQueue::FulfilMore(const HeldJob& held) {
  v1::TuningJob more;
  if (more.ParseFromString(held.more)) {
    absl::MutexLock lock(&mutex_);
    const std::shared_ptr<Job> job = Find(held.claim.number);
    if (job == nullptr || job->claim != held.claim) return;
    AwaitWritten(*job);
    const bool goes_on =
        !job->is_finished && !job->is_lost && job->stop_reason != StopReason::kCancel;
    if (goes_on) {
      const Result<bool> extended = ExtendOwn(job, more);
      if (!extended.ok()) {
        // With the next renewal.
        spdlog::error("job={} {}", job->number, std::string(extended.status().message()));
        return;
      }
    }
  }
  const Status heard = store_.HeardMore(held.claim, held.more);
  if (!heard.ok()) spdlog::error("job={} {}", held.claim.number, std::string(heard.message()));
}

}  // namespace mdh
