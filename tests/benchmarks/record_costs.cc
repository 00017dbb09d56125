// Records what every configuration of a case costs on this machine's CPU, so that search techniques
// can be compared without a device: `mdh compare-techniques` plays such tables back.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/program/kernel.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/measure/runner.h"
#include "tuner/search/recorded_costs.h"

namespace mdh {
namespace {

struct Options {
  std::string cases_file, expressions, runner, output = ".";
  std::string pattern = "*";
  int64_t points = 6000;
  int threads = 2;
};

// A part of the space that can be measured whole. Every parameter begins with its value in `seed`;
// then, turn by turn, each gets the value that is most frequent among random configurations and not
// in yet, as long as there are at most `points` configurations.
Result<SearchSpace> Part(const SearchSpace& space, const Configuration& seed, int64_t points) {
  constexpr int kSamples = 4000;
  constexpr int kMostValues = 16;
  const size_t n = space.parameters().size();
  Rng rng(1);
  std::vector<std::map<int64_t, int>> frequency(n);
  for (int s = 0; s < kSamples; ++s) {
    const Configuration sample = space.Sample(rng);
    for (size_t p = 0; p < n; ++p) ++frequency[p][sample[p]];
  }
  std::vector<std::vector<int64_t>> values(n);
  std::vector<SearchSpace::Restriction> kept;
  for (size_t p = 0; p < n; ++p) {
    std::vector<std::pair<int, int64_t>> sorted;
    for (const auto& [code, count] : frequency[p]) {
      if (code != seed[p]) sorted.emplace_back(-count, code);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [count, code] : sorted) values[p].push_back(code);
    kept.push_back({space.parameters()[p].name, {seed[p]}});
  }
  MDH_ASSIGN_OR_RETURN(SearchSpace part, space.Restrict(kept));
  for (int turn = 0; turn < kMostValues; ++turn) {
    for (size_t p = 0; p < n; ++p) {
      if (turn >= static_cast<int>(values[p].size())) continue;
      kept[p].codes.push_back(values[p][static_cast<size_t>(turn)]);
      MDH_ASSIGN_OR_RETURN(SearchSpace larger, space.Restrict(kept));
      if (larger.count() > points) {
        kept[p].codes.pop_back();
      } else {
        part = std::move(larger);
      }
    }
  }
  return part;
}

// All parameters of `part`, with the values that they take, be it one: a space of its own, of which
// the rows are a part, and which says what they are whatever default parameters become.
Result<SearchSpace> BoxOf(const SearchSpace& part) {
  std::vector<std::set<int64_t>> codes(part.parameters().size());
  part.Enumerate([&](const Configuration& configuration) {
    for (size_t p = 0; p < codes.size(); ++p) codes[p].insert(configuration[p]);
    return true;
  });
  std::vector<TuningParameter> parameters;
  for (size_t p = 0; p < codes.size(); ++p) {
    MDH_ASSIGN_OR_RETURN(Range range, Range::Integers({codes[p].begin(), codes[p].end()}));
    parameters.push_back({part.parameters()[p].name, std::move(range)});
  }
  return SearchSpace::Create(std::move(parameters), {}, {.order = ParameterOrder::kDeclared});
}

class Recorder {
 public:
  Recorder(const Expression& expression, Runner& runner)
      : expression_(expression), runner_(runner), model_(OpenMpSimdRegistersModel()) {}

  Result<RecordedCosts> Record(const std::string& name, int64_t points) {
    MDH_ASSIGN_OR_RETURN(const MdhSpace space,
                         MdhSpace::Create(expression_, model_, runner_.device()));
    const Configuration seed =
        space.EncodeNearest(DefaultParameters(expression_, model_, runner_.device()));
    MDH_ASSIGN_OR_RETURN(const SearchSpace part, Part(space.space(), seed, points));
    MDH_ASSIGN_OR_RETURN(const SearchSpace box, BoxOf(part));
    MDH_RETURN_IF_ERROR(runner_.SetProblem(expression_, 1));
    std::fprintf(stderr, "%s: %s configurations\n", name.c_str(), part.count().get_str().c_str());
    std::vector<RecordedCosts::Row> rows;
    std::vector<Configuration> batch;
    Status status;
    const auto measure = [&] {
      status = Measure(space, batch, [&](const Configuration& configuration, Cost cost) {
        rows.push_back({configuration, cost});
      });
      std::fprintf(stderr, "\r%s: %zu  ", name.c_str(), rows.size());
      batch.clear();
      return status.ok();
    };
    part.Enumerate([&](const Configuration& configuration) {
      batch.push_back(configuration);
      return batch.size() < kBatch || measure();
    });
    if (status.ok() && !batch.empty()) measure();
    MDH_RETURN_IF_ERROR(status);
    std::fprintf(stderr, "\n");
    return RecordedCosts::Create(name, box, std::move(rows));
  }

