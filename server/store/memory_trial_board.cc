#include "server/store/memory_trial_board.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// What has been written since one looked last.
class BoardSignal {
 public:
  void Notify() {
    absl::MutexLock lock(&mutex_);
    is_set_ = true;
  }
  void Wait(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&is_set_), timeout);
    is_set_ = false;
  }

 private:
  absl::Mutex mutex_;
  bool is_set_ ABSL_GUARDED_BY(mutex_) = false;
};

class MemoryBoardWatch final : public BoardWatch {
 public:
  explicit MemoryBoardWatch(std::shared_ptr<BoardSignal> signal) : signal_(std::move(signal)) {}
  void Wait(absl::Duration timeout) override { signal_->Wait(timeout); }
  void Wake() override { signal_->Notify(); }

 private:
  const std::shared_ptr<BoardSignal> signal_;
};

Status NoSeat(int64_t seat) { return Aborted("seat ", seat, " of a helper is gone"); }

class MemoryTrialBoard final : public TrialBoard {
 public:
  explicit MemoryTrialBoard(std::function<Status(const JobClaim&)> check)
      : check_(std::move(check)) {}

  Status Announce(const HelpedJob& job) override;
  Result<News> Trade(const JobClaim& claim, absl::Span<const OfferedTrial> offers,
                     absl::Span<const MeasuredTrial> settled) override;
  Status End(const JobClaim& claim) override;
  Result<std::unique_ptr<BoardWatch>> WatchJob(int64_t number) override {
    return Watch({number, true});
  }
  Result<std::vector<HelpedJob>> Find(const std::string& environment) override;
  Result<int64_t> Join(const HelpedJob& job, const std::string& name,
                       absl::Duration lease) override;
  Result<std::vector<OfferedTrial>> Exchange(int64_t seat, absl::Duration lease,
                                             absl::Span<const MeasuredTrial> measured,
                                             absl::Span<const int64_t> in_work, int room) override;
  Status Leave(int64_t seat) override;
  Result<std::unique_ptr<BoardWatch>> WatchSeat(int64_t seat) override {
    return Watch({seat, false});
  }

 private:
  struct Offer {
    OfferedTrial trial;
    std::string measured = "";
  };
  struct Helper {
    int64_t job = 0;
    std::string name;
    int64_t until_ns = 0;  // on the clock of NowNs()
    std::map<int64_t, Offer> offers = {};
  };
  struct Announced {
    HelpedJob job;
    int64_t announced_ns = 0;
  };
  using Channel = std::pair<int64_t, bool>;  // a job, or a seat

  Result<std::unique_ptr<BoardWatch>> Watch(Channel channel) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    auto signal = std::make_shared<BoardSignal>();
    signals_.emplace(channel, signal);
    return std::make_unique<MemoryBoardWatch>(std::move(signal));
  }
  void Notify(Channel channel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto [first, last] = signals_.equal_range(channel);
    for (auto at = first; at != last;) {
      const std::shared_ptr<BoardSignal> signal = at->second.lock();
      if (signal != nullptr) signal->Notify();
      at = signal == nullptr ? signals_.erase(at) : std::next(at);
    }
  }
  void Remove(int64_t job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    jobs_.erase(job);
    for (auto at = helpers_.begin(); at != helpers_.end();) {
      const bool is_of_job = at->second.job == job;
      if (is_of_job) Notify({at->first, false});
      at = is_of_job ? helpers_.erase(at) : std::next(at);
    }
  }
  // The claim of the job that a seat is for. Errors: Aborted.
  Result<JobClaim> ClaimOf(int64_t seat) const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::function<Status(const JobClaim&)> check_;
  mutable absl::Mutex mutex_;
  std::map<int64_t, Announced> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Helper> helpers_ ABSL_GUARDED_BY(mutex_);
  std::multimap<Channel, std::weak_ptr<BoardSignal>> signals_ ABSL_GUARDED_BY(mutex_);
};

Status MemoryTrialBoard::Announce(const HelpedJob& job) {
  MDH_RETURN_IF_ERROR(check_({job.number, job.epoch}));
  absl::MutexLock lock(&mutex_);
  Remove(job.number);
  jobs_[job.number] = {job, NowNs()};
  Notify({0, false});
  return absl::OkStatus();
}

Result<TrialBoard::News> MemoryTrialBoard::Trade(const JobClaim& claim,
                                                 absl::Span<const OfferedTrial> offers,
                                                 absl::Span<const MeasuredTrial> settled) {
  MDH_RETURN_IF_ERROR(check_(claim));
  absl::MutexLock lock(&mutex_);
  const auto job = jobs_.find(claim.number);
  if (job == jobs_.end() || job->second.job.epoch != claim.epoch) {
    return NotFound("job ", claim.number, " asks for no help");
  }
  for (const MeasuredTrial& trial : settled) {
    const auto helper = helpers_.find(trial.seat);
    if (helper != helpers_.end()) helper->second.offers.erase(trial.number);
  }
  News news;
  for (auto at = helpers_.begin(); at != helpers_.end();) {
    auto& [seat, helper] = *at;
    if (helper.job == claim.number && helper.until_ns <= NowNs()) {
      at = helpers_.erase(at);
      continue;
    }
    if (helper.job == claim.number) news.helpers.push_back({seat, helper.name});
    ++at;
  }
  for (const OfferedTrial& offer : offers) {
    const auto helper = helpers_.find(offer.seat);
    if (helper == helpers_.end() || helper->second.job != claim.number) continue;
    helper->second.offers.try_emplace(offer.number, Offer{offer});
    Notify({offer.seat, false});
  }
  std::ranges::sort(news.helpers, [](const HelperSeat& a, const HelperSeat& b) {
    return std::tie(a.name, a.seat) < std::tie(b.name, b.seat);
  });
  for (const HelperSeat& seat : news.helpers) {
    for (const auto& [number, offer] : helpers_[seat.seat].offers) {
      if (!offer.measured.empty()) news.measured.push_back({seat.seat, number, offer.measured});
    }
  }
  return news;
}

