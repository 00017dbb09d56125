#include "tuner/finalists.h"

#include <algorithm>
#include <cstddef>

namespace mdh {
namespace {

constexpr int kRounds = 2;
// The final figure is timed this much longer than a trial.
constexpr int kTimeFactor = 4;

void AddRound(const Measurement& round, Measurement& all) {
  if (all.outcome != TrialOutcome::kOk) return;
  if (round.outcome != TrialOutcome::kOk || all.times_ns.empty()) {
    all = round;
    return;
  }
  all.times_ns.insert(all.times_ns.end(), round.times_ns.begin(), round.times_ns.end());
  all.compile_ns = std::max(all.compile_ns, round.compile_ns);
}

}  // namespace

Result<std::vector<Measurement>> MeasureFinalists(Runner& runner, const Expression& expression,
                                                  const TuningOptions& options,
                                                  absl::Span<const Kernel> kernels) {
  Status status = runner.SetProblem(expression, options.seed + 1, options.numerics);
  // A runner that has died is started again: an hour's search is not thrown away for that.
  if (absl::IsUnavailable(status)) {
    status = runner.SetProblem(expression, options.seed + 1, options.numerics);
  }
  MDH_RETURN_IF_ERROR(status);
  MeasureOptions measure = options.measure;
  measure.target_time_ns *= kTimeFactor;
  measure.best_so_far_ns = 0;
  std::vector<Measurement> finals(kernels.size());
  for (int round = 0; round < kRounds; ++round) {
    MDH_ASSIGN_OR_RETURN(std::vector<Measurement> measurements, runner.Measure(kernels, measure));
    for (size_t k = 0; k < kernels.size(); ++k) AddRound(measurements[k], finals[k]);
  }
  return finals;
}

int64_t FinalistTime(const TuningOptions& options) {
  return kTimeFactor * options.measure.target_time_ns * kRounds;
}

}  // namespace mdh
