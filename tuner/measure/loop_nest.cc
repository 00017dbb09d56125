#include "tuner/measure/loop_nest.h"

#include <algorithm>

#include "codegen/backends/loop_nest.h"
#include "tuner/measure/trial/verdict.h"

namespace mdh {
namespace {

constexpr int64_t kRunLimit = 600'000'000'000;
constexpr int64_t kCompileLimit = 60'000'000'000;
// A loop nest is called again for a better figure until so much was timed.
constexpr int64_t kTimed = 500'000'000;
constexpr int kMostTimes = 50;
// Of the time that is left, what a figure to compare with is worth.
constexpr int64_t kPartForLoopNest = 12;

}  // namespace

Result<std::vector<std::vector<std::byte>>> LoopNest::Outputs(const Problem& problem,
                                                              int64_t run_limit_ns) {
  MeasureOptions once;
  once.max_repeats = 0;
  once.run_limit_ns = run_limit_ns > 0 ? run_limit_ns : kRunLimit;
  const Expression& expression = problem.expression();
  // The one that shares a single reduction among threads keeps to no other order.
  const bool is_alone = ReductionLength(expression) == expression.points();
  const bool is_exact = problem.numerics().policy == NumericsPolicy::kExactOrder;
  const Kernel kernel =
      is_exact && is_alone ? GenerateLoopNest(expression) : GenerateReferenceNest(expression);
  MDH_ASSIGN_OR_RETURN(const RunRecord record, Run(problem, kernel, threads_, once));
  const auto& buffers = problem.expression().outputs();
  std::vector<std::vector<std::byte>> outputs;
  for (size_t b = 0; b < buffers.size(); ++b) {
    const std::byte* data = record.first->accessible[b].data() + record.data_offsets[b];
    outputs.emplace_back(data, data + buffers[b].size_bytes());
  }
  return outputs;
}

Result<int64_t> LoopNest::Time(const Problem& problem, int64_t run_limit_ns) {
  if (best_ns_ > 0) return best_ns_;
  MeasureOptions few;
  few.run_limit_ns = run_limit_ns > 0 ? run_limit_ns : kRunLimit;
  few.min_repeats = 1;
  few.max_repeats = kMostTimes;
  few.target_time_ns = kTimed;
  few.precision = 0;
  MDH_ASSIGN_OR_RETURN(const RunRecord record,
                       Run(problem, GenerateLoopNest(problem.expression()), 1, few));
  best_ns_ = *std::ranges::min_element(record.times_ns);
  return best_ns_;
}

Result<int64_t> TimeOf(LoopNest& nest, const Problem& problem, int64_t time_limit_ns) {
  if (time_limit_ns <= 0) return nest.Time(problem, 0);
  const int64_t limit_ns = time_limit_ns / kPartForLoopNest;
  if (problem.LeastLoopNestTime() > limit_ns) return 0;
  const Result<int64_t> time_ns = nest.Time(problem, limit_ns);
  if (absl::IsDeadlineExceeded(time_ns.status())) return 0;
  return time_ns;
}

Result<RunRecord> LoopNest::Run(const Problem& problem, const Kernel& kernel, int threads,
                                const MeasureOptions& options) {
  const std::string& name = problem.expression().name();
  const KernelCall call = problem.CallOf(kernel);
  CompileJob job = {
      .compiler = compilers_->program(kernel.compiler) ? kernel.compiler : Compiler::kClang,
      .source = kernel.source + CallSource(call),
      .options = CallOptions(call, kernel.compile_options)};
  if (job.options.empty()) job.options = {"-O2"};
  MDH_ASSIGN_OR_RETURN(const std::vector<CompileOutcome> compiled,
                       compilers_->Compile({job}, kCompileLimit, *supervisor_));
  if (compiled[0].interrupted) return Cancelled("cancelled");
  if (compiled[0].library.empty()) {
    return Internal("the loop nest of ", name, " does not compile: ", compiled[0].reason);
  }
  CandidateRun run = problem.MakeRun(compiled[0].library, kernel.entry, threads, options);
  run.final_call = false;
  MDH_ASSIGN_OR_RETURN(RunRecord record, RunCandidate(run, *supervisor_));
  if (record.interrupted) return Cancelled("cancelled");
  if (record.phase == RunRecord::Phase::kDone) return record;
  const Measurement failed = Judge(record, run, {});
  if (failed.outcome == TrialOutcome::kTimeout) {
    return DeadlineExceeded("the loop nest of ", name, " ", failed.reason);
  }
  return Internal("the loop nest of ", name, " cannot be run: ", failed.reason);
}

}  // namespace mdh
