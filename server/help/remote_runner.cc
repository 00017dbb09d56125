#include "server/help/remote_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/trial/verdict.h"
#include "tuner/process/clock.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

// The deadline may come nearer while one waits.
constexpr absl::Duration kLookAtDeadline = absl::Milliseconds(100);
// Of a measurement, which has some hundreds.
constexpr size_t kMostTimes = 100'000;

// nullopt: it is none.
std::optional<Measurement> MeasurementIn(const std::string& bytes) {
  v1::RunnerMeasured message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
  Measurement measurement = FromMessage(message);
  const auto outcome = message.outcome();
  const bool is_known = outcome >= static_cast<int>(TrialOutcome::kOk) &&
                        outcome <= static_cast<int>(TrialOutcome::kImplausible) &&
                        message.check() >= static_cast<int>(ResultCheck::kWhole) &&
                        message.check() <= static_cast<int>(ResultCheck::kNothing);
  if (!is_known || measurement.times_ns.size() > kMostTimes) return std::nullopt;
  const bool is_ok = measurement.outcome == TrialOutcome::kOk;
  const bool has_times =
      !measurement.times_ns.empty() &&
      std::ranges::all_of(measurement.times_ns, [](int64_t time_ns) { return time_ns > 0; });
  if (is_ok != has_times) return std::nullopt;
  return measurement;
}

}  // namespace

std::vector<OfferedTrial> RemoteRunner::TakeOffers() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(offers_, {});
}

std::vector<MeasuredTrial> RemoteRunner::TakeSettled() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(settled_, {});
}

void RemoteRunner::Deliver(const MeasuredTrial& trial) {
  absl::MutexLock lock(&mutex_);
  settled_.push_back({trial.seat, trial.number});
  const auto submitted = submitted_.find(trial.number);
  if (submitted == submitted_.end()) return;
  std::optional<Measurement> measurement = MeasurementIn(trial.measured);
  // Only who asks for the trial can give it up.
  if (measurement.has_value() && WasCancelled(*measurement)) measurement.reset();
  if (!measurement.has_value()) {
    measurement = Failed(TrialOutcome::kLaunchError,
                         absl::StrCat(options_.helper.name, " has said what is no measurement"));
  }
  ++measured_;
  if (options_.places != nullptr) options_.places->Note(submitted->second, options_.helper.name);
  submitted_.erase(submitted);
  finished_.push_back({trial.number, *std::move(measurement)});
}

void RemoteRunner::Go(const std::string& why) {
  absl::MutexLock lock(&mutex_);
  if (!gone_.has_value()) gone_ = why;
}

bool RemoteRunner::has_gone() const {
  absl::MutexLock lock(&mutex_);
  return gone_.has_value();
}

int64_t RemoteRunner::measured() const {
  absl::MutexLock lock(&mutex_);
  return measured_;
}

Status RemoteRunner::Gone() const {
  return FailedPrecondition("unhealthy: ", options_.helper.name, " ", *gone_);
}

Status RemoteRunner::SetProblem(const ComputationView&, uint64_t, const Numerics&) {
  absl::MutexLock lock(&mutex_);
  if (gone_.has_value()) return Gone();
  // The helper has it already, or would not be here.
  if (!std::exchange(has_problem_, true)) return absl::OkStatus();
  return FailedPrecondition("unhealthy: ", options_.helper.name,
                            " helps with the trials of one search and nothing else");
}

void RemoteRunner::SetDeadline(int64_t deadline_ns) {
  absl::MutexLock lock(&mutex_);
  deadline_ns_ = deadline_ns;
}

Status RemoteRunner::Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) {
  const std::string digest = KernelDigest(kernel);
  const std::optional<std::string> parameters = options_.parameters(digest);
  {
    absl::MutexLock lock(&mutex_);
    if (gone_.has_value()) return Gone();
    if (!has_problem_) return FailedPrecondition("no problem is set");
    if (!parameters.has_value()) {
      return FailedPrecondition("unhealthy: ", options_.helper.name,
                                " helps with trials of the search, which this kernel is none of");
    }
    submitted_[number] = digest;
    offers_.push_back({options_.helper.seat, number, *parameters, digest,
                       ToMessage(options).SerializeAsString()});
  }
  options_.on_change();
  return absl::OkStatus();
}

Result<Runner::Finished> RemoteRunner::Next() {
  absl::MutexLock lock(&mutex_);
  while (finished_.empty()) {
    if (gone_.has_value()) {
      submitted_.clear();
      return Gone();
    }
    if (submitted_.empty()) return FailedPrecondition("nothing is submitted");
    if (deadline_ns_ > 0 && NowNs() > deadline_ns_) CancelAll();
    const auto has_news = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return !finished_.empty() || gone_.has_value();
    };
    mutex_.AwaitWithTimeout(absl::Condition(&has_news), kLookAtDeadline);
  }
  Finished first = std::move(finished_.front());
  finished_.erase(finished_.begin());
  return first;
}

bool RemoteRunner::TakeBack(int64_t number) {
  {
    absl::MutexLock lock(&mutex_);
    if (submitted_.erase(number) == 0) return false;
    std::erase_if(offers_, [&](const OfferedTrial& offer) { return offer.number == number; });
    settled_.push_back({options_.helper.seat, number});
    finished_.push_back({number, CancelledMeasurement()});
  }
  options_.on_change();
  return true;
}

Result<MachinePeaks> RemoteRunner::Peaks() {
  return FailedPrecondition(options_.helper.name, " measures its peaks itself");
}

Status RemoteRunner::Health() {
  absl::MutexLock lock(&mutex_);
  return gone_.has_value() ? Gone() : absl::OkStatus();
}

void RemoteRunner::CancelAll() {
  for (const auto& [number, digest] : submitted_) {
    settled_.push_back({options_.helper.seat, number});
    finished_.push_back({number, CancelledMeasurement()});
  }
  submitted_.clear();
  offers_.clear();
}

void RemoteRunner::Interrupt() {
  {
    absl::MutexLock lock(&mutex_);
    CancelAll();
  }
  options_.on_change();
}

}  // namespace mdh
