// The workers of the queue: which job begins, and how it runs to its end.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/exhaustion.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/search_effort.h"
#include "server/jobs/tuning_request.h"
#include "server/operate/log_context.h"
#include "server/records/kernel_key.h"
#include "server/records/timestamp.h"
#include "server/store/change_cursor.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Even a job whose time is over gets to measure what it had found.
constexpr int64_t kLeastBudgetNs = 1'000'000'000;

// Devices that measure trials of it, of whichever daemon.
int64_t CountMeasuring(const Job& job) {
  return static_cast<int64_t>(CountHeld(job)) + std::ssize(job.helpers);
}

// The better of two times, of which 0 is none.
int64_t BetterTime(int64_t a, int64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// The options of a run that follows others.
v1::TuningOptions OptionsAfter(const Job& job) {
  v1::TuningOptions options = job.options();
  const v1::TuningProgress& before = job.before;
  const auto devices = std::ssize(job.leases);
  int64_t left_ns = options.budget_ns() - before.elapsed_ns();
  if (options.max_device_time_ns() > 0) {
    left_ns = std::min(left_ns, (options.max_device_time_ns() - before.device_time_ns()) / devices);
  }
  const bool goes_on = before.elapsed_ns() > job.proto.continued_search_ns();
  options.set_budget_ns(std::max(goes_on ? kLeastBudgetNs : 1, left_ns));
  if (options.max_trials() > 0) {
    const int64_t made = job.proto.continued_trials() + before.trials();
    options.set_max_trials(std::max<int64_t>(1, options.max_trials() - made));
  }
  return options;
}

}  // namespace

void JobQueue::Work() {
  while (true) {
    std::shared_ptr<Job> job;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this] { return is_draining_ || has_news_; };
      mutex_.AwaitWithTimeout(absl::Condition(&has_work), UntilNextDue());
      if (is_draining_) return;
      has_news_ = false;
      job = StartNext();
      // Another worker looks whether there is more.
      if (job != nullptr) {
        has_news_ = true;
      } else {
        LendFreeDevices();
      }
    }
    if (job != nullptr) RunJob(job);
  }
}

absl::Duration JobQueue::UntilNextDue() const {
  absl::Duration shortest = absl::InfiniteDuration();
  const int64_t now_ns = NowNs();
  for (const std::shared_ptr<Job>& job : queued_) {
    if (job->not_before_ns <= now_ns) continue;
    shortest = std::min(shortest, absl::Nanoseconds(job->not_before_ns - now_ns));
  }
  return shortest;
}

std::shared_ptr<Job> JobQueue::StartNext() {
  std::vector<TuningDevice*> free;
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    if (device->IsFree()) free.push_back(device.get());
  }
  if (free.empty() || IsLeaseOver()) return nullptr;
  std::vector<std::shared_ptr<Job>> ready;
  std::vector<WaitingJob> waiting;
  const int64_t now_ns = NowNs();
  for (const std::shared_ptr<Job>& job : queued_) {
    if (job->is_being_written || job->not_before_ns > now_ns || IsAwaiting(*job)) continue;
    ready.push_back(job);
    waiting.push_back(ToWaiting(*job));
  }
  const std::optional<Assignment> next = NextAssignment(waiting, turns_, free);
  if (!next) return nullptr;
  const std::shared_ptr<Job> job = ready[next->job];
  // Whole kernels are compared on one device.
  const size_t most = std::holds_alternative<Pipeline>(job->computation) ? 1 : next->devices.size();
  for (TuningDevice* device : next->devices) {
    if (job->leases.size() == most) break;
    // Measuring its peaks may have begun in between.
    if (!device->TryHold(job->proto.name())) continue;
    job->leases.push_back(std::make_unique<DeviceLease>(*device, /*joins=*/false, &job->places));
  }
  if (job->leases.empty()) return nullptr;
  NameRunningDevices(*job);
  queued_.erase(std::find(queued_.begin(), queued_.end(), job));
  running_.push_back(job);
  job->is_running = true;
  turns_.Take(job->source);
  return job;
}

