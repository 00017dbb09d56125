// Whether fusion ever loses:
//   fusion_benchmark --runner PROGRAM [--device cpu] [--pipelines N] [--points N] [--budget
//   SECONDS]
//   [--seed N] [--first N]
// Tunes random pipelines as `mdh tune` does: their steps, then whole kernels in turns. Steps for
// which the budget is too short are computed as rules say. The best as found, fused or not, is then
// measured anew in turns with the best unfused one.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "codegen/joint_parameters.h"
#include "core/expression/canonical.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/computation_text.h"
#include "tests/random_rows.h"
#include "tests/random_scaled.h"
#include "tests/random_stencils.h"
#include "tuner/measure/runner.h"
#include "tuner/run/pipeline_turns.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {
namespace {

constexpr double kNoise = 0.97;  // of the unfused one's time: what counts as no loss

struct Options {
  std::string runner, device = "cpu";
  int first = 0, pipelines = 20;
  int64_t points = 1 << 20;
  double budget_s = 4;
  uint64_t seed = 1;
};

Pipeline RandomLargePipeline(Rng& rng, int number, int64_t points) {
  switch (number % 3) {
    case 0:
      return RandomRowPipeline(rng, points);
    case 1:
      return RandomScaledPipeline(rng, /*may_mask=*/true, points);
    default:
      return RandomStencilChain(rng, points);
  }
}

// The fastest that runs every step by itself; nullptr: all of these failed.
const MeasuredPipeline* BestUnfused(const PipelineTurns& turns) {
  for (const MeasuredPipeline& one : turns.measured) {
    if (one.candidate.is_unfused() && one.measurement.time_ns() > 0) return &one;
  }
  return nullptr;
}

class FusionBenchmark {
 public:
  FusionBenchmark(const Options& options, std::string directory)
      : options_(options), directory_(std::move(directory)) {}

  Status Run() {
    RunnerOptions options;
    options.program = options_.runner;
    options.work_directory = directory_ + "/runner";
    options.device = options_.device;
    MDH_ASSIGN_OR_RETURN(runner_, Runner::Start(options));
    MDH_RETURN_IF_ERROR(runner_->Peaks().status());
    absl::PrintF("%4s %5s %7s %11s %11s %11s %7s  %s\n", "", "steps", "kernels", "by rules",
                 "unfused", "best", "ratio", "the best one");
    for (int n = options_.first; n < options_.first + options_.pipelines; ++n) {
      Rng rng(options_.seed + static_cast<uint64_t>(n));
      const Pipeline pipeline = RandomLargePipeline(rng, n, options_.points);
      const Status status = RunOne(pipeline, n);
      if (status.ok()) continue;
      ++failed_;
      absl::PrintF("%4d FAILED: %s\n%s\n", n, status.message(), ToText(pipeline));
      std::fflush(stdout);
    }
    const int measured = options_.pipelines - failed_;
    absl::PrintF(
        "%d pipelines, %d failed; unfused / best: geometric mean %.2f, least %.2f, %d below %.2f\n",
        options_.pipelines, failed_, std::exp(logarithms_ / std::max(measured, 1)), least_, lost_,
        kNoise);
    if (failed_ == 0 && lost_ == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrFormat("%d failed, %d lost", failed_, lost_));
  }

