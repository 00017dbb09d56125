// Group cpu: tunes each case for this machine's CPU, then measures the winner and the other
// libraries in turns, in one process, on the same data and with all cores.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/backends/loop_nest.h"
#include "codegen/program/kernel.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/benchmarks/figure.h"
#include "tests/benchmarks/interleave.h"
#include "tests/benchmarks/loaded_kernel.h"
#include "tests/benchmarks/machine_rates.h"
#include "tests/benchmarks/peers.h"
#include "tuner/measure/results/comparison.h"
#include "tuner/measure/runner.h"
#include "tuner/run/trial_history.h"
#include "tuner/run/tuning_loop.h"

namespace mdh {
namespace {

struct Options {
  std::string cases_file;
  std::string expressions;
  std::string runner;
  std::string pattern = "*";
  std::string json;
  double budget_s = 60;
  uint64_t seed = 1;
};

constexpr int64_t kFewPoints = 1000;  // the plain loop on one core is a peer, too
constexpr std::byte kPoison{0xff};    // four of them are a NaN

// A dense fp32 buffer, aligned like the runner's.
class FloatBuffer {
 public:
  explicit FloatBuffer(int64_t elements)
      : data_(static_cast<float*>(
            std::aligned_alloc(64, static_cast<size_t>((elements * 4 + 63) / 64 * 64)))),
        elements_(elements) {
    std::memset(data_.get(), std::to_integer<int>(kPoison), static_cast<size_t>(size_bytes()));
  }
  // Multiples of 1/4 in [-2, 2]: most sums of products are exact in any order.
  void FillRandomly(std::mt19937_64& random) {
    std::uniform_int_distribution<int> quarters(-8, 8);
    std::generate_n(data_.get(), elements_, [&] { return 0.25f * float(quarters(random)); });
  }
  float* data() const { return data_.get(); }
  int64_t size_bytes() const { return elements_ * static_cast<int64_t>(sizeof(float)); }

 private:
  struct Free {
    void operator()(float* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float[], Free> data_;
  int64_t elements_;
};

// By the rule that judges candidates: re-association may change results, NaN never agrees.
bool Agrees(const Expression& expression, const FloatBuffer& got, const FloatBuffer& expected) {
  const auto* first = reinterpret_cast<const std::byte*>(expected.data());
  const ReferenceBuffer reference =
      MakeReference(expression, 0, std::vector<std::byte>(first, first + expected.size_bytes()));
  return !FirstMismatch(reference, reinterpret_cast<const std::byte*>(got.data()), kPoison)
              .has_value();
}

Status CheckForm(const Expression& expression) {
  const size_t outputs = expression.outputs().size();
  bool only_floats = true;
  for (const Buffer& buffer : expression.inputs()) {
    only_floats = only_floats && buffer.type == ScalarType::kFloat32;
  }
  if (outputs == 1 && only_floats && expression.outputs()[0].type == ScalarType::kFloat32) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(expression.name(), ": only expressions with one output and fp32 are measured"));
}

// One case on its way from expression to figure.
class CpuCase {
 public:
  CpuCase(const BenchmarkCase& one, Expression expression, std::string directory, uint64_t seed)
      : case_(one), expression_(std::move(expression)), directory_(std::move(directory)) {
    std::mt19937_64 random(seed);
    for (const Buffer& input : expression_.inputs()) {
      inputs_.emplace_back(input.elements());
      inputs_.back().FillRandomly(random);
    }
  }

  Result<Figure> Measure(const Kernel& kernel, int threads, MachineRates& rates) {
    MDH_ASSIGN_OR_RETURN(const auto own, LoadedKernel::Load(kernel, directory_, threads));
    const FloatBuffer result = NewResult();
    const std::vector<void*> arguments = Arguments(result);
    std::vector<FloatBuffer> results;
    std::vector<Peer> peers = Peers(results);
    MDH_RETURN_IF_ERROR(AddPlainLoop(threads, peers, results));

    std::vector<std::function<void()>> contenders = {[&] { own->Run(arguments.data()); }};
    for (const Peer& peer : peers) contenders.push_back(peer.run);
    const size_t compute = contenders.size(), read = compute + 1;
    contenders.push_back([&] { rates.Compute(); });
    contenders.push_back([&] { rates.Read(); });
    const std::vector<std::vector<double>> times = MeasureInterleaved(contenders, {});

    Figure figure;
    figure.name = case_.id;
    figure.metric = "time";
    figure.unit = "s";
    figure.value = Median(times[0]);
    size_t best = 0;
    for (size_t n = 0; n < peers.size(); ++n) {
      figure.peers[peers[n].name] = Median(times[n + 1]);
      if (best == 0 || figure.peers[peers[n].name] < Median(times[best])) best = n + 1;
    }
    if (best != 0) figure.ratio_to_best_peer = MedianRatio(times[best], times[0]);
    std::vector<double> floors;
    for (size_t round = 0; round < times[0].size(); ++round) {
      floors.push_back(rates.Floor(case_, times[compute][round], times[read][round]));
    }
    figure.floor = Median(floors);
    figure.ratio_to_floor = MedianRatio(floors, times[0]);
    if (results.empty()) {
      MDH_RETURN_IF_ERROR(AddReferenceResult(threads, results));
    }
    figure.correct = true;
    for (const FloatBuffer& expected : results) {
      figure.correct = figure.correct && Agrees(expression_, result, expected);
    }
    return figure;
  }