void JobQueue::LendFreeDevices() {
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    if (!device->IsFree()) continue;
    Job* poorest = nullptr;
    for (const std::shared_ptr<Job>& job : running_) {
      if (!CanGetMore(*job) || !MayUse(*job, *device)) continue;
      if (poorest == nullptr || CountHeld(*job) < CountHeld(*poorest)) poorest = job.get();
    }
    if (poorest == nullptr || !device->TryHold(poorest->proto.name())) continue;
    poorest->leases.push_back(
        std::make_unique<DeviceLease>(*device, /*joins=*/true, &poorest->places));
    poorest->joining.push_back(poorest->leases.back().get());
    NameRunningDevices(*poorest);
  }
}

void JobQueue::ShareDevices() {
  const bool can_share = std::any_of(running_.begin(), running_.end(),
                                     [](const auto& job) { return CountHeld(*job) > 1; });
  // Also because looking at every waiting job takes a while when there are thousands.
  if (!can_share) return;
  std::vector<TuningDevice*> coming;  // free, or soon so
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) {
    if (device->IsFree()) coming.push_back(device.get());
  }
  for (const std::shared_ptr<Job>& job : running_) {
    for (const std::unique_ptr<DeviceLease>& lease : job->leases) {
      if (lease->is_revoked()) coming.push_back(&lease->held());
    }
  }
  for (const WaitingJob& waiting : Waiting()) {
    const auto own = std::find_if(coming.begin(), coming.end(),
                                  [&](TuningDevice* device) { return MayUse(waiting, *device); });
    if (own != coming.end()) {
      coming.erase(own);
      continue;
    }
    Job* richest = nullptr;
    DeviceLease* richest_has = nullptr;
    size_t most = 1;
    for (const std::shared_ptr<Job>& job : running_) {
      for (const std::unique_ptr<DeviceLease>& lease : job->leases) {
        if (lease->is_revoked() || !MayUse(waiting, lease->held())) continue;
        if (CountHeld(*job) <= most) continue;
        most = CountHeld(*job);
        richest = job.get();
        richest_has = lease.get();
      }
    }
    if (richest_has == nullptr) continue;
    richest_has->Revoke();
    NameRunningDevices(*richest);
  }
}

void JobQueue::RunJob(const std::shared_ptr<Job>& job) {
  const LogContext context("job", absl::StrCat(job->number));
  {
    absl::MutexLock lock(&mutex_);
    AwaitWritten(*job);
    const absl::Time now = options_.now();
    if (!job->proto.has_start_time() && options_.metrics != nullptr) {
      options_.metrics->CountStart(now - FromProto(job->proto.create_time()));
    }
    ChangeAnyway(job, [&](v1::TuningJob& proto) {
      proto.set_state(v1::TUNING_JOB_STATE_RUNNING);
      if (!proto.has_start_time()) *proto.mutable_start_time() = ToProto(now);
      v1::TuningProgress& step = *proto.mutable_progress();
      step.set_remaining_ns(
          RemainingTime(proto.options(), step.trials(), job->before.elapsed_ns()));
      step.clear_latest_reason();
    });
  }
  const Result<v1::TuningRecord> record = OrExhausted([&]() -> Result<v1::TuningRecord> {
    MDH_RETURN_IF_ERROR(TakeNewCompilers(job));
    const auto* const pipeline = std::get_if<Pipeline>(&job->computation);
    return pipeline == nullptr ? Search(*job) : MeasureWhole(*job, *pipeline);
  });
  {
    absl::MutexLock lock(&mutex_);
    job->is_searching = false;
  }
  Status health;
  for (DeviceLease* lease : LeasesOf(*job)) health.Update(lease->CheckHealth());
  if (IsRefuted(record.status())) WithdrawProvisional(job->proto.key());
  {
    // Others can have the devices while its end is written.
    std::vector<std::unique_ptr<DeviceLease>> leases;  // released after the lock is
    absl::MutexLock lock(&mutex_);
    leases.swap(job->leases);
    job->joining.clear();
  }
  absl::MutexLock lock(&mutex_);
  EndRun(job, record, health);
}

