// What daemons that share a database do for each other's jobs.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/help/offered_kernels.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// When a search is over at the latest, as Tune has it.
absl::Duration LongestSearch(const v1::TuningOptions& options) {
  return absl::Nanoseconds(options.budget_ns() + options.budget_ns() / 8 + kMostOverrunNs);
}

}  // namespace

Status JobQueue::OpenBoard() {
  if (options_.trial_sharing == TrialSharing::kOff) return absl::OkStatus();
  // Where nothing can be written there is nothing to be said.
  if (!store_.CheckWritable().ok()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(board_, store_.OpenTrialBoard());
  return absl::OkStatus();
}

std::unique_ptr<HelpedSearch> JobQueue::AskForHelp(Job& job, const v1::KernelKey& key,
                                                   const v1::TuningOptions& options) {
  // A limit on the time of all devices together was divided between those of this daemon.
  if (board_ == nullptr || !AsksForHelp(options_.trial_sharing) ||
      options.max_device_time_ns() > 0) {
    return nullptr;
  }
  const TuningOptions tuning = FromProto(options);
  HelpedSearchOptions helped = {.device = job.devices.front()->description()};
  helped.job = {.number = job.number,
                .epoch = job.claim.epoch,
                .owner = options_.owner,
                .environment = EnvironmentOfTrials({key.device_fingerprint(), key.compiler()}),
                .problem = ProblemOfTrials(std::get<Expression>(job.computation), tuning.seed,
                                           tuning.numerics),
                .time_left = LongestSearch(options)};
  helped.places = &job.places;
  helped.on_helpers = [this, &job](std::vector<std::string> helpers) {
    absl::MutexLock lock(&mutex_);
    job.helpers = std::move(helpers);
    NameRunningDevices(job);
  };
  Result<std::unique_ptr<HelpedSearch>> search =
      HelpedSearch::Start(*board_, std::move(helped), job.is_stopping);
  if (search.ok()) return *std::move(search);
  spdlog::warn("job={} no other daemon is asked for help: {}", job.number,
               std::string(search.status().message()));
  return nullptr;
}

void JobQueue::BeginToHelp() {
  if (board_ == nullptr || !HelpsOthers(options_.trial_sharing)) return;
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (helper_ != nullptr || is_draining_) return;
  }
  TrialHelperOptions helping = options_.helping;
  helping.daemon = options_.owner;
  helping.is_wanted = [this](const TuningDevice& device) { return IsWanted(device); };
  if (options_.metrics != nullptr) {
    helping.on_measured = [metrics = options_.metrics] { metrics->CountHelpGiven(); };
  }
  Result<std::unique_ptr<TrialHelper>> started =
      TrialHelper::Start(*board_, catalogue_, std::move(helping));
  if (!started.ok()) {
    spdlog::warn("devices help no other daemon: {}", std::string(started.status().message()));
    return;
  }
  std::unique_ptr<TrialHelper> helper = *std::move(started);  // ends after the lock is given up
  absl::MutexLock lock(&mutex_);
  if (!is_draining_) std::swap(helper_, helper);
}

bool JobQueue::IsWanted(const TuningDevice& device) const {
  const int64_t now_ns = NowNs();
  absl::ReaderMutexLock lock(&mutex_);
  const auto waits = [&](const std::shared_ptr<Job>& job) ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return MayUse(*job, device) && job->not_before_ns <= now_ns && !IsAwaiting(*job);
  };
  const auto could_use = [&](const std::shared_ptr<Job>& job) {
    return MayUse(*job, device) && CanGetMore(*job);
  };
  return is_draining_ || std::any_of(queued_.begin(), queued_.end(), waits) ||
         std::any_of(running_.begin(), running_.end(), could_use);
}

}  // namespace mdh