 private:
  FloatBuffer NewResult() const { return FloatBuffer(expression_.outputs()[0].elements()); }

  std::vector<void*> Arguments(const FloatBuffer& result) const {
    std::vector<void*> arguments;
    for (const FloatBuffer& input : inputs_) arguments.push_back(input.data());
    arguments.push_back(result.data());
    return arguments;
  }

  // Adds one result buffer per peer.
  std::vector<Peer> Peers(std::vector<FloatBuffer>& results) const {
    std::vector<Peer> peers;
    auto add = [&](const auto& make_peers) {
      // Each peer has a result of its own, so the makers are asked once to count and once per peer.
      const PeerBuffers probe = {inputs_[0].data(), inputs_[1].data(), nullptr};
      const size_t count = make_peers(probe).size();
      for (size_t n = 0; n < count; ++n) {
        results.push_back(NewResult());
        peers.push_back(make_peers(PeerBuffers{probe.a, probe.b, results.back().data()}).at(n));
      }
    };
    if (case_.expression == "mcc.mdh" || case_.expression == "conv2d.mdh") {
      add([&](const PeerBuffers& b) { return OneDnnConvolutionPeers(case_.bindings, b); });
    } else if (const auto contraction = AsContraction(expression_); contraction.has_value()) {
      add([&](const PeerBuffers& b) { return OpenBlasPeers(*contraction, b); });
      add([&](const PeerBuffers& b) { return BlisPeers(*contraction, b); });
      add([&](const PeerBuffers& b) { return LibxsmmPeers(*contraction, b); });
      add([&](const PeerBuffers& b) { return OneDnnContractionPeers(*contraction, b); });
    } else if (inputs_.size() == 2) {
      add([&](const PeerBuffers& b) { return TransposingPeers(expression_, b); });
    }
    return peers;
  }

  // What libraries have no calls for that would not take longer: gcc -O3's code of the loop nest.
  Status AddPlainLoop(int threads, std::vector<Peer>& peers, std::vector<FloatBuffer>& results) {
    if (expression_.points() > kFewPoints) return absl::OkStatus();
    Kernel nest = GenerateLoopNest(expression_);
    nest.compile_options = {"-O3", "-march=native", "-lm"};
    MDH_ASSIGN_OR_RETURN(plain_loop_, LoadedKernel::Load(nest, directory_, threads));
    results.push_back(NewResult());
    peers.push_back({"plain_loop", [this, arguments = Arguments(results.back())] {
                       plain_loop_->Run(arguments.data());
                     }});
    return absl::OkStatus();
  }

  // Where no library computes the case, the untuned kernel is the judge.
  Status AddReferenceResult(int threads, std::vector<FloatBuffer>& results) const {
    MDH_ASSIGN_OR_RETURN(
        const auto reference,
        LoadedKernel::Load(GenerateReferenceNest(expression_), directory_, threads));
    results.push_back(NewResult());
    reference->Run(Arguments(results.back()).data());
    return absl::OkStatus();
  }

