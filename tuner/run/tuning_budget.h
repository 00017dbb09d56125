// What is left of a tuning run: how many more kernels may be in work, and whether there is time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tuner/process/clock.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {

// Counts from its construction. Not thread-safe.
class TuningBudget {
 public:
  // What else a run knows of itself.
  struct State {
    int64_t in_work = 0;
    int64_t known = 0;      // trials in the history that an earlier run has made
    Count space_count = 0;  // members of the space; 0 if that is not known
  };

  // `lookahead`: kernels in work at a time. `finalists`: kernels that are measured again at the
  // end.
  TuningBudget(const TuningOptions& options, const TrialHistory& history, int lookahead,
               size_t finalists);

  int64_t elapsed_ns() const;
  // Instead of the condition of the options.
  void SetAbort(AbortCondition abort) { abort_ = std::move(abort); }
  // When all must be over, on the clock of NowNs(); 0: never.
  int64_t deadline_ns() const;
  // To the end, measurements there included; 0: not known.
  int64_t remaining_ns() const;
  // Inputs and references have taken this, and will again for the finalists.
  void SetProblemTime(int64_t problem_ns) { problem_ns_ = problem_ns; }
  // The latest trial took this, from its submission on.
  void SetTrialTime(int64_t trial_ns) { trial_ns_ = trial_ns; }
  // The first kernel follows, or did so then, on the clock of NowNs().
  void BeginSearch() { BeginSearch(NowNs()); }
  void BeginSearch(int64_t start_ns) { search_start_ns_ = start_ns; }
  // Whether the measurements at the end will be over at the deadline.
  bool HasTimeForTheEnd() const;
  // How long they will take.
  int64_t TimeOfTheEnd() const;

  // Whether there is a result, and no time left for what is in work.
  bool IsTimeUp(const State& state) const;
  // How many more may be in work.
  int Room(const State& state) const;
  // How many evaluations may follow before the condition of the options holds, at most `wanted`.
  int Allowance(int wanted, const State& state) const;

 private:
  // The figures of the search so far, as abort conditions see them; what is in work counts.
  SearchProgress Progress(const State& state) const;
  // The time of the end, and what is in work.
  int64_t ReservedTime(const State& state) const;

  const TuningOptions& options_;
  AbortCondition abort_;
  const TrialHistory& history_;
  const int lookahead_;
  const size_t finalists_;
  const int64_t start_ns_;
  int64_t search_start_ns_ = 0;
  int64_t problem_ns_ = 0;
  int64_t trial_ns_ = 0;
};

}  // namespace mdh