void JobQueue::EndRun(const std::shared_ptr<Job>& job, const Result<v1::TuningRecord>& record,
                      const Status& health) {
  AwaitWritten(*job);
  has_news_ = true;
  if (job->is_lost) return SetAside(job);
  // Settled with what follows.
  const StopReason reason = std::exchange(job->stop_reason, StopReason::kNone);
  const bool is_cancelled = reason == StopReason::kCancel;
  const bool is_interrupted = reason != StopReason::kNone && !is_cancelled;
  const bool has_failed = !record.ok() && !absl::IsCancelled(record.status());
  const bool has_died = has_failed && !health.ok();
  const bool had_lack = has_failed && IsLack(record.status());
  const bool can_go_on = has_died || had_lack;
  if (is_interrupted && (!has_failed || can_go_on)) {
    ChangeAnyway(job, Waits(reason == StopReason::kPause ? v1::TUNING_JOB_STATE_PAUSED
                                                         : v1::TUNING_JOB_STATE_QUEUED));
    return SetAside(job);
  }
  if (can_go_on && !is_cancelled && job->failed_runs + 1 < options_.max_runs) {
    // A device that died is noticed when it lives again.
    return has_died ? Requeue(job, health, absl::ZeroDuration())
                    : Requeue(job, record.status(),
                              options_.lack_pause * (int64_t{1} << job->failed_runs));
  }
  if (record.ok() && reason == StopReason::kNone && job->told_extensions != job->extensions) {
    // The request for more came when the search was over already.
    ChangeAnyway(job, Waits(v1::TUNING_JOB_STATE_QUEUED));
    return SetAside(job);
  }
  if (record.ok()) {
    const std::string shared_cursor = SharedCursor(store_);
    ChangeAnyway(
        job, Ended(is_cancelled ? v1::TUNING_JOB_STATE_CANCELLED : v1::TUNING_JOB_STATE_SUCCEEDED,
                   absl::OkStatus(), [&](v1::TuningJob& proto) {
                     proto.set_record(record->name());
                     proto.set_min_cursor(shared_cursor);
                     // The search ends with a measurement on new inputs, which is what counts.
                     proto.mutable_progress()->set_best_time_ns(record->time_ns());
                     proto.mutable_progress()->set_best_parameters(record->parameters());
                   }));
  } else if (is_cancelled || !has_failed) {
    // What was acknowledged holds, whatever the search has met meanwhile.
    ChangeAnyway(job, Ended(v1::TUNING_JOB_STATE_CANCELLED, absl::OkStatus()));
  } else {
    ChangeAnyway(job, Ended(v1::TUNING_JOB_STATE_FAILED, record.status()));
  }
  Retire(job);
}

void JobQueue::WithdrawProvisional(const v1::KernelKey& key) {
  const Result<v1::TuningRecord> record = lookup_table_.FindRecord(key);
  if (!record.ok() || !record->is_provisional()) return;
  unsaved_work_.Withdraw(*record);
  const Status saved = unsaved_work_.Save(store_);
  if (!saved.ok()) spdlog::error("{}: {}", record->name(), std::string(saved.message()));
}

Status JobQueue::TakeNewCompilers(const std::shared_ptr<Job>& job) {
  for (DeviceLease* lease : LeasesOf(*job)) {
    TuningDevice& device = lease->held();
    if (!device.HasNewCompilers()) continue;
    MDH_RETURN_IF_ERROR(device.CheckHealth());
    lookup_table_.SetEnvironments(catalogue_.Environments());
  }
  absl::MutexLock lock(&mutex_);
  const KeyEnvironment& environment = job->devices.front()->environment();
  if (job->proto.key().compiler() == environment.compiler) return absl::OkStatus();
  const auto known = by_key_.find(TwinIdOf(job->proto));
  if (known != by_key_.end() && known->second == job) by_key_.erase(known);
  AwaitWritten(*job);
  ChangeAnyway(job, [compiler = environment.compiler](v1::TuningJob& changed) {
    changed.mutable_key()->set_compiler(compiler);
  });
  if (!job->is_lost) by_key_.try_emplace(TwinIdOf(job->proto), job);
  return absl::OkStatus();
}

