#include "tuner/run/pipeline_turns.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/types/span.h"
#include "core/pipeline/plan/search_plan.h"
#include "tuner/process/clock.h"
#include "tuner/run/finalists.h"
#include "tuner/run/trial_history.h"

namespace mdh {
namespace {

// From the deadline on, for one kernel to be compiled and measured.
constexpr int64_t kLeastForTurnsOfSmall = 3'000'000'000;

// Errors: those of SetNewProblem, which say that the budget is too short where it is.
Status SetProblem(Runner& runner, const Pipeline& pipeline, const TuningOptions& options,
                  int64_t deadline_ns, const std::atomic<bool>& cancelled) {
  runner.SetDeadline(deadline_ns);
  const Status set = SetNewProblem(runner, pipeline, options);
  const bool is_late =
      absl::IsCancelled(set) && !cancelled && deadline_ns > 0 && NowNs() > deadline_ns;
  if (!is_late && !absl::IsDeadlineExceeded(set)) return set;
  return DeadlineExceeded(
      "the budget is too short for '", pipeline.name(), "': ",
      is_late ? "its inputs and what results are compared with were not there" : set.message());
}

int64_t FasterOf(int64_t a, int64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

bool NothingWasMeasured(const InterleavedTimes& times) {
  for (size_t k = 0; k < times.size(); ++k) {
    if (!WasCancelled(times.Final(k))) return false;
  }
  return true;
}

Status AllFailed(const Pipeline& pipeline, const PipelineTurns& turns) {
  const MeasuredPipeline& first = turns.measured.front();
  if (std::ranges::all_of(turns.measured,
                          [](const MeasuredPipeline& m) { return WasCancelled(m.measurement); })) {
    return DeadlineExceeded("the budget is too short for '", pipeline.name(),
                            "': no whole kernel was measured");
  }
  return FailedPrecondition(
      "none of ", turns.measured.size(), " kernels of pipeline '", pipeline.name(),
      "' is right; that of '",
      Describe(pipeline, first.candidate.partition, first.candidate.parameters.groups),
      "' ended with '", std::string(Name(first.measurement.outcome)),
      "': ", first.measurement.reason);
}

// The turns of one pipeline on one runner, whose problem is set.
class Turns {
 public:
  Turns(Runner& runner, const TuningOptions& options, const std::atomic<bool>& cancelled)
      : runner_(runner), options_(options), cancelled_(cancelled) {}

  // Times of these in turns, as many.
  Result<InterleavedTimes> Take(absl::Span<const PipelineCandidate* const> candidates) {
    std::vector<Finalist> finalists;
    for (const PipelineCandidate* candidate : candidates) {
      finalists.push_back({.kernel = candidate->kernel, .expected_ns = candidate->steps_time_ns()});
    }
    return TakeTurns(runner_, options_, finalists, options_.patience_ns, cancelled_);
  }

  // Climbs from the fastest of `measured` until `end_ns`: adds what it tries.
  Status Climb(const MorePipelines& more, int64_t end_ns, std::vector<MeasuredPipeline>* measured) {
    while (!cancelled_ && NowNs() < end_ns) {
      const size_t best = Fastest(*measured);
      if ((*measured)[best].measurement.time_ns() == 0) break;  // all of them failed
      std::vector<PipelineCandidate> next = more((*measured)[best].candidate);
      if (next.empty()) break;
      MDH_ASSIGN_OR_RETURN(const std::vector<size_t> likely, Try(std::move(next), best, measured));
      if (likely.empty()) break;
      MDH_RETURN_IF_ERROR(Compare(best, likely, measured));
      if (Fastest(*measured) == best) break;
    }
    return absl::OkStatus();
  }

  // If the fastest is not one of the first `given`: times of it, the first one and the fastest
  // unfused one as of the same turns.
  Status Settle(size_t given, std::vector<MeasuredPipeline>* measured) {
    if (cancelled_ || Fastest(*measured) < given) return absl::OkStatus();
    std::vector<size_t> others = {0};
    if (const auto unfused = FastestUnfused(*measured)) others.push_back(*unfused);
    return Compare(Fastest(*measured), others, measured);
  }

 private:
  static constexpr double kLikely = 1.03;   // times what the best one takes
  static constexpr size_t kMostLikely = 4;  // that are compared with it

  static int64_t TimeOf(const MeasuredPipeline& one) {
    const int64_t time_ns = one.measurement.time_ns();
    return time_ns > 0 ? time_ns : std::numeric_limits<int64_t>::max();
  }
  static size_t Fastest(const std::vector<MeasuredPipeline>& measured) {
    return static_cast<size_t>(std::ranges::min_element(measured, {}, TimeOf) - measured.begin());
  }
  static std::optional<size_t> FastestUnfused(const std::vector<MeasuredPipeline>& measured) {
    std::optional<size_t> fastest;
    for (size_t m = 0; m < measured.size(); ++m) {
      if (!measured[m].candidate.is_unfused() || measured[m].measurement.time_ns() == 0) continue;
      if (!fastest || TimeOf(measured[m]) < TimeOf(measured[*fastest])) fastest = m;
    }
    return fastest;
  }

  // Measures each of `next` once; numbers of the few that may be faster than the best one.
  Result<std::vector<size_t>> Try(std::vector<PipelineCandidate> next, size_t best,
                                  std::vector<MeasuredPipeline>* measured) {
    const int64_t best_ns = TimeOf((*measured)[best]);
    std::vector<Kernel> kernels;
    for (const PipelineCandidate& candidate : next) kernels.push_back(candidate.kernel);
    MeasureOptions measure = options_.measure;
    measure.best_so_far_ns = best_ns;
    MDH_ASSIGN_OR_RETURN(std::vector<Measurement> times, runner_.Measure(kernels, measure));
    std::vector<size_t> likely;
    for (size_t n = 0; n < next.size(); ++n) {
      if (WasCancelled(times[n])) continue;
      measured->push_back({std::move(next[n]), std::move(times[n])});
      const auto time_ns = static_cast<double>(TimeOf(measured->back()));
      if (time_ns < kLikely * static_cast<double>(best_ns)) likely.push_back(measured->size() - 1);
    }
    std::ranges::stable_sort(likely, {}, [&](size_t m) { return TimeOf((*measured)[m]); });
    likely.resize(std::min(likely.size(), kMostLikely));
    return likely;
  }

  // In turns: leaves their times as these say, if there was time for that.
  Status Compare(size_t best, const std::vector<size_t>& others,
                 std::vector<MeasuredPipeline>* measured) {
    std::vector<size_t> numbers = {best};
    for (const size_t m : others) {
      if (m != best) numbers.push_back(m);
    }
    std::vector<const PipelineCandidate*> candidates;
    for (const size_t m : numbers) candidates.push_back(&(*measured)[m].candidate);
    MDH_ASSIGN_OR_RETURN(const InterleavedTimes times, Take(candidates));
    for (size_t n = 0; n < numbers.size(); ++n) {
      if (WasCancelled(times.Final(n))) return absl::OkStatus();
    }
    for (size_t n = 0; n < numbers.size(); ++n) {
      (*measured)[numbers[n]].measurement = times.Final(n);
    }
    return absl::OkStatus();
  }

  Runner& runner_;
  const TuningOptions& options_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace

bool HasFewPoints(const Pipeline& pipeline) {
  double points = 0;
  for (const PipelineStep& step : pipeline.steps()) {
    points += static_cast<double>(step.expression.points());
  }
  return points <= static_cast<double>(kMostPointsOfSmall);
}

Result<PipelineTurns> MeasureInTurns(Runner& runner, const Pipeline& pipeline,
                                     std::vector<PipelineCandidate> candidates,
                                     const TuningOptions& options,
                                     const std::atomic<bool>& cancelled,
                                     const MorePipelines& more) {
  const int64_t start_ns = NowNs();
  const auto tell = [&](SearchPhase phase) {
    const int64_t remaining_ns = std::ssize(candidates) * FinalistTime(options);
    if (options.on_step) options.on_step({phase, NowNs() - start_ns, remaining_ns});
  };
  runner.SetStepListener([&](ProblemStep step) {
    tell(step == ProblemStep::kInputs ? SearchPhase::kInputs : SearchPhase::kReference);
  });
  const std::optional<int64_t> duration_ns = options.abort.NanosecondsLeft({});
  const bool is_small = HasFewPoints(pipeline);
  const int64_t end_ns = duration_ns ? start_ns + *duration_ns : 0;
  const absl::Cleanup no_deadline = [&] { runner.SetDeadline(0); };
  const Status set =
      SetProblem(runner, pipeline, options,
                 duration_ns && is_small ? end_ns + kExtensionOfSmall : end_ns, cancelled);
  runner.SetStepListener(nullptr);
  MDH_RETURN_IF_ERROR(set);
  if (duration_ns) runner.SetDeadline(end_ns + kMostOverrunNs);
  Turns turns_of_runner(runner, options, cancelled);
  std::vector<const PipelineCandidate*> first;
  for (const PipelineCandidate& candidate : candidates) first.push_back(&candidate);
  tell(SearchPhase::kFinals);
  MDH_ASSIGN_OR_RETURN(InterleavedTimes times, turns_of_runner.Take(first));
  if (duration_ns && is_small && NothingWasMeasured(times)) {
    runner.SetDeadline(NowNs() + kLeastForTurnsOfSmall);
    MDH_ASSIGN_OR_RETURN(times, turns_of_runner.Take(first));
  }
  if (cancelled) return Cancelled("cancelled");
  PipelineTurns turns;
  for (size_t c = 0; c < candidates.size(); ++c) {
    turns.measured.push_back({std::move(candidates[c]), times.Final(c)});
  }
  if (more && duration_ns) {
    runner.SetDeadline(end_ns);
    MDH_RETURN_IF_ERROR(turns_of_runner.Climb(more, end_ns, &turns.measured));
    runner.SetDeadline(end_ns + kMostOverrunNs);
    MDH_RETURN_IF_ERROR(turns_of_runner.Settle(candidates.size(), &turns.measured));
  }
  if (cancelled) return Cancelled("cancelled");
  turns.default_ns = turns.measured.front().measurement.time_ns();
  bool is_unfused_disturbed = false;
  for (const MeasuredPipeline& one : turns.measured) {
    const int64_t time_ns = one.measurement.time_ns();
    if (!one.candidate.is_unfused() || time_ns == 0) continue;
    turns.unfused_ns = FasterOf(turns.unfused_ns, time_ns);
    if (turns.unfused_ns == time_ns) is_unfused_disturbed = one.measurement.is_disturbed;
  }
  std::ranges::stable_sort(
      turns.measured, [](const MeasuredPipeline& a, const MeasuredPipeline& b) {
        const auto rank = [](const MeasuredPipeline& m) {
          return std::pair(m.measurement.time_ns() == 0, m.measurement.time_ns());
        };
        return rank(a) < rank(b);
      });
  if (turns.best().measurement.time_ns() == 0) return AllFailed(pipeline, turns);
  turns.measured.front().measurement.is_disturbed |= is_unfused_disturbed;
  return turns;
}

}  // namespace mdh
