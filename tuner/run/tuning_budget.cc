#include "tuner/run/tuning_budget.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "tuner/run/finalists.h"

namespace mdh {
namespace {

// In work before the first result, which tells how long others are worth waiting for: at least, and
// this part of what may be in work, for which there are compilers that would be idle.
constexpr int kFirstInWork = 4, kFirstPart = 2;
// Of a duration, this part more is allowed; what ends after that gives back its memory in the rest
// of the fifth that users are promised.
constexpr int64_t kOverrunPart = 8;
// Of a slow finalist, at least; checks included.
constexpr int64_t kCallsOfFinalist = 10;

}  // namespace

TuningBudget::TuningBudget(const TuningOptions& options, const TrialHistory& history, int lookahead,
                           size_t finalists)
    : options_(options),
      abort_(options.abort),
      history_(history),
      lookahead_(lookahead),
      finalists_(finalists),
      start_ns_(NowNs()) {}

int64_t TuningBudget::elapsed_ns() const { return NowNs() - start_ns_; }

SearchProgress TuningBudget::Progress(const State& state) const {
  return {.elapsed_ns = elapsed_ns(),
          .evaluations = history_.trials() - state.known + state.in_work,
          .valid_evaluations = history_.trials() - history_.failed_trials() + state.in_work,
          .best_cost = history_.best().empty()
                           ? std::nullopt
                           : std::optional<double>(static_cast<double>(history_.best_ns())),
          .space_count = state.space_count,
          .improvements = history_.improvements()};
}

int64_t TuningBudget::deadline_ns() const {
  const std::optional<int64_t> duration_ns = abort_.NanosecondsLeft({});
  if (!duration_ns) return 0;
  return start_ns_ + *duration_ns + *duration_ns / kOverrunPart + kMostOverrunNs;
}

int64_t TuningBudget::remaining_ns() const {
  SearchProgress progress = Progress({});
  const std::optional<int64_t> left_ns = abort_.NanosecondsLeft(progress);
  return left_ns ? std::max(*left_ns, TimeOfTheEnd()) : 0;
}

int64_t TuningBudget::TimeOfTheEnd() const {
  int64_t all_ns = problem_ns_;
  for (const Candidate& candidate : history_.best()) {
    all_ns +=
        std::max(FinalistTime(options_), kCallsOfFinalist * SearchTime(candidate.measurement));
  }
  const int64_t to_come = static_cast<int64_t>(finalists_) - std::ssize(history_.best());
  return all_ns + std::max<int64_t>(0, to_come) * FinalistTime(options_);
}

bool TuningBudget::HasTimeForTheEnd() const {
  const int64_t deadline = deadline_ns();
  return deadline == 0 || NowNs() + TimeOfTheEnd() < deadline;
}

// What is in work ends one after the other, at the rate of those before; but several are compiled
// at a time, and the first results would let that rate look too low.
int64_t TuningBudget::ReservedTime(const State& state) const {
  const int64_t searching_ns = NowNs() - search_start_ns_;
  const int64_t each_ns = history_.trials() == 0 ? 0 : searching_ns / history_.trials();
  const int64_t in_turn_ns = each_ns * state.in_work;
  return TimeOfTheEnd() + (trial_ns_ > 0 ? std::min(trial_ns_, in_turn_ns) : in_turn_ns);
}

bool TuningBudget::IsTimeUp(const State& state) const {
  if (history_.best().empty()) return false;
  SearchProgress progress = Progress(state);
  progress.evaluations -= state.in_work;
  progress.valid_evaluations -= state.in_work;
  progress.elapsed_ns += TimeOfTheEnd();
  return abort_.Holds(progress);
}

int TuningBudget::Room(const State& state) const {
  const int first = std::min(std::max(kFirstInWork, lookahead_ / kFirstPart), lookahead_);
  const int most = history_.best().empty() ? first : lookahead_;
  return most - static_cast<int>(state.in_work);
}

int TuningBudget::Allowance(int wanted, const State& state) const {
  SearchProgress progress = Progress(state);
  progress.elapsed_ns += ReservedTime(state);
  int allowed = 0;
  while (allowed < wanted && !abort_.Holds(progress)) {
    ++allowed;
    ++progress.evaluations;
  }
  return allowed;
}

}  // namespace mdh