 private:
  Status RunOne(const Pipeline& pipeline, int number) {
    MDH_ASSIGN_OR_RETURN(const auto known, TuneSteps(pipeline));
    const auto find = [&](const Expression& step) -> std::optional<KnownStep> {
      const auto found = known.find(CanonicalForm(step));
      return found == known.end() ? std::nullopt : std::optional<KnownStep>(found->second);
    };
    const auto together = [](const Pipeline&, const Partition& partition,
                             const DeviceDescription& device, NumericsPolicy numerics,
                             const PipelineParameters&) {
      return JointCandidates(partition, TuningModel(device.kind), device, numerics);
    };
    MDH_ASSIGN_OR_RETURN(
        std::vector<PipelineCandidate> candidates,
        PipelineCandidates(pipeline, runner_->device(), find, {.more = {together}}));
    const size_t count = candidates.size();
    TuningOptions options;
    options.seed = options_.seed;
    MDH_ASSIGN_OR_RETURN(
        const PipelineTurns turns,
        MeasureInTurns(*runner_, pipeline, std::move(candidates), options, cancelled_));
    const MeasuredPipeline* const unfused = BestUnfused(turns);
    if (unfused == nullptr) return absl::InternalError("every unfused kernel is wrong");
    const MeasuredPipeline& best = turns.best();
    double unfused_ns = static_cast<double>(turns.unfused_ns), best_ns = unfused_ns;
    if (&best != unfused) {
      options.seed += 1;
      MDH_ASSIGN_OR_RETURN(const PipelineTurns again,
                           MeasureInTurns(*runner_, pipeline, {best.candidate, unfused->candidate},
                                          options, cancelled_));
      best_ns = static_cast<double>(again.default_ns);  // of the first
      unfused_ns = static_cast<double>(again.unfused_ns);
    }
    Report(pipeline, number, count, turns, best_ns, unfused_ns);
    return absl::OkStatus();
  }

  // What a search for each distinct step of the partitions finds, by canonical form.
  Result<std::map<std::string, KnownStep>> TuneSteps(const Pipeline& pipeline) {
    const SearchPlan plan = PlanSearch(pipeline);
    std::map<std::string, KnownStep> known;
    const std::vector<int64_t> shares = Shares(static_cast<int64_t>(options_.budget_s * 1e9), plan);
    for (size_t s = 0; s < plan.steps.size() && options_.budget_s > 0; ++s) {
      TuningOptions options;
      options.seed = options_.seed;
      options.abort = AbortCondition::Duration(shares[s]);
      const auto ignore = [](const TuningProgress&) {};
      const Expression& step = plan.steps[s].expression;
      const Result<TuningResult> result = Tune(step, *runner_, options, ignore, cancelled_);
      if (absl::IsDeadlineExceeded(result.status())) continue;
      MDH_RETURN_IF_ERROR(result.status());
      known[CanonicalForm(step)] = {result->parameters, result->measurement.time_ns(), "tuned"};
    }
    return known;
  }

  void Report(const Pipeline& pipeline, int number, size_t kernels, const PipelineTurns& turns,
              double best_ns, double unfused_ns) {
    const double ratio = unfused_ns / best_ns;
    const PipelineCandidate& best = turns.best().candidate;
    absl::PrintF("%4d %5d %7d %9.1fus %9.1fus %9.1fus %7.2f  %s%s\n", number,
                 pipeline.steps().size(), kernels, 1e-3 * static_cast<double>(turns.default_ns),
                 1e-3 * unfused_ns, 1e-3 * best_ns, ratio,
                 Describe(pipeline, best.partition, best.parameters.groups),
                 turns.best().measurement.is_disturbed ? " (disturbed)" : "");
    std::fflush(stdout);
    logarithms_ += std::log(ratio);
    least_ = std::min(least_, ratio);
    lost_ += ratio < kNoise;
  }

  const Options options_;
  const std::string directory_;
  const std::atomic<bool> cancelled_ = false;
  std::unique_ptr<Runner> runner_;
  int failed_ = 0, lost_ = 0;
  double logarithms_ = 0, least_ = std::numeric_limits<double>::infinity();
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures whether fused kernels of random pipelines ever lose to unfused ones."};
  app.add_option("--runner", options.runner, "the program mdh-runner")->required();
  app.add_option("--device", options.device, "cpu, opencl:N or cuda:N");
  app.add_option("--pipelines", options.pipelines, "how many");
  app.add_option("--first", options.first, "number of the first one of that seed")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--points", options.points, "of their steps, about");
  app.add_option("--budget", options.budget_s, "seconds of tuning the steps of each; 0: rules");
  app.add_option("--seed", options.seed, "of the pipelines, inputs and searches");
  CLI11_PARSE(app, argc, argv);
  std::string directory = (std::filesystem::temp_directory_path() / "mdh-fusion-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror("fusion_benchmark: a directory cannot be made");
    return 1;
  }
  const Status status = FusionBenchmark(options, directory).Run();
  std::filesystem::remove_all(directory);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "fusion_benchmark: %s\n", status.message());
  return 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Main(argc, argv); }
