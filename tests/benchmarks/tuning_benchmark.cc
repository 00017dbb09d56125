// How fast a device is tuned on, and how well its figures can be repeated:
//   tuning_benchmark --runner PROGRAM [--device cuda:0] [--budget SECONDS] [--repeat SECONDS]
//   [--trials] FILE [NAME=VALUE...]
// Tunes the expression for the budget: trials a second, outcomes, and how long the device waited
// for kernels. Then the best kernel is measured 20 times, spread over so many seconds, with other
// candidates between.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "codegen/generate_kernel.h"
#include "codegen/program/kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/benchmarks/figure.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/measure/runner.h"
#include "tuner/process/clock.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {
namespace {

constexpr int kRepetitions = 20;

struct Options {
  std::string runner, file, device = "cpu";
  std::vector<std::string> sizes;
  double budget_s = 30, repeat_s = 180;
  uint64_t seed = 1;
  bool prints_trials = false;
};

Result<Expression> ReadExpression(const Options& options) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options.file));
  Bindings bindings;
  for (const std::string& size : options.sizes) {
    const std::vector<std::string> parts = absl::StrSplit(size, absl::MaxSplits('=', 1));
    if (parts.size() != 2) return absl::InvalidArgumentError(size + " is not NAME=VALUE");
    bindings[parts[0]] = parts[1];
  }
  return ParseExpression(text, bindings, options.file);
}

void PrintDevice(const Runner& runner, const MachinePeaks& peaks) {
  absl::PrintF("%s\n", runner.device().Fingerprint());
  absl::PrintF("peaks: fp32 %.4g GFLOP/s, fp64 %.4g GFLOP/s, reads %.4g GB/s, copies %.4g GB/s, ",
               1e-9 * peaks.fp32_flops_per_s, 1e-9 * peaks.fp64_flops_per_s,
               1e-9 * peaks.memory_bytes_per_s, 1e-9 * peaks.copy_bytes_per_s);
  absl::PrintF("%.3g us from launch to launch\n", 1e-3 * peaks.launch_overhead_ns);
}

// What the trials of a run were, and for how long the device was at work on them.
struct Tally {
  std::map<std::string, int> outcomes;
  std::map<std::string, int> reasons;  // of failures
  int64_t busy_ns = 0;
  int64_t first_ns = 0, last_ns = 0;  // when trials ended
  int trials = 0;

  void Add(const TuningProgress& progress) {
    const Measurement& measurement = progress.trial->measurement;
    ++outcomes[std::string(Name(measurement.outcome))];
    if (measurement.outcome != TrialOutcome::kOk) ++reasons[measurement.reason.substr(0, 70)];
    // The first trial waits for the first kernel, by itself.
    if (trials++ == 0) {
      first_ns = progress.elapsed_ns;
    } else {
      busy_ns += measurement.device_ns;
    }
    last_ns = progress.elapsed_ns;
  }

  void Print() const {
    const double seconds = 1e-9 * static_cast<double>(last_ns - first_ns);
    absl::PrintF("trials: %d in %.1f s, %.1f a second; the device waited %.0f %% of the time\n",
                 trials, seconds, (trials - 1) / seconds,
                 100 * (1 - 1e-9 * static_cast<double>(busy_ns) / seconds));
    for (const auto& [outcome, count] : outcomes) absl::PrintF("  %5d %s\n", count, outcome);
    std::vector<std::pair<int, std::string>> commonest;
    for (const auto& [reason, count] : reasons) commonest.emplace_back(-count, reason);
    std::sort(commonest.begin(), commonest.end());
    if (commonest.size() > 5) commonest.resize(5);
    for (const auto& [count, reason] : commonest) absl::PrintF("  %5d x %s\n", -count, reason);
  }
};

// What a trial cost and gave, on one line.
void PrintTrial(const TuningProgress& progress) {
  const Measurement& m = progress.trial->measurement;
  absl::PrintF("%5d %6.2f s  compiled %5.0f ms, at work %5.0f ms, %s %.4g ms of %d calls  %s\n",
               progress.trial->number, 1e-9 * static_cast<double>(progress.elapsed_ns),
               1e-6 * static_cast<double>(m.compile_ns), 1e-6 * static_cast<double>(m.device_ns),
               std::string(Name(m.outcome)), 1e-6 * static_cast<double>(m.time_ns()),
               m.times_ns.size(), ToText(progress.trial->parameters));
}

Result<TuningResult> TuneIt(const Options& options, const Expression& expression, Runner& runner) {
  const std::atomic<bool> cancelled = false;
  TuningOptions tuning;
  tuning.seed = options.seed;
  tuning.abort = AbortCondition::Duration(static_cast<int64_t>(options.budget_s * 1e9));
  Tally tally;
  MDH_ASSIGN_OR_RETURN(TuningResult result, Tune(
                                                expression, runner, tuning,
                                                [&](const TuningProgress& progress) {
                                                  tally.Add(progress);
                                                  if (options.prints_trials) PrintTrial(progress);
                                                },
                                                cancelled));
  tally.Print();
  const auto seconds = [](int64_t ns) { return FormatSeconds(1e-9 * static_cast<double>(ns)); };
  const double rate = static_cast<double>(expression.FloatingPointOperations()) /
                      static_cast<double>(result.measurement.time_ns());
  absl::PrintF("best %s (%.4g GFLOP/s), by rules %s, loop nest on the CPU %s\n",
               seconds(result.measurement.time_ns()), rate, seconds(result.default_ns),
               seconds(result.loop_nest_ns));
  return result;
}