Result<v1::TuningRecord> JobQueue::Search(Job& job) {
  v1::KernelKey key;
  v1::TuningOptions options;
  std::string resume_from;
  SearchEffort made_before;
  bool continues = false;
  bool is_last_run = false;
  {
    absl::MutexLock lock(&mutex_);
    is_last_run = job.failed_runs + 1 >= options_.max_runs;
    key = job.proto.key();
    resume_from = job.before.best_parameters();
    options = OptionsAfter(job);
    job.told_extensions = job.extensions;
    made_before = {.time_ns = job.before.elapsed_ns(),
                   .trials = job.proto.continued_trials() + job.before.trials()};
    continues = job.proto.continued_search_ns() > 0;
    job.is_searching = true;
    has_news_ = true;  // there may be devices for it
  }
  Result<JournalSummary> summary = ReadJournal(job.number, continues ? &key : nullptr);
  if (!summary.ok()) return absl::UnavailableError(summary.status().message());
  TrialJournal journal(store_, job.claim, key, *std::move(summary), options_.now);
  std::unique_ptr<HelpedSearch> helped = AskForHelp(job, key, options);
  const JobSearch search = {
      .expression = std::get<Expression>(job.computation),
      .options = options,
      .key = key,
      .leases = [&] { return LeasesOf(job); },
      .joining = [&] { return TakeJoining(job, helped.get()); },
      .resume_from = resume_from,
      .made_before = made_before,
      .extension = [&] { return TakeExtension(job); },
      .on_step = [&](const SearchStep& step) { PublishStep(job, step); },
      .on_trial = [&](const TuningProgress& progress) { PublishTrial(job, progress, journal); },
      .cancelled = job.is_stopping,
      .is_interrupted =
          [&] {
            absl::ReaderMutexLock lock(&mutex_);
            return job.stop_reason != StopReason::kNone && job.stop_reason != StopReason::kCancel;
          },
      .is_last_run = is_last_run,
      .journal = &journal,
      .helped = helped.get()};
  Result<v1::TuningRecord> record =
      SearchAndStore(search, {store_, lookup_table_, catalogue_, unsaved_work_, options_.tune,
                              options_.measure_in_turns, options_.now, options_.metrics});
  unsaved_work_.Put(job.claim, journal.TakeUnwritten());
  helped.reset();
  absl::MutexLock lock(&mutex_);
  job.helpers.clear();
  return record;
}

Result<JournalSummary> JobQueue::ReadJournal(int64_t number, const v1::KernelKey* key) {
  MDH_ASSIGN_OR_RETURN(const std::vector<v1::TuningTrial> trials, store_.ListTrials(number, 0, 0));
  JournalSummary summary = SummarizeTrials(trials);
  if (key != nullptr) MDH_RETURN_IF_ERROR(AddEarlierJobs(store_, number, *key, summary));
  return summary;
}

std::vector<DeviceLease*> JobQueue::LeasesOf(const Job& job) const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<DeviceLease*> leases;
  for (const std::unique_ptr<DeviceLease>& lease : job.leases) leases.push_back(lease.get());
  return leases;
}

std::vector<Runner*> JobQueue::TakeJoining(Job& job, HelpedSearch* helped) {
  std::vector<Runner*> runners;
  if (helped != nullptr) runners = helped->TakeJoining();
  absl::MutexLock lock(&mutex_);
  runners.insert(runners.end(), job.joining.begin(), job.joining.end());
  job.joining.clear();
  return runners;
}

std::optional<v1::TuningOptions> JobQueue::TakeExtension(Job& job) {
  absl::MutexLock lock(&mutex_);
  if (job.told_extensions == job.extensions) return std::nullopt;
  job.told_extensions = job.extensions;
  return OptionsAfter(job);
}

