#include "server/help/trial_helper.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/start_thread.h"
#include "server/devices/device_names.h"
#include "server/help/helped_search.h"
#include "server/records/resource_names.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/process/clock.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/trial_limits.h"

namespace mdh {
namespace {

// A helper that nothing is offered to looks so often, without news.
constexpr absl::Duration kLookForOffers = absl::Seconds(1);
// A store that is not there is asked so often.
constexpr absl::Duration kExchangeAgain = absl::Milliseconds(500);

// Before names of daemons.
constexpr const char* kNodes = "nodes/";

MeasureOptions OptionsIn(const OfferedTrial& trial) {
  v1::RunnerMeasureOptions options;
  options.ParseFromString(trial.options);
  return FromMessage(options);
}

}  // namespace

bool IsOfOtherDaemon(std::string_view device) { return device.starts_with(kNodes); }

Result<std::unique_ptr<TrialHelper>> TrialHelper::Start(TrialBoard& board,
                                                        DeviceCatalogue& catalogue,
                                                        TrialHelperOptions options) {
  std::unique_ptr<TrialHelper> helper(new TrialHelper(board, catalogue, std::move(options)));
  MDH_ASSIGN_OR_RETURN(std::thread watching, StartThread([raw = helper.get()] { raw->Watch(); }));
  helper->threads_.push_back(std::move(watching));
  for (const std::unique_ptr<TuningDevice>& device : catalogue.devices()) {
    MDH_ASSIGN_OR_RETURN(std::thread thread, StartThread([raw = helper.get(), one = device.get()] {
                           raw->Work(*one);
                         }));
    helper->threads_.push_back(std::move(thread));
  }
  return helper;
}

TrialHelper::~TrialHelper() {
  is_ending_ = true;
  {
    absl::MutexLock lock(&mutex_);
    for (BoardWatch* watch : idle_) watch->Wake();
  }
  for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) TakeBack(*device);
  for (std::thread& thread : threads_) thread.join();
}

bool TrialHelper::IsHelping(const TuningDevice& device) const {
  absl::MutexLock lock(&mutex_);
  return helping_.contains(&device);
}

bool TrialHelper::CanHelp(const TuningDevice& device) const {
  return !is_ending_ && device.IsFree() && !device.HasNewCompilers() && !options_.is_wanted(device);
}

void TrialHelper::Work(TuningDevice& device) {
  std::unique_ptr<BoardWatch> watch;
  while (!is_ending_) {
    if (watch == nullptr) {
      Result<std::unique_ptr<BoardWatch>> started = board_.WatchSeat(0);
      if (!started.ok()) {
        spdlog::error("device={} helps nobody: {}", device.name(),
                      std::string(started.status().message()));
        return;
      }
      watch = *std::move(started);
      absl::MutexLock lock(&mutex_);
      idle_.push_back(watch.get());
    }
    if (CanHelp(device) && HelpSomebody(device)) continue;
    watch->Wait(options_.find);
  }
  absl::MutexLock lock(&mutex_);
  std::erase(idle_, watch.get());
}

bool TrialHelper::HelpSomebody(TuningDevice& device) {
  const Result<std::vector<HelpedJob>> jobs =
      board_.Find(EnvironmentOfTrials(device.environment()));
  if (!jobs.ok()) return false;
  std::vector<const HelpedJob*> fitting;
  for (const HelpedJob& job : *jobs) {
    if (job.owner != options_.daemon && !IsLeftAlone(job, device)) fitting.push_back(&job);
  }
  if (fitting.empty()) return false;
  // Any of them, so that not all help the same one.
  HelpWith(device, *fitting[static_cast<size_t>(NewSeat()) % fitting.size()]);
  return true;
}

void TrialHelper::HelpWith(TuningDevice& device, const HelpedJob& job) {
  if (!device.TryHold(JobName(job.number))) return;
  DeviceLease lease(device, /*joins=*/true);
  {
    absl::MutexLock lock(&mutex_);
    helping_[&device] = {&lease};
  }
  const Status status = is_ending_ ? Cancelled("") : MeasureFor(job, device, lease);
  {
    absl::MutexLock lock(&mutex_);
    helping_.erase(&device);
  }
  if (lease.is_revoked() || absl::IsAborted(status)) {
    spdlog::info("device={} helps {} no more", device.name(), JobName(job.number));
    return;
  }
  if (status.ok()) return;
  LeaveAlone(job, device);
  spdlog::warn("device={} cannot help {} of {}: {}", device.name(), JobName(job.number), job.owner,
               std::string(status.message()));
  // One that has died is noticed, and looked after.
  lease.CheckHealth().IgnoreError();
}

