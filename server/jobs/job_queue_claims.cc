// Which jobs are this daemon's: leases, what others want of its jobs, and what they have taken.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "proto/error_details.h"
#include "server/jobs/job_queue.h"
#include "server/records/resource_names.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr absl::Duration kLookAtLease = absl::Milliseconds(200);
// Between two looks at a job of another daemon, in nanoseconds.
constexpr int64_t kLookElsewhere = 300'000'000;
constexpr absl::Duration kAwayFor = absl::Seconds(3);
constexpr size_t kMostSeen = 10'000;

}  // namespace

ClaimRequest JobQueue::Claimable() const {
  ClaimRequest request;
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    std::vector<std::string>& names = options_.is_shared ? request.fingerprints : request.devices;
    names.push_back(options_.is_shared ? device->fingerprint() : device->name());
  }
  return request;
}

std::vector<TuningDevice*> JobQueue::DevicesFor(const v1::TuningJob& job) const {
  std::vector<TuningDevice*> devices;
  if (options_.is_shared) {
    for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
      const bool fits = device->fingerprint() == job.key().device_fingerprint();
      if (fits) devices.push_back(device.get());
    }
    return devices;
  }
  for (const std::string& name : job.devices()) {
    if (const Result<TuningDevice*> device = catalogue_.Find(name); device.ok()) {
      devices.push_back(*device);
    }
  }
  return devices;
}

void JobQueue::NoteLease(int64_t asked_ns) {
  lease_until_ns_ = asked_ns + absl::ToInt64Nanoseconds(options_.lease);
  absl::MutexLock lock(&mutex_);
  has_news_ = true;  // jobs may begin again
}

void JobQueue::WatchLease() {
  absl::MutexLock lock(&mutex_);
  while (!is_draining_) {
    mutex_.AwaitWithTimeout(absl::Condition(&is_draining_), kLookAtLease);
    if (is_draining_ || !IsLeaseOver()) continue;
    for (const std::shared_ptr<Job>& job : running_) {
      if (job->stop_reason != StopReason::kNone) continue;
      spdlog::warn("job={} stops: the database was not heard of for the time of its lease",
                   job->number);
      StopRunning(job, StopReason::kRequeue);
    }
  }
}

void JobQueue::ClaimNew() {
  ClaimRequest request;
  {
    absl::ReaderMutexLock lock(&mutex_);
    const bool has_begun = begun_.has_value() && begun_->ok();
    if (!options_.is_shared || !has_begun || is_draining_ || IsLeaseOver()) return;
    for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
      // One that helps another daemon comes back for a job of this one.
      const bool is_helping = helper_ != nullptr && helper_->IsHelping(*device);
      if (!device->IsFree() && !is_helping) continue;
      ++request.limit;
      request.fingerprints.push_back(device->fingerprint());
    }
    request.limit -= static_cast<int>(Waiting().size());
  }
  if (request.limit <= 0) return;
  const auto take = [&]() -> Status {
    MDH_ASSIGN_OR_RETURN(const std::vector<ClaimedJob> claimed, store_.ClaimJobs(Lease(), request));
    MDH_RETURN_IF_ERROR(TakeUp(claimed));
    for (const ClaimedJob& job : claimed) {
      Fulfil(job);
    }
    return absl::OkStatus();
  };
  if (const Status taken = take(); !taken.ok()) {
    spdlog::error("new jobs: {}", std::string(taken.message()));
  }
}

void JobQueue::LookAtAwaited() {
  std::vector<std::pair<std::shared_ptr<Job>, std::vector<int64_t>>> waiting;
  {
    absl::ReaderMutexLock lock(&mutex_);
    for (const std::shared_ptr<Job>& job : queued_) {
      if (job->awaits_others) waiting.emplace_back(job, AwaitedElsewhere(*job));
    }
  }
  for (const auto& [job, numbers] : waiting) {
    const bool have_ended = std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) {
      const Result<v1::TuningJob> other = store_.GetJob(number);
      return other.ok() ? HasEnded(*other) : absl::IsNotFound(other.status());
    });
    if (!have_ended) continue;
    absl::MutexLock lock(&mutex_);
    job->awaits_others = false;
    has_news_ = true;
  }
}

std::vector<int64_t> JobQueue::AwaitedElsewhere(const Job& job) const {
  std::vector<int64_t> numbers;
  for (const std::string& name : job.proto.awaited_jobs()) {
    const Result<int64_t> number = ParseJobName(name);
    if (number.ok() && Find(*number) == nullptr) numbers.push_back(*number);
  }
  return numbers;
}

void JobQueue::HandOver(const Job& job) {
  const auto hand_over = [&]() -> Status {
    MDH_RETURN_IF_ERROR(store_.UpdateJob(job.claim, job.proto));
    // In two steps: who takes it in between has it. A lease of no time, and then nobody's.
    MDH_RETURN_IF_ERROR(
        store_.ClaimJobs({.owner = options_.owner}, {.takes_own = true, .number = job.number})
            .status());
    return store_.ClaimJobs({}, {.number = job.number}).status();
  };
  if (const Status done = hand_over(); !done.ok()) {
    spdlog::error("job={} is not handed over: {}", job.number, std::string(done.message()));
    return;
  }
  spdlog::info("job={} is for {}, which this daemon has not: another one may take it", job.number,
               absl::StrJoin(job.proto.devices(), ", "));
}