void JobQueue::PublishStep(Job& job, const SearchStep& search) {
  absl::MutexLock lock(&mutex_);
  v1::TuningProgress step = job.proto.progress();
  step.set_phase(static_cast<v1::TuningPhase>(search.phase));
  step.set_elapsed_ns(std::max(step.elapsed_ns(), job.before.elapsed_ns() + search.elapsed_ns));
  step.set_device_time_ns(step.device_time_ns() +
                          (step.elapsed_ns() - job.proto.progress().elapsed_ns()) *
                              CountMeasuring(job));
  step.set_remaining_ns(search.remaining_ns > 0
                            ? search.remaining_ns
                            : RemainingTime(job.options(), step.trials(), step.elapsed_ns()));
  step.clear_latest_reason();
  Publish(job, std::move(step));
}

void JobQueue::PublishTrial(Job& job, const TuningProgress& progress, TrialJournal& journal) {
  v1::TuningProgress step;
  step.set_phase(v1::TUNING_PHASE_MEASURING);
  {
    absl::ReaderMutexLock lock(&mutex_);
    const v1::TuningProgress& before = job.before;
    step.set_trials(before.trials() + progress.trials);
    step.set_failed_trials(before.failed_trials() + progress.failed_trials);
    step.set_best_time_ns(BetterTime(before.best_time_ns(), progress.best_ns));
    step.set_best_parameters(before.best_parameters());
    step.set_elapsed_ns(before.elapsed_ns() + progress.elapsed_ns);
    // Since the last trial, by as many devices as it has now.
    const v1::TuningProgress& last = job.proto.progress();
    step.set_device_time_ns(last.device_time_ns() +
                            (step.elapsed_ns() - last.elapsed_ns()) * CountMeasuring(job));
    step.set_remaining_ns(RemainingTime(job.options(), step.trials(), step.elapsed_ns()));
  }
  if (progress.best != nullptr && step.best_time_ns() == progress.best_ns) {
    step.set_best_parameters(ToText(*progress.best));
  }
  const Measurement& latest = progress.trial->measurement;
  step.set_latest_outcome(std::string(Name(latest.outcome)));
  step.set_latest_reason(latest.reason);
  const std::string& identity = progress.trial->identity;
  const std::string place = identity.empty() ? "" : job.places.Take(KernelDigest(identity));
  // Before anybody hears of it.
  journal.End(*progress.trial, step, place);
  absl::MutexLock lock(&mutex_);
  if (options_.metrics != nullptr) {
    if (IsOfOtherDaemon(place)) options_.metrics->CountHelpGot();
    options_.metrics->CountTrial(
        step.latest_outcome(),
        absl::Nanoseconds(step.device_time_ns() - job.proto.progress().device_time_ns()));
  }
  Publish(job, std::move(step));
  if (options_.is_shared) StoreProgress(job);
}

void JobQueue::Requeue(const std::shared_ptr<Job>& job, const Status& reason,
                       absl::Duration pause) {
  ++job->failed_runs;
  const bool is_lack = pause > absl::ZeroDuration();
  const std::string text = absl::StrCat(is_lack ? "tries again soon: " : "waits for a device: ",
                                        std::string(reason.message()));
  spdlog::warn("job={} {}", job->number, text);
  ChangeAnyway(job, [&](v1::TuningJob& proto) {
    proto.set_state(v1::TUNING_JOB_STATE_QUEUED);
    proto.mutable_progress()->set_latest_reason(text);
  });
  SetAside(job);
  if (job->is_lost) return;
  job->not_before_ns = NowNs() + absl::ToInt64Nanoseconds(pause);
  // It was at the front before.
  queued_.pop_back();
  queued_.push_front(job);
  ShareDevices();
}

Result<TuningResult> TuneOnRunners(const Expression& expression, absl::Span<Runner* const> runners,
                                   const TuningOptions& options,
                                   const std::function<void(const TuningProgress&)>& on_trial,
                                   const std::atomic<bool>& cancelled) {
  // A runner that knows its peaks fails what is faster than it can be. They are measured once.
  for (Runner* runner : runners) {
    if (!cancelled) runner->Peaks().IgnoreError();
  }
  return Tune(expression, runners, options, on_trial, cancelled);
}

}  // namespace mdh