 private:
  static constexpr size_t kBatch = 128;

  // Configurations that generate the same code are measured once.
  Status Measure(const MdhSpace& space, const std::vector<Configuration>& batch,
                 const std::function<void(const Configuration&, Cost)>& on_cost) {
    std::vector<Kernel> kernels;
    std::vector<std::string> identities;
    for (const Configuration& configuration : batch) {
      MDH_ASSIGN_OR_RETURN(
          const LowLevelExpression low,
          Lower(expression_, model_, runner_.device(), space.Decode(configuration)));
      MDH_ASSIGN_OR_RETURN(Kernel kernel, GenerateOpenMp(low, runner_.device()));
      identities.push_back(absl::StrCat(static_cast<int>(kernel.compiler),
                                        kernel.source.substr(kernel.source.find("\n#include"))));
      if (costs_.emplace(identities.back(), std::nullopt).second) {
        pending_.push_back(identities.back());
        kernels.push_back(std::move(kernel));
      }
    }
    MeasureOptions options;
    options.target_time_ns = 4'000'000;
    options.run_limit_ns = 3'000'000'000;
    options.best_so_far_ns = best_ns_;
    options.slow_factor = 3;
    if (!kernels.empty()) {
      MDH_ASSIGN_OR_RETURN(const std::vector<Measurement> measurements,
                           runner_.Measure(kernels, options));
      for (size_t k = 0; k < kernels.size(); ++k) costs_[pending_[k]] = CostOf(measurements[k]);
      pending_.clear();
    }
    for (size_t n = 0; n < batch.size(); ++n) on_cost(batch[n], costs_.at(identities[n]));
    return absl::OkStatus();
  }

  // The fastest call, as in the tuning loop.
  Cost CostOf(const Measurement& measurement) {
    if (measurement.outcome != TrialOutcome::kOk || measurement.times_ns.empty()) {
      return std::nullopt;
    }
    const int64_t fastest =
        *std::min_element(measurement.times_ns.begin(), measurement.times_ns.end());
    if (best_ns_ == 0 || fastest < best_ns_) best_ns_ = fastest;
    return static_cast<double>(fastest);
  }

  const Expression& expression_;
  Runner& runner_;
  const SystemModel model_;
  std::map<std::string, Cost> costs_;  // by generated code
  std::vector<std::string> pending_;
  int64_t best_ns_ = 0;
};

Status RecordCase(const Options& options, const BenchmarkCase& problem, Runner& runner) {
  MDH_ASSIGN_OR_RETURN(const std::string text,
                       ReadTextFile(absl::StrCat(options.expressions, "/", problem.expression)));
  MDH_ASSIGN_OR_RETURN(const Expression expression, ParseExpression(text, problem.bindings));
  MDH_ASSIGN_OR_RETURN(const RecordedCosts costs,
                       Recorder(expression, runner).Record(problem.id, options.points));
  MDH_ASSIGN_OR_RETURN(const std::string table, costs.ToText());
  const std::string path = absl::StrCat(options.output, "/", problem.id, ".costs");
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return absl::InternalError(absl::StrCat("cannot write ", path));
  const std::string header = absl::StrCat("# ", runner.device().name, ", ", options.threads,
                                          " threads, ", runner.device().compiler, "\n");
  // After the first line, which says what the file is.
  const size_t second_line = table.find('\n') + 1;
  const std::string content = table.substr(0, second_line) + header + table.substr(second_line);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (std::fclose(file) != 0 || !written) {
    return absl::InternalError(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

Status RecordAll(const Options& options) {
  MDH_ASSIGN_OR_RETURN(const std::vector<BenchmarkCase> cases,
                       LoadCases(options.cases_file, options.pattern));
  const std::string directory =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/record_costs.", getpid());
  RunnerOptions runner_options;
  runner_options.program = options.runner;
  runner_options.work_directory = directory;
  runner_options.threads = options.threads;
  MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Runner> runner, Runner::Start(runner_options));
  Status status;
  for (const BenchmarkCase& problem : cases) {
    status = RecordCase(options, problem, *runner);
    if (!status.ok()) break;
  }
  std::filesystem::remove_all(directory);
  return status;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  mdh::Options options;
  CLI::App app{"Records the costs of all configurations of a part of each case's search space."};
  app.add_option("--cases-file", options.cases_file)->required();
  app.add_option("--expressions", options.expressions, "folder")->required();
  app.add_option("--runner", options.runner, "path of mdh-runner")->required();
  app.add_option("--cases", options.pattern, "shell pattern of the cases' ids");
  app.add_option("--points", options.points, "most configurations of a case")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "of a kernel")->capture_default_str();
  app.add_option("--output", options.output, "folder for one table per case");
  CLI11_PARSE(app, argc, argv);
  const mdh::Status status = mdh::RecordAll(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "record_costs: error: %s\n", std::string(status.message()).c_str());
  return 1;
}
