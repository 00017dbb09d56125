#include "tuner/run/pipeline_turns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
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
                                     const std::atomic<bool>& cancelled) {
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
  std::vector<Finalist> finalists;
  for (const PipelineCandidate& candidate : candidates) {
    finalists.push_back({.kernel = candidate.kernel, .expected_ns = candidate.steps_time_ns()});
  }
  tell(SearchPhase::kFinals);
  const auto take_turns = [&] {
    return TakeTurns(runner, options, finalists, options.patience_ns, cancelled);
  };
  MDH_ASSIGN_OR_RETURN(InterleavedTimes times, take_turns());
  if (duration_ns && is_small && NothingWasMeasured(times)) {
    runner.SetDeadline(NowNs() + kLeastForTurnsOfSmall);
    MDH_ASSIGN_OR_RETURN(times, take_turns());
  }
  if (cancelled) return Cancelled("cancelled");
  PipelineTurns turns;
  turns.default_ns = times.Final(0).time_ns();
  bool is_unfused_disturbed = false;
  for (size_t c = 0; c < candidates.size(); ++c) {
    Measurement measurement = times.Final(c);
    const int64_t time_ns = measurement.time_ns();
    if (candidates[c].is_unfused() && time_ns > 0) {
      turns.unfused_ns = FasterOf(turns.unfused_ns, time_ns);
      if (turns.unfused_ns == time_ns) is_unfused_disturbed = measurement.is_disturbed;
    }
    turns.measured.push_back({std::move(candidates[c]), std::move(measurement)});
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