Status MemoryTrialBoard::End(const JobClaim& claim) {
  absl::MutexLock lock(&mutex_);
  const auto job = jobs_.find(claim.number);
  if (job != jobs_.end() && job->second.job.epoch == claim.epoch) Remove(claim.number);
  return absl::OkStatus();
}

Result<std::vector<HelpedJob>> MemoryTrialBoard::Find(const std::string& environment) {
  std::vector<HelpedJob> found;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, announced] : jobs_) {
      if (announced.job.environment != environment) continue;
      found.push_back(announced.job);
      absl::Duration& left = found.back().time_left;
      if (left == absl::ZeroDuration()) continue;
      left = std::max(left - absl::Nanoseconds(NowNs() - announced.announced_ns),
                      absl::Nanoseconds(1));
    }
  }
  std::vector<HelpedJob> held;
  for (HelpedJob& job : found) {
    const Status status = check_({job.number, job.epoch});
    if (status.ok()) held.push_back(std::move(job));
    if (!status.ok() && !absl::IsAborted(status)) return status;
  }
  return held;
}

Result<int64_t> MemoryTrialBoard::Join(const HelpedJob& job, const std::string& name,
                                       absl::Duration lease) {
  MDH_RETURN_IF_ERROR(check_({job.number, job.epoch}));
  absl::MutexLock lock(&mutex_);
  const auto announced = jobs_.find(job.number);
  if (announced == jobs_.end() || announced->second.job.epoch != job.epoch) {
    return Aborted("job ", job.number, " asks for no help any more");
  }
  const int64_t seat = NewSeat();
  helpers_[seat] = {job.number, name, NowNs() + absl::ToInt64Nanoseconds(lease)};
  Notify({job.number, true});
  return seat;
}

Result<JobClaim> MemoryTrialBoard::ClaimOf(int64_t seat) const {
  absl::MutexLock lock(&mutex_);
  const auto helper = helpers_.find(seat);
  if (helper == helpers_.end() || helper->second.until_ns <= NowNs()) return NoSeat(seat);
  const auto job = jobs_.find(helper->second.job);
  if (job == jobs_.end()) return NoSeat(seat);
  return JobClaim{job->first, job->second.job.epoch};
}

Result<std::vector<OfferedTrial>> MemoryTrialBoard::Exchange(
    int64_t seat, absl::Duration lease, absl::Span<const MeasuredTrial> measured,
    absl::Span<const int64_t> in_work, int room) {
  MDH_ASSIGN_OR_RETURN(const JobClaim claim, ClaimOf(seat));
  MDH_RETURN_IF_ERROR(check_(claim));
  absl::MutexLock lock(&mutex_);
  const auto found = helpers_.find(seat);
  if (found == helpers_.end()) return NoSeat(seat);
  Helper& helper = found->second;
  helper.until_ns = NowNs() + absl::ToInt64Nanoseconds(lease);
  for (const MeasuredTrial& trial : measured) {
    const auto offer = helper.offers.find(trial.number);
    if (offer != helper.offers.end()) offer->second.measured = trial.measured;
  }
  if (!measured.empty()) Notify({helper.job, true});
  std::vector<OfferedTrial> taken;
  for (const auto& [number, offer] : helper.offers) {
    if (static_cast<int>(taken.size()) >= room) break;
    const bool is_in_work = std::ranges::find(in_work, number) != in_work.end();
    if (offer.measured.empty() && !is_in_work) taken.push_back(offer.trial);
  }
  return taken;
}

Status MemoryTrialBoard::Leave(int64_t seat) {
  absl::MutexLock lock(&mutex_);
  const auto helper = helpers_.find(seat);
  if (helper == helpers_.end()) return absl::OkStatus();
  Notify({helper->second.job, true});
  helpers_.erase(helper);
  return absl::OkStatus();
}

}  // namespace

int64_t NewSeat() {
  static thread_local std::mt19937_64 numbers{
      (static_cast<uint64_t>(std::random_device()()) << 32) ^ std::random_device()()};
  return static_cast<int64_t>(numbers() >> 1);
}

std::unique_ptr<TrialBoard> MakeMemoryTrialBoard(std::function<Status(const JobClaim&)> check) {
  return std::make_unique<MemoryTrialBoard>(std::move(check));
}

}  // namespace mdh
