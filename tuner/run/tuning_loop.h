// The tuning loop: space, technique, generator and runner put together for one expression.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"
#include "core/schedule/schedule.h"
#include "tuner/decompositions/mdh_bound.h"
#include "tuner/measure/runner.h"
#include "tuner/run/refuted.h"
#include "tuner/search/abort_condition.h"
#include "tuner/search/cut.h"
#include "tuner/space/named_decision.h"

namespace mdh {

// Where a search may start: a decomposition that was good elsewhere.
struct StartPoint {
  TuningParameters parameters;
  // Of the dimensions that it was for; empty: those of the expression that is tuned.
  std::vector<int64_t> sizes = {};

  friend bool operator==(const StartPoint&, const StartPoint&) = default;
};

// What a search does at the moment.
enum class SearchPhase : uint8_t {
  kInputs = 1,     // draws random inputs
  kReference = 2,  // computes what results are compared with
  kLoopNest = 3,   // times the untuned loop nest
  kCompiling = 4,  // compiles the first kernels
  kMeasuring = 5,  // trials come in
  kFinals = 6,     // measures the best once more, on new inputs
};

struct SearchStep {
  SearchPhase phase;
  int64_t elapsed_ns;    // since the start of Tune
  int64_t remaining_ns;  // to its end, estimated; 0: not known
};

struct TuningOptions {
  std::string technique = "auc_bandit";
  uint64_t seed = 1;
  // Candidates that are proposed, and compiled, at once (SearchOptions::lookahead); 0: as many as
  // suit the kind of device and this machine's cores, whatever the number of devices.
  int lookahead = 0;
  AbortCondition abort = AbortCondition::Duration(60'000'000'000);
  // Where to start, besides the default configuration: the best of earlier runs, of similar sizes
  // or on similar devices. Those that are valid are tried as they are; all are repaired to the
  // nearest member of the space.
  std::vector<StartPoint> start = {};
  MeasureOptions measure = {};
  // How much longer than planned the comparison of the best at the end may take where others use
  // the machine, besides a tenth of the time of the search.
  int64_t patience_ns = 500'000'000;
  Numerics numerics = {};
  // Of the same expression and the model that the device is tuned in: what all candidates keep to.
  // One that says a configuration completely is that candidate, and nothing is searched.
  std::optional<Schedule> schedule = std::nullopt;
  // What is decided of the parameters of the search space: all candidates are configurations of
  // what that leaves, so that no designs from outside of the space are tried.
  std::vector<NamedDecision> restrictions = {};
  // Of bounds on the times of configurations: what they show to be slower than the best is not
  // tried. nullopt: everything is. And SearchOptions::gap.
  std::optional<BoundFacts> bounds = std::nullopt;
  double gap = 0;
  // On CUDA devices, after a search of at least so long, the winner is also compiled by nvcc, if
  // the CUDA Toolkit is there; the faster code wins. It takes a second or more, which a short
  // search has not.
  int64_t least_search_for_nvcc_ns = 10'000'000'000;
  // For who keeps a journal; called from the thread that called Tune. Before a kernel is given to a
  // device:
  std::function<void(const TuningParameters&, const std::string& identity)> on_start = {};
  // What an earlier run has measured; nullptr: nothing. Such a kernel is not measured again, nor
  // counted as a trial.
  std::function<const Measurement*(const std::string& identity)> known = {};
  // Runners that help from now on: asked between trials. Like those that Tune was called with; each
  // is given once, and must outlive the call of Tune.
  std::function<std::vector<Runner*>()> joining = {};
  // Asked between trials: what holds instead of `abort` from now on, counted from the start of
  // Tune; nullopt: nothing new. Not asked any more once the search is over, when the best are
  // measured once more.
  std::function<std::optional<AbortCondition>()> extension = {};
  // Told when a phase begins; one call at a time, but from several threads.
  std::function<void(const SearchStep&)> on_step = {};
};

struct Trial {
  int64_t number = 0;  // from 1
  TuningParameters parameters;
  Measurement measurement;
  std::string identity =
      "";  // of the kernel (tuner/run/trial_history.h); empty if there was no code
};

struct TuningResult {
  TuningParameters parameters;  // the best
  Kernel kernel;
  Measurement measurement;   // of the best, measured again at the end on new inputs
                             // unless cancelled
  int64_t loop_nest_ns = 0;  // the untuned loop nest, one thread of the host; 0: not measured
  int64_t default_ns = 0;    // the configuration from rules, all threads; 0 if it failed
  int64_t trials = 0;
  int64_t failed_trials = 0;
  int64_t elapsed_ns = 0;
  std::string low_level_table;
  bool is_exhausted = false;  // every configuration of the space was tried, or proven to be worse
  CutFigures cut = {};        // what the search has proven of the space
  // Why the search, or the measurements at its end, could not be done to their end, though there
  // was time: what the last runner said. What the trials until then have shown stands.
  Status incomplete = absl::OkStatus();
};

// How much longer than a Duration a search may take, whatever the size of the problem: a fifth, and
// this. Less than two seconds, so that starting it and storing its result fit in as well.
inline constexpr int64_t kMostOverrunNs = 1'600'000'000;
// Of a problem of so few points nothing takes long but a machine that does other things: until
// there is a first result it has so much more time.
inline constexpr int64_t kMostPointsOfSmall = 1'000'000;
inline constexpr int64_t kExtensionOfSmall = 120'000'000'000;

// Called after every trial, from the thread that called Tune. `best_ns` is the fastest call of the
// best configuration, 0 before the first valid trial; `elapsed_ns` counts from the start of Tune.
struct TuningProgress {
  const Trial* trial;
  int64_t trials;
  int64_t failed_trials;
  int64_t best_ns;
  const TuningParameters* best;
  int64_t elapsed_ns;
};

// Searches on devices that are alike (one fingerprint), all of them at once (others may join),
// until `options.abort` holds or `cancelled` becomes true, and gives the best found so far. The
// time that the measurements at the end need is kept free of a Duration D, and all is over after
// 1.2 D + kMostOverrunNs: for that references of large problems are computed in part
// (Problem::Create), slow trials are given up, and the measurements at the end are left out where
// there is no time for them. `cancelled` is looked at
// between measurements: who sets it should also call Interrupt of all runners. After a cancellation
// the measurements at the end are left out. A device that gives up is left out; what it had is
// measured by the others. Errors: DeadlineExceeded if not even the configuration from rules was
// measured by then; InvalidArgument (no runners, or of different devices); NotFound
// (technique); what the last runner says, if there is no valid trial; Cancelled, idem;
// FailedPrecondition if no candidate was valid (the message has the commonest reason); Unavailable
// if that was for lack of something that the machine may have later; Refuted.
Result<TuningResult> Tune(const Expression& expression, absl::Span<Runner* const> runners,
                          const TuningOptions& options,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled);
// On one device.
Result<TuningResult> Tune(const Expression& expression, Runner& runner,
                          const TuningOptions& options,
                          const std::function<void(const TuningProgress&)>& on_trial,
                          const std::atomic<bool>& cancelled);

}  // namespace mdh
