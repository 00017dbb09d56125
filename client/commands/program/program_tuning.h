// The loop of a tuning run: asks for trials, evaluates them, tells what they cost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "client/commands/program/equal_failures.h"
#include "client/commands/program/trial_source.h"
#include "tuner/program/isolated_evaluator.h"

namespace mdh {

class ProgramTuning {
 public:
  // The study after a trial, maybe without its specification, and the trial. Never called twice at
  // a time.
  using OnTrial = std::function<void(const v1::Study&, const v1::StudyTrial&)>;

  // One evaluation at a time per evaluator. `trials` must outlive this. `longest_ns`: that a trial
  // may take, about. `lease_ns`: how long trials are asked for; 0: as long as seems wise.
  ProgramTuning(TrialSource& trials, std::vector<std::unique_ptr<IsolatedEvaluator>> evaluators,
                int64_t longest_ns, int64_t lease_ns, OnTrial on_trial)
      : trials_(trials),
        evaluators_(std::move(evaluators)),
        longest_ns_(longest_ns),
        lease_ns_(lease_ns),
        on_trial_(std::move(on_trial)) {}

  // Returns once the study has ended. Errors: Cancelled after Interrupt; FailedPrecondition if
  // nothing can be evaluated, or does not compile, whatever the configuration (EqualFailures);
  // those of the trials' source.
  Status Run();
  // From any thread: ends evaluations that run, which are not told, and Run. Once.
  void Interrupt();
  bool is_interrupted() const { return interrupted_; }

 private:
  Status Work(IsolatedEvaluator& evaluator);
  // Waits for a trial; nullopt: there are no more.
  Result<std::optional<v1::StudyTrial>> Next();
  Status Finish(v1::StudyTrial trial, const v1::EvaluateResponse& response, int64_t time_ns);
  void Stop();
  int64_t LeaseNs() const;

  TrialSource& trials_;
  const std::vector<std::unique_ptr<IsolatedEvaluator>> evaluators_;
  const int64_t longest_ns_;
  const int64_t lease_ns_;
  const OnTrial on_trial_;
  std::atomic<bool> interrupted_ = false;

  std::mutex mutex_;  // guards trials_ and what follows
  std::condition_variable changed_;
  bool stopped_ = false;       // one of the threads had an error
  std::set<int64_t> running_;  // numbers of trials
  int64_t slowest_ns_ = 0;     // evaluation so far
  EqualFailures failures_;
};

}  // namespace mdh