Status TrialHelper::MeasureFor(const HelpedJob& job, TuningDevice& device, DeviceLease& lease) {
  MDH_ASSIGN_OR_RETURN(const OfferedKernels kernels,
                       OfferedKernels::Create(job.problem, device.description()));
  // As much of a reference as the owner has time for.
  if (job.time_left > absl::ZeroDuration()) {
    lease.SetDeadline(NowNs() + absl::ToInt64Nanoseconds(job.time_left));
  }
  MDH_RETURN_IF_ERROR(lease.SetProblem(kernels.expression(), kernels.seed(), kernels.numerics()));
  lease.SetDeadline(0);
  MDH_ASSIGN_OR_RETURN(
      const int64_t seat,
      board_.Join(job, DeviceOfNode(NodeName(options_.daemon), device.name()), options_.lease));
  spdlog::info("device={} helps {} of {}", device.name(), JobName(job.number), job.owner);
  const Result<std::unique_ptr<BoardWatch>> watch = board_.WatchSeat(seat);
  Status status = watch.status();
  if (watch.ok()) {
    SetSeat(device, seat, watch->get());
    status = MeasureOffers(kernels, seat, **watch, device, lease);
    SetSeat(device, 0, nullptr);
  }
  // Else it is given up when its lease is over.
  board_.Leave(seat).IgnoreError();
  return status;
}

void TrialHelper::SetSeat(const TuningDevice& device, int64_t seat, BoardWatch* watch) {
  absl::MutexLock lock(&mutex_);
  Help& help = helping_[&device];
  help.seat = seat;
  help.renewed_ns = NowNs();
  help.watch = watch;
}

Status TrialHelper::MeasureOffers(const OfferedKernels& kernels, int64_t seat, BoardWatch& watch,
                                  TuningDevice& device, DeviceLease& lease) {
  const int most = TrialLimits::For(device.description()).lookahead;
  std::vector<int64_t> in_work;
  std::vector<MeasuredTrial> measured;
  while (!lease.is_revoked()) {
    // A job of this daemon comes first.
    if (options_.is_wanted(device)) return Aborted("the device is wanted");
    // What was measured with another compiler says nothing of the owner's kernels.
    if (device.HasNewCompilers()) return Aborted("a compiler was replaced");
    const int room = most - static_cast<int>(in_work.size());
    const Result<std::vector<OfferedTrial>> offers =
        board_.Exchange(seat, options_.lease, measured, in_work, room);
    if (offers.ok()) {
      measured.clear();
      for (const OfferedTrial& offer : *offers) {
        MDH_ASSIGN_OR_RETURN(const Kernel kernel, options_.derive(kernels, offer));
        MDH_RETURN_IF_ERROR(lease.Submit(offer.number, kernel, OptionsIn(offer)));
        in_work.push_back(offer.number);
      }
    } else if (!absl::IsUnavailable(offers.status())) {
      return offers.status();
    }
    if (in_work.empty()) {
      watch.Wait(offers.ok() ? kLookForOffers : kExchangeAgain);
      continue;
    }
    MDH_ASSIGN_OR_RETURN(const Runner::Finished finished, lease.Next());
    std::erase(in_work, finished.number);
    if (WasCancelled(finished.measurement)) return Unavailable("a trial was cut short");
    measured.push_back({seat, finished.number,
                        ToMessage(finished.number, finished.measurement).SerializeAsString()});
    options_.on_measured();
  }
  return Aborted("the device was taken back");
}

void TrialHelper::Watch() {
  while (!is_ending_) {
    for (const std::unique_ptr<TuningDevice>& device : catalogue_.devices()) LookAt(*device);
    absl::SleepFor(options_.look);
  }
}

void TrialHelper::LookAt(TuningDevice& device) {
  int64_t seat = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto help = helping_.find(&device);
    if (help == helping_.end()) return;
    const int64_t due_ns = help->second.renewed_ns + absl::ToInt64Nanoseconds(options_.renew);
    if (help->second.seat != 0 && NowNs() >= due_ns) {
      seat = help->second.seat;
      help->second.renewed_ns = NowNs();
    }
  }
  if (options_.is_wanted(device)) return TakeBack(device);
  if (seat == 0) return;
  const Result<std::vector<OfferedTrial>> renewed =
      board_.Exchange(seat, options_.lease, {}, {}, /*room=*/0);
  if (!absl::IsAborted(renewed.status())) return;
  // Nobody wants what it measures.
  absl::MutexLock lock(&mutex_);
  const auto help = helping_.find(&device);
  if (help != helping_.end() && help->second.seat == seat) help->second.lease->Revoke();
}

void TrialHelper::TakeBack(const TuningDevice& device) {
  absl::MutexLock lock(&mutex_);
  const auto help = helping_.find(&device);
  if (help == helping_.end()) return;
  help->second.lease->Revoke();
  if (help->second.watch != nullptr) help->second.watch->Wake();
}

void TrialHelper::LeaveAlone(const HelpedJob& job, const TuningDevice& device) {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ns = NowNs();
  std::erase_if(pauses_, [&](const Pause& pause) { return pause.until_ns <= now_ns; });
  pauses_.push_back(
      {&device, job.number, job.epoch, now_ns + absl::ToInt64Nanoseconds(options_.rest)});
}

bool TrialHelper::IsLeftAlone(const HelpedJob& job, const TuningDevice& device) const {
  absl::MutexLock lock(&mutex_);
  return std::ranges::any_of(pauses_, [&](const Pause& pause) {
    return pause.device == &device && pause.job == job.number && pause.epoch == job.epoch &&
           pause.until_ns > NowNs();
  });
}

}  // namespace mdh