  const BenchmarkCase& case_;
  const Expression expression_;
  const std::string directory_;
  std::vector<FloatBuffer> inputs_;
  std::unique_ptr<LoadedKernel> plain_loop_;
};

Result<Figure> RunCase(const BenchmarkCase& one, const Options& options, Runner& runner,
                       MachineRates& rates, const std::string& directory) {
  const std::string path = absl::StrCat(options.expressions, "/", one.expression);
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(text, one.bindings, path));
  MDH_RETURN_IF_ERROR(CheckForm(expression));
  TuningOptions tuning;
  tuning.seed = options.seed;
  tuning.abort = AbortCondition::Duration(static_cast<int64_t>(options.budget_s * 1e9));
  const std::atomic<bool> cancelled = false;
  std::vector<std::pair<int64_t, int64_t>> trials;
  const auto on_trial = [&](const TuningProgress& progress) {
    const Measurement& measured = progress.trial->measurement;
    trials.emplace_back(progress.elapsed_ns,
                        measured.outcome == TrialOutcome::kOk ? SearchTime(measured) : 0);
  };
  MDH_ASSIGN_OR_RETURN(const TuningResult tuned,
                       Tune(expression, runner, tuning, on_trial, cancelled));
  absl::FPrintF(stderr,
                "%s: %d trials (%d failed) in %.0f s; tuned %s, by rules %s, loop nest %s\n",
                one.id, tuned.trials, tuned.failed_trials, 1e-9 * double(tuned.elapsed_ns),
                FormatSeconds(1e-9 * double(tuned.measurement.time_ns())),
                FormatSeconds(1e-9 * double(tuned.default_ns)),
                FormatSeconds(1e-9 * double(tuned.loop_nest_ns)));
  absl::FPrintF(stderr, "%s: %s\n", one.id, ToText(tuned.parameters));

  CpuCase measured(one, std::move(expression), directory, options.seed);
  MDH_ASSIGN_OR_RETURN(Figure figure, measured.Measure(tuned.kernel, runner.device().cores, rates));
  figure.search = {{"trials", tuned.trials},
                   {"tuning_s", 1e-9 * double(tuned.elapsed_ns)},
                   {"time_to_90_s", SecondsToShare(trials, 0.9)},
                   {"time_to_95_s", SecondsToShare(trials, 0.95)}};
  if (tuned.default_ns > 0) {
    figure.search["default_ratio"] = double(tuned.measurement.time_ns()) / double(tuned.default_ns);
  }
  return figure;
}

Status RunGroup(const Options& options, const std::string& directory) {
  MDH_ASSIGN_OR_RETURN(const std::vector<BenchmarkCase> cases,
                       LoadCases(options.cases_file, options.pattern));
  RunnerOptions runner_options;
  runner_options.program = options.runner;
  runner_options.work_directory = directory + "/runner";
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Start(runner_options));
  MDH_ASSIGN_OR_RETURN(const MachinePeaks peaks, runner->Peaks());
  absl::PrintF("%s, %d threads, %s; peak %.0f GFLOP/s (fp32), %.1f GB/s; %g s of tuning a case\n",
               runner->device().name, runner->device().cores, runner->device().compiler,
               1e-9 * peaks.fp32_flops_per_s, 1e-9 * peaks.memory_bytes_per_s, options.budget_s);
  MDH_ASSIGN_OR_RETURN(const auto rates, MachineRates::Load(runner->device(), directory));
  absl::PrintF("%s", TableHeader());
  std::vector<Figure> figures;
  std::vector<std::string> failed;
  for (const BenchmarkCase& one : cases) {
    const Result<Figure> figure = RunCase(one, options, *runner, *rates, directory);
    if (!figure.ok()) {
      absl::PrintF("%-26s error: %s\n", one.id, figure.status().message());
    } else {
      absl::PrintF("%s", TableRow(*figure));
      figures.push_back(*figure);
    }
    if (!figure.ok() || !figure->correct) failed.push_back(one.id);
    std::fflush(stdout);
    if (!options.json.empty()) MDH_RETURN_IF_ERROR(WriteJson(figures, options.json));
  }
  if (failed.empty()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(failed.size(), " of ", cases.size(), " cases failed or gave a wrong result"));
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  mdh::Options options;
  CLI::App app(
      "Tunes cases for this machine's CPU and compares them with OpenBLAS, BLIS, libxsmm and "
      "oneDNN.");
  app.add_option("--cases-file", options.cases_file, "cases.json")->required();
  app.add_option("--expressions", options.expressions, "folder of the .mdh files")->required();
  app.add_option("--runner", options.runner, "path of mdh-runner")->required();
  app.add_option("--cases", options.pattern, "shell pattern of the cases to measure");
  app.add_option("--json", options.json, "file to write the figures to");
  app.add_option("--budget", options.budget_s, "seconds of tuning per case")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "of the search and of the data");
  CLI11_PARSE(app, argc, argv);

  std::string directory =
      (std::filesystem::temp_directory_path() / "mdh-benchmark-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    absl::FPrintF(stderr, "bench: error: %s cannot be made\n", directory);
    return 1;
  }
  const mdh::Status status = mdh::RunGroup(options, directory);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "bench: error: %s\n", status.message());
  return 1;
}