// Medians of the kernel; random members of the space are measured between.
Result<std::vector<double>> Repeat(const Options& options, const Expression& expression,
                                   const Kernel& kernel, Runner& runner) {
  MDH_ASSIGN_OR_RETURN(
      const MdhSpace space,
      MdhSpace::Create(expression, TuningModel(runner.device().kind), runner.device()));
  MDH_RETURN_IF_ERROR(runner.SetProblem(expression, options.seed + 7));
  Rng rng(options.seed);
  std::vector<double> medians;
  const int64_t start_ns = NowNs();
  for (int n = 0; n < kRepetitions; ++n) {
    MDH_ASSIGN_OR_RETURN(const std::vector<Measurement> measured,
                         runner.Measure(absl::MakeConstSpan(&kernel, 1), {}));
    if (measured[0].outcome != TrialOutcome::kOk) {
      return absl::InternalError("the kernel failed: " + measured[0].reason);
    }
    medians.push_back(static_cast<double>(measured[0].time_ns()));
    const double until_s = options.repeat_s * (n + 1) / kRepetitions;
    while (n + 1 < kRepetitions && 1e-9 * static_cast<double>(NowNs() - start_ns) < until_s) {
      const TuningParameters other = space.Decode(space.space().Sample(rng));
      MDH_ASSIGN_OR_RETURN(
          const LowLevelExpression low_level,
          Lower(expression, TuningModel(runner.device().kind), runner.device(), other));
      Result<Kernel> between = GenerateKernel(low_level, runner.device());
      if (!between.ok()) continue;
      MeasureOptions quick;
      quick.best_so_far_ns = measured[0].time_ns();
      quick.run_limit_ns = 1'000'000'000;
      quick.compile_limit_ns = 8'000'000'000;
      MDH_RETURN_IF_ERROR(runner.Measure(absl::MakeConstSpan(&*between, 1), quick).status());
    }
  }
  return medians;
}

void PrintRepetitions(std::vector<double> medians, double seconds) {
  absl::PrintF("the best kernel %d times in %.0f s, us:", kRepetitions, seconds);
  for (const double median : medians) absl::PrintF(" %.2f", 1e-3 * median);
  std::sort(medians.begin(), medians.end());
  const double middle = medians[medians.size() / 2];
  const double off = std::max(medians.back() / middle - 1, 1 - medians.front() / middle);
  absl::PrintF("\n  all within %.2f %% of their median\n", 100 * off);
}

Status Run(const Options& options, const std::string& directory) {
  MDH_ASSIGN_OR_RETURN(const Expression expression, ReadExpression(options));
  RunnerOptions runner_options;
  runner_options.program = options.runner;
  runner_options.work_directory = directory + "/runner";
  runner_options.device = options.device;
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Start(runner_options));
  MDH_ASSIGN_OR_RETURN(const MachinePeaks peaks, runner->Peaks());
  PrintDevice(*runner, peaks);
  MDH_ASSIGN_OR_RETURN(const TuningResult result, TuneIt(options, expression, *runner));
  if (options.repeat_s <= 0) return absl::OkStatus();
  const int64_t start_ns = NowNs();
  MDH_ASSIGN_OR_RETURN(const std::vector<double> medians,
                       Repeat(options, expression, result.kernel, *runner));
  PrintRepetitions(medians, 1e-9 * static_cast<double>(NowNs() - start_ns));
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures how fast a device is tuned on, and how well its figures can be repeated."};
  app.add_option("--runner", options.runner, "the program mdh-runner")->required();
  app.add_option("--device", options.device, "cpu, opencl:N or cuda:N");
  app.add_option("--budget", options.budget_s, "seconds of tuning");
  app.add_option("--repeat", options.repeat_s,
                 "seconds over which repetitions are spread; 0: none");
  app.add_option("--seed", options.seed, "of inputs and search");
  app.add_flag("--trials", options.prints_trials, "print every trial: where the time goes");
  app.add_option("file", options.file, "expression")->required();
  app.add_option("sizes", options.sizes, "NAME=VALUE");
  CLI11_PARSE(app, argc, argv);
  std::string directory = (std::filesystem::temp_directory_path() / "mdh-tuning-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror("tuning_benchmark: a directory cannot be made");
    return 1;
  }
  const Status status = Run(options, directory);
  std::filesystem::remove_all(directory);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "tuning_benchmark: %s\n", status.message());
  return 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Main(argc, argv); }
