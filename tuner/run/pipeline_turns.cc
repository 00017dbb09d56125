#include "tuner/run/pipeline_turns.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/types/span.h"
#include "core/pipeline/plan/search_plan.h"
#include "tuner/process/clock.h"
#include "tuner/run/finalists.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/trial_limits.h"

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

int64_t TimeOf(const MeasuredPipeline& one) {
  const int64_t time_ns = one.measurement.time_ns();
  return time_ns > 0 ? time_ns : std::numeric_limits<int64_t>::max();
}

size_t Fastest(const std::vector<MeasuredPipeline>& measured) {
  return static_cast<size_t>(std::ranges::min_element(measured, {}, TimeOf) - measured.begin());
}

std::optional<size_t> FastestUnfused(const std::vector<MeasuredPipeline>& measured) {
  std::optional<size_t> fastest;
  for (size_t m = 0; m < measured.size(); ++m) {
    if (!measured[m].candidate.is_unfused() || measured[m].measurement.time_ns() == 0) continue;
    if (!fastest || TimeOf(measured[m]) < TimeOf(measured[*fastest])) fastest = m;
  }
  return fastest;
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

  // Measures what `more` has, each once, until `end_ns` less what Settle takes. Adds the fastest
  // to those that were measured in turns, as Settle shows their times.
  Status Search(MorePipelines& more, int64_t end_ns, PipelineTurns* turns) {
    std::vector<MeasuredPipeline>& measured = turns->measured;
    const size_t fastest = Fastest(measured);
    if (measured[fastest].measurement.time_ns() == 0) return absl::OkStatus();
    for (const MeasuredPipeline& one : measured) {
      if (!WasCancelled(one.measurement)) more.Tell(one.candidate, one.measurement);
    }
    best_ns_ = SearchTime(measured[fastest].measurement);
    best_compile_ns_ = measured[fastest].measurement.compile_ns;
    const int64_t kernels = static_cast<int64_t>(kMostLikely) + 1;
    end_ns -= kernels * FinalistTime(options_) + best_compile_ns_;
    runner_.SetDeadline(end_ns);
    std::map<int64_t, PipelineCandidate> in_work;
    int64_t number = 0;
    while (true) {
      while (!cancelled_ && NowNs() < end_ns && std::ssize(in_work) < limits_.lookahead) {
        std::optional<PipelineCandidate> next = more.Next();
        if (!next) break;
        MDH_RETURN_IF_ERROR(runner_.Submit(++number, next->kernel, Limited()));
        in_work.emplace(number, *std::move(next));
      }
      if (in_work.empty()) return absl::OkStatus();
      MDH_ASSIGN_OR_RETURN(Runner::Finished finished, runner_.Next());
      const auto done = in_work.extract(finished.number);
      if (done.empty() || WasCancelled(finished.measurement)) continue;
      more.Tell(done.mapped(), finished.measurement);
      Keep({std::move(done.mapped()), std::move(finished.measurement)}, turns);
    }
  }

  // Times of what Search has found, of the fastest of the others, of the first one and of the
  // fastest unfused one as of the same turns, if there is time for that. Without it, what has been
  // found counts as it was measured once.
  Status Settle(PipelineTurns* turns) {
    if (cancelled_ || likely_.empty()) return absl::OkStatus();
    std::vector<MeasuredPipeline>& measured = turns->measured;
    turns->searched -= std::ssize(likely_);
    std::vector<size_t> numbers = {0};
    const auto add = [&](size_t m) {
      if (std::ranges::find(numbers, m) == numbers.end()) numbers.push_back(m);
    };
    add(Fastest(measured));
    if (const auto unfused = FastestUnfused(measured)) add(*unfused);
    for (MeasuredPipeline& one : likely_) {
      add(measured.size());
      measured.push_back(std::move(one));
    }
    std::vector<const PipelineCandidate*> candidates;
    for (const size_t m : numbers) candidates.push_back(&measured[m].candidate);
    MDH_ASSIGN_OR_RETURN(const InterleavedTimes times, Take(candidates));
    for (size_t n = 0; n < numbers.size(); ++n) {
      if (WasCancelled(times.Final(n))) return absl::OkStatus();
    }
    for (size_t n = 0; n < numbers.size(); ++n) {
      measured[numbers[n]].measurement = times.Final(n);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr double kLikely = 1.03;   // times what the best one takes
  static constexpr size_t kMostLikely = 3;  // that are measured in turns at the end

  // As Tune limits what is hopeless.
  MeasureOptions Limited() const {
    return LimitedOptions(options_.measure, limits_, best_ns_, best_compile_ns_);
  }

  void Keep(MeasuredPipeline one, PipelineTurns* turns) {
    ++turns->searched;
    const int64_t time_ns = SearchTime(one.measurement);
    if (time_ns == 0) {
      ++turns->failed_searched;
      return;
    }
    if (time_ns < best_ns_) {
      best_ns_ = time_ns;
      best_compile_ns_ = one.measurement.compile_ns;
    }
    likely_.push_back(std::move(one));
    std::ranges::stable_sort(likely_, {},
                             [](const MeasuredPipeline& m) { return SearchTime(m.measurement); });
    if (likely_.size() > kMostLikely) likely_.pop_back();
    std::erase_if(likely_, [&](const MeasuredPipeline& m) {
      return static_cast<double>(SearchTime(m.measurement)) >
             kLikely * static_cast<double>(best_ns_);
    });
  }

  Runner& runner_;
  const TuningOptions& options_;
  const std::atomic<bool>& cancelled_;
  const TrialLimits limits_ = TrialLimits::For(runner_.device());
  int64_t best_ns_ = 0, best_compile_ns_ = 0;  // of all
  std::vector<MeasuredPipeline> likely_;       // of what was searched, the fastest first
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
                                     const std::atomic<bool>& cancelled, MorePipelines* more) {
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
  if (more != nullptr && duration_ns) {
    if (options.on_step) {
      options.on_step(
          {SearchPhase::kMeasuring, NowNs() - start_ns, std::max<int64_t>(0, end_ns - NowNs())});
    }
    MDH_RETURN_IF_ERROR(turns_of_runner.Search(*more, end_ns, &turns));
    runner.SetDeadline(end_ns + kMostOverrunNs);
    MDH_RETURN_IF_ERROR(turns_of_runner.Settle(&turns));
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
