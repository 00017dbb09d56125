#include "client/commands/program/program_tuning.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/start_thread.h"

namespace mdh {
namespace {

using std::chrono::steady_clock;

// While other clients have all trials that can be evaluated now.
constexpr std::chrono::milliseconds kPause(250);
// Leases are short, so that a run that goes on after its client was killed need not wait long, but
// long enough for slower trials than those so far.
constexpr int64_t kLeaseFactor = 4;
constexpr int64_t kShortestLeaseNs = 20'000'000'000;
constexpr int64_t kFirstLeaseNs = 120'000'000'000;
constexpr int64_t kLongestLeaseNs = int64_t{24} * 3600 * 1'000'000'000;

}  // namespace

Status ProgramTuning::Run() {
  std::vector<Status> ends(evaluators_.size());
  std::vector<std::thread> threads;
  for (size_t n = 0; n < evaluators_.size(); ++n) {
    Result<std::thread> thread = StartThread([this, n, &ends] {
      ends[n] = Work(*evaluators_[n]);
      if (!ends[n].ok()) Stop();
    });
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
    } else if (threads.empty()) {
      return thread.status();
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (interrupted_) return Cancelled("interrupted");
  // Those that were stopped because another one had an error are cancelled.
  Status first;
  for (const Status& end : ends) {
    if (first.ok() || absl::IsCancelled(first)) first = end.ok() ? first : end;
  }
  return first;
}

void ProgramTuning::Interrupt() {
  interrupted_ = true;
  for (const auto& evaluator : evaluators_) evaluator->Interrupt();
  changed_.notify_all();
}

void ProgramTuning::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  for (const auto& evaluator : evaluators_) evaluator->Interrupt();
  changed_.notify_all();
}

int64_t ProgramTuning::LeaseNs() const {
  if (lease_ns_ > 0) return lease_ns_;
  const int64_t wanted =
      slowest_ns_ == 0 ? kFirstLeaseNs : std::max(kLeaseFactor * slowest_ns_, kShortestLeaseNs);
  return std::min({wanted, longest_ns_, kLongestLeaseNs});
}

Status ProgramTuning::Work(IsolatedEvaluator& evaluator) {
  while (true) {
    MDH_ASSIGN_OR_RETURN(std::optional<v1::StudyTrial> trial, Next());
    if (!trial) return absl::OkStatus();
    const auto begin = steady_clock::now();
    MDH_ASSIGN_OR_RETURN(const v1::EvaluateResponse response,
                         evaluator.Evaluate(trial->configuration()));
    const std::chrono::nanoseconds time = steady_clock::now() - begin;
    MDH_RETURN_IF_ERROR(Finish(*std::move(trial), response, time.count()));
  }
}

Result<std::optional<v1::StudyTrial>> ProgramTuning::Next() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (interrupted_ || stopped_) return Cancelled("interrupted");
    MDH_ASSIGN_OR_RETURN(v1::AskTrialsResponse asked, trials_.Ask(1, LeaseNs()));
    // A lease that was too short gives a trial again that is still evaluated.
    if (asked.trials_size() > 0 && running_.insert(asked.trials(0).number()).second) {
      return std::optional(std::move(*asked.mutable_trials(0)));
    }
    if (asked.trials_size() == 0 && asked.state() != v1::STUDY_STATE_ACTIVE) {
      return std::optional<v1::StudyTrial>();
    }
    changed_.wait_for(lock, kPause);
  }
}

Status ProgramTuning::Finish(v1::StudyTrial trial, const v1::EvaluateResponse& response,
                             int64_t time_ns) {
  const std::lock_guard lock(mutex_);
  if (response.has_cost()) {
    trial.set_cost(response.cost());
  } else {
    trial.set_failure(response.failure());
  }
  slowest_ns_ = std::max(slowest_ns_, time_ns);
  const Result<v1::Study> study = trials_.Tell(trial);
  running_.erase(trial.number());
  changed_.notify_all();
  // Its lease was over, and somebody else was faster.
  if (absl::IsAlreadyExists(study.status())) return absl::OkStatus();
  MDH_RETURN_IF_ERROR(study.status());
  on_trial_(*study, trial);
  failures_.Note(trial);
  const std::string verdict = study->has_best() ? "" : failures_.Verdict();
  return verdict.empty() ? absl::OkStatus() : FailedPrecondition(verdict);
}

}  // namespace mdh