void JobQueue::RenewLeases() {
  std::vector<std::shared_ptr<Job>> believed;
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (!begun_.has_value() || !begun_->ok() || is_draining_) return;
    for (const auto& [number, job] : by_number_) believed.push_back(job);
  }
  const int64_t asked_ns = LeaseClock();
  const Result<std::vector<HeldJob>> held = store_.RenewLeases(Lease());
  if (!held.ok()) {
    spdlog::error("leases of jobs: {}", std::string(held.status().message()));
    return;
  }
  NoteLease(asked_ns);
  LoseOthers(believed, *held);
  if (const Status more = TakeUpMore(*held); !more.ok()) {
    spdlog::error("jobs of others: {}", std::string(more.message()));
  }
  for (const HeldJob& job : *held) {
    Fulfil(job);
  }
  ClaimNew();
}

void JobQueue::LoseOthers(const std::vector<std::shared_ptr<Job>>& jobs,
                          const std::vector<HeldJob>& held) {
  absl::MutexLock lock(&mutex_);
  for (const std::shared_ptr<Job>& job : jobs) {
    const bool is_held = std::any_of(
        held.begin(), held.end(), [&](const HeldJob& other) { return other.claim == job->claim; });
    if (is_held) continue;
    AwaitWritten(*job);
    // The end of those is in the store, though not here yet.
    const bool has_ended = job->is_finished || job->stop_reason == StopReason::kCancel;
    if (!has_ended && !job->is_lost) Lose(job);
  }
}

void JobQueue::Lose(const std::shared_ptr<Job>& job) {
  spdlog::warn("job={} was taken over by another daemon", job->number);
  job->is_lost = true;
  by_number_.erase(job->number);
  unsaved_.erase(job->number);
  const auto active = by_key_.find(TwinIdOf(job->proto));
  if (active != by_key_.end() && active->second == job) by_key_.erase(active);
  for (auto* jobs : {&queued_, &paused_}) {
    jobs->erase(std::remove(jobs->begin(), jobs->end(), job), jobs->end());
  }
  has_all_unfinished_ = false;
  if (job->is_running) StopRunning(job, StopReason::kLost);
}

Status JobQueue::TakeUpMore(const std::vector<HeldJob>& held) {
  std::vector<ClaimRequest> requests;
  {
    absl::ReaderMutexLock lock(&mutex_);
    // What is just being created is known in a moment.
    if (!creations_.empty() || is_draining_) return absl::OkStatus();
    for (const HeldJob& job : held) {
      if (by_number_.contains(job.claim.number)) continue;
      requests.push_back({.takes_own = true, .number = job.claim.number});
    }
  }
  if (options_.is_shared) {
    requests.push_back(Claimable());
    requests.back().leaves_new = true;
  }
  for (const ClaimRequest& request : requests) {
    MDH_ASSIGN_OR_RETURN(const std::vector<ClaimedJob> claimed, store_.ClaimJobs(Lease(), request));
    MDH_RETURN_IF_ERROR(TakeUp(claimed));
    for (const ClaimedJob& job : claimed) {
      Fulfil(job);
    }
  }
  return absl::OkStatus();
}

void JobQueue::Fulfil(const HeldJob& held) {
  if (!held.more.empty()) FulfilMore(held);
  if (held.wish == JobWish::kNone) return;
  const int64_t number = held.claim.number;
  {
    absl::MutexLock lock(&mutex_);
    const std::shared_ptr<Job> job = Find(number);
    if (job == nullptr || job->claim != held.claim) return;
    AwaitWritten(*job);
    job->heard = held.wish;
  }
  const Result<v1::TuningJob> done = ChangeJob(number, held.wish);
  if (!done.ok()) spdlog::error("job={} {}", number, std::string(done.status().message()));
  absl::MutexLock lock(&mutex_);
  const std::shared_ptr<Job> job = Find(number);
  if (job == nullptr) return;
  AwaitWritten(*job);
  // It was so already, and is wanted no more.
  if (job->heard == held.wish) Write(*job, ToStore(job->proto, job->stop_reason)).IgnoreError();
}

Result<v1::TuningProgress> JobQueue::ProgressElsewhere(int64_t number) {
  {
    absl::MutexLock lock(&seen_mutex_);
    const auto seen = seen_.find(number);
    if (seen != seen_.end() && NowNs() < seen->second.asked_ns + kLookElsewhere) {
      return seen->second.progress;
    }
  }
  // Those who watch share a thread, where one who waits holds up the others.
  if (store_.age() > kAwayFor) {
    return WithRetry(absl::UnavailableError("the database does not answer; the job goes on"),
                     absl::Seconds(1));
  }
  SeenJob now = {NowNs()};
  Result<v1::TuningJob> stored = store_.GetJob(number);
  if (stored.ok()) {
    now.progress = std::move(*stored->mutable_progress());
  } else {
    now.progress = stored.status();
  }
  absl::MutexLock lock(&seen_mutex_);
  if (seen_.size() >= kMostSeen) seen_.clear();
  seen_[number] = now;
  return now.progress;
}

}  // namespace mdh
