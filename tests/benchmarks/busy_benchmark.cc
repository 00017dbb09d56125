// What tuning gives while others use the machine:
//   busy_benchmark --runner PROGRAM [--device cpu] [--budget SECONDS] [--jobs N] [--starts N]
//                  [--cases PART_OF_NAME]
// Tunes matrix products of 64 to 1024, log-sum-exp and a sum, each beside two busy loops: always,
// in bursts, at first, at last, and never. Once these have ended, the winner is compared in turns
// with the default and with what the same budget finds on the quiet machine. Then peaks are
// measured at so many starts beside the loops. Meaningful only where nothing else runs.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "codegen/program/kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/source_path.h"
#include "tests/tuner/busy_loops.h"
#include "tuner/measure/runner.h"
#include "tuner/run/finalists.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {
namespace {

constexpr int kLoops = 2;
constexpr int kMostAttempts = 3;
constexpr BusyTimes kTimes[] = {BusyTimes::kAlways, BusyTimes::kBursts, BusyTimes::kAtFirst,
                                BusyTimes::kAtLast, BusyTimes::kNever};

struct Options {
  std::string runner, device = "cpu", expressions = SourcePath("client/expressions");
  double budget_s = 3;
  int jobs = 40, starts = 40;
  std::string cases;
};

struct Case {
  std::string name, file;
  Bindings sizes;
};

// Those whose name has `part` in it.
std::vector<Case> Cases(const std::string& part) {
  std::vector<Case> cases;
  for (const char* const n : {"64", "128", "256", "512", "1024"}) {
    cases.push_back({absl::StrCat("matmul ", n), "matmul", {{"I", n}, {"J", n}, {"K", n}}});
  }
  cases.push_back({"softmax 1024 x 1000", "softmax_stats", {{"I", "1024"}, {"K", "1000"}}});
  cases.push_back({"dot 10^6", "dot", {{"K", "1000000"}}});
  std::erase_if(cases, [&](const Case& one) { return !absl::StrContains(one.name, part); });
  return cases;
}

struct Tuned {
  TuningResult result;
  int implausible = 0;
};

class BusyBenchmark {
 public:
  BusyBenchmark(const Options& options, std::string directory)
      : options_(options), directory_(std::move(directory)) {}

  Status Run() {
    MDH_ASSIGN_OR_RETURN(runner_, StartRunner());
    MDH_RETURN_IF_ERROR(runner_->Peaks().status());
    absl::PrintF("%-20s %-10s %10s %10s %7s %7s %7s  %s\n", "case", "busy", "stored", "again",
                 "ratio", "of best", "default", "notes");
    const std::vector<Case> cases = Cases(options_.cases);
    if (cases.empty()) return absl::InvalidArgumentError("no case has such a name");
    for (int job = 0; job < options_.jobs; ++job) {
      const Case& one = cases[static_cast<size_t>(job) % cases.size()];
      const size_t round = static_cast<size_t>(job) / cases.size();
      MDH_RETURN_IF_ERROR(RunJob(one, kTimes[round % std::size(kTimes)], job));
    }
    absl::PrintF(
        "%d jobs: %d failed, %d implausible trials; %d slower than the default; of the "
        "stored times %d neither within 1.25 nor marked; %d above 1.10 of the best, the "
        "worst %.2f\n",
        options_.jobs, failed_, implausible_, slower_than_default_, wrong_times_, not_best_,
        worst_);
    return Starts();
  }

 private:
  Result<std::unique_ptr<Runner>> StartRunner() const {
    RunnerOptions options;
    options.program = options_.runner;
    options.work_directory = directory_ + "/runner";
    options.device = options_.device;
    return Runner::Start(options);
  }

  Result<Tuned> TuneIt(const Expression& expression, uint64_t seed) {
    Tuned tuned;
    const std::atomic<bool> cancelled = false;
    TuningOptions options;
    options.seed = seed;
    options.abort = AbortCondition::Duration(static_cast<int64_t>(options_.budget_s * 1e9));
    const auto on_trial = [&](const TuningProgress& progress) {
      tuned.implausible += progress.trial->measurement.outcome == TrialOutcome::kImplausible;
    };
    MDH_ASSIGN_OR_RETURN(tuned.result, Tune(expression, *runner_, options, on_trial, cancelled));
    return tuned;
  }

  Result<Kernel> Default(const Expression& expression) const {
    const SystemModel model = TuningModel(runner_->device().kind);
    MDH_ASSIGN_OR_RETURN(const LowLevelExpression low_level,
                         Lower(expression, model, runner_->device(),
                               DefaultParameters(expression, model, runner_->device())));
    return GenerateKernel(low_level, runner_->device());
  }

  Status RunJob(const Case& one, BusyTimes times, int job) {
    MDH_ASSIGN_OR_RETURN(const std::string text,
                         ReadTextFile(absl::StrCat(options_.expressions, "/", one.file, ".mdh")));
    MDH_ASSIGN_OR_RETURN(const Expression expression, ParseExpression(text, one.sizes));
    if (quiet_.count(one.name) == 0) {
      MDH_ASSIGN_OR_RETURN(Tuned quiet, TuneIt(expression, 1));
      quiet_.emplace(one.name, std::move(quiet.result.kernel));
    }
    Result<Tuned> tuned = absl::UnknownError("not tuned");
    {
      const BusyLoops loops(times, kLoops, static_cast<int64_t>(options_.budget_s * 1e9));
      tuned = TuneIt(expression, static_cast<uint64_t>(job) + 2);
    }
    if (!tuned.ok()) {
      ++failed_;
      absl::PrintF("%-20s %-10s FAILED: %s\n", one.name, std::string(Name(times)),
                   std::string(tuned.status().message()));
      return absl::OkStatus();
    }
    MDH_ASSIGN_OR_RETURN(const Kernel by_rules, Default(expression));
    const std::vector<Finalist> finalists = {
        {tuned->result.kernel}, {quiet_.at(one.name)}, {by_rules}};
    MDH_ASSIGN_OR_RETURN(const InterleavedTimes again, MeasureAgain(expression, finalists));
    Report(one, times, *tuned, again, finalists);
    return absl::OkStatus();
  }

  // Times on the quiet machine; once more where something disturbed even that.
  Result<InterleavedTimes> MeasureAgain(const Expression& expression,
                                        const std::vector<Finalist>& finalists) const {
    const std::atomic<bool> cancelled = false;
    for (int attempt = 1;; ++attempt) {
      MDH_ASSIGN_OR_RETURN(InterleavedTimes again,
                           MeasureFinalists(*runner_, expression, {}, finalists,
                                            /*patience_ns=*/10'000'000'000, cancelled));
      if (attempt == kMostAttempts || !again.Final(0).is_disturbed) return again;
    }
  }

  // `finalists`: what is stored, what the quiet machine gave, and the one from rules. Two of them
  // may be one kernel, whose times say nothing about each other.
  void Report(const Case& one, BusyTimes times, const Tuned& tuned, const InterleavedTimes& again,
              const std::vector<Finalist>& finalists) {
    const Measurement& stored = tuned.result.measurement;
    const auto is_stored = [&](size_t k) {
      return IdentityOf(finalists[k].kernel) == IdentityOf(finalists[0].kernel);
    };
    const bool is_best = is_stored(1), is_default = is_stored(2);
    const auto time = [&](size_t k) { return static_cast<double>(again.Final(k).time_ns()); };
    const double ratio = static_cast<double>(stored.time_ns()) / time(0);
    const double of_best = is_best ? 1 : time(0) / std::min(time(0), time(1));
    absl::PrintF("%-20s %-10s %8.1fus %8.1fus %7.2f %7.2f %7.2f %s%s%s\n", one.name,
                 std::string(Name(times)), 1e-3 * static_cast<double>(stored.time_ns()),
                 1e-3 * time(0), ratio, of_best, time(2) / time(0),
                 stored.is_disturbed ? " disturbed" : "",
                 absl::StrCat(is_best ? " same" : "", is_default ? " default" : "",
                              again.Final(0).is_disturbed ? " never settled" : ""),
                 tuned.implausible > 0 ? absl::StrCat(" implausible: ", tuned.implausible) : "");
    std::fflush(stdout);
    implausible_ += tuned.implausible;
    slower_than_default_ += !is_default && time(0) > 1.05 * time(2);
    wrong_times_ += !stored.is_disturbed && (ratio > 1.25 || ratio < 0.8);
    not_best_ += of_best > 1.10;
    worst_ = std::max(worst_, of_best);
  }

  Status Starts() {
    MDH_ASSIGN_OR_RETURN(const MachinePeaks quiet, runner_->Peaks());
    runner_.reset();
    int wrong = 0, marked = 0;
    double least = 1;
    for (int start = 0; start < options_.starts; ++start) {
      const BusyTimes times = start % 2 == 0 ? BusyTimes::kAlways : BusyTimes::kBursts;
      const BusyLoops loops(times, kLoops, 1);
      MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, StartRunner());
      MDH_ASSIGN_OR_RETURN(const MachinePeaks peaks, runner->Peaks());
      const double share = std::min({peaks.fp32_flops_per_s / quiet.fp32_flops_per_s,
                                     peaks.fp64_flops_per_s / quiet.fp64_flops_per_s,
                                     peaks.memory_bytes_per_s / quiet.memory_bytes_per_s,
                                     peaks.copy_bytes_per_s / quiet.copy_bytes_per_s});
      least = std::min(least, share);
      marked += peaks.is_disturbed;
      wrong += share < 0.95 && !peaks.is_disturbed;
    }
    absl::PrintF(
        "%d starts beside busy loops: %d with peaks under .95 of the quiet ones and not "
        "marked, %d marked, the least %.3f\n",
        options_.starts, wrong, marked, least);
    return absl::OkStatus();
  }

  const Options options_;
  const std::string directory_;
  std::unique_ptr<Runner> runner_;
  std::map<std::string, Kernel> quiet_;  // by case
  int failed_ = 0, implausible_ = 0, slower_than_default_ = 0, wrong_times_ = 0, not_best_ = 0;
  double worst_ = 1;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures what tuning gives while others use the machine."};
  app.add_option("--runner", options.runner, "the program mdh-runner")->required();
  app.add_option("--device", options.device, "cpu or opencl:N");
  app.add_option("--budget", options.budget_s, "seconds of tuning");
  app.add_option("--jobs", options.jobs, "how many searches");
  app.add_option("--starts", options.starts, "how often peaks are measured");
  app.add_option("--cases", options.cases, "only those whose name has this in it");
  app.add_option("--expressions", options.expressions, "folder of the expressions");
  CLI11_PARSE(app, argc, argv);
  std::string directory = (std::filesystem::temp_directory_path() / "mdh-busy-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror("busy_benchmark: a directory cannot be made");
    return 1;
  }
  const Status status = BusyBenchmark(options, directory).Run();
  std::filesystem::remove_all(directory);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "busy_benchmark: %s\n", status.message());
  return 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Main(argc, argv); }
