// How long default parameters from rules take, which callers get before anything is tuned: for all
// shipped expressions with their own sizes, and for the cases of cases.json, on every kind of
// device. Prints the median time of each in microseconds.
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codegen/choose/default_parameters.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/source_path.h"

namespace mdh {
namespace {

// Ends the program with the message of an error.
template <typename T>
T OrFail(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "defaults_benchmark: error: %s\n",
               std::string(result.status().message()).c_str());
  std::exit(1);
}

struct NamedExpression {
  std::string name;
  Expression expression;
};

std::vector<NamedExpression> Expressions(const std::string& pattern) {
  const std::string folder = SourcePath("client/expressions/");
  std::vector<NamedExpression> all;
  const auto add = [&](const std::string& name, const std::string& file, const Bindings& bindings) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) != 0) return;
    const std::string text = OrFail(ReadTextFile(folder + file));
    all.push_back({name, OrFail(ParseExpression(text, bindings, file))});
  };
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".mdh") files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) add(file.substr(0, file.rfind('.')), file, {});
  const std::string cases = SourcePath("tests/benchmarks/cases.json");
  for (const BenchmarkCase& one : OrFail(LoadCases(cases, "*"))) {
    add(one.id, one.expression, one.bindings);
  }
  return all;
}

struct Target {
  std::string name;
  SystemModel model;
  DeviceDescription device;
};

std::vector<Target> Targets() {
  DeviceDescription cpu;
  cpu.name = "CPU with 512-bit vectors";
  cpu.cores = 16;
  cpu.simd_bytes = 64;
  cpu.vector_registers = 32;
  cpu.l3_bytes = 32 << 20;
  cpu.compiler = "gcc";
  const DeviceDescription gpu = OrFail(DescribeCudaArchitecture(90));
  DeviceDescription open_cl = gpu;
  open_cl.kind = DeviceKind::kOpenCl;
  open_cl.features = FeaturesOf(open_cl);
  return {{"OpenMP", OpenMpSimdRegistersModel(), cpu},
          {"CUDA", CudaModel(), gpu},
          {"OpenCL", OpenClModel(), open_cl}};
}

double MedianMicroseconds(const Expression& expression, const Target& target, int repetitions) {
  std::vector<double> times_us;
  for (int n = 0; n < repetitions; ++n) {
    const auto start = std::chrono::steady_clock::now();
    const TuningParameters parameters = DefaultParameters(expression, target.model, target.device);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    if (parameters.tile.empty()) std::exit(1);
    times_us.push_back(time.count());
  }
  std::nth_element(times_us.begin(), times_us.begin() + repetitions / 2, times_us.end());
  return times_us[static_cast<size_t>(repetitions / 2)];
}

// Prints one line per expression, then the longest time of each target.
nlohmann::json Measure(const std::vector<NamedExpression>& expressions,
                       const std::vector<Target>& targets, int repetitions) {
  nlohmann::json rows = nlohmann::json::array();
  std::vector<std::pair<double, std::string>> longest(targets.size());
  std::printf("%-32s", "microseconds");
  for (const Target& target : targets) std::printf(" %8s", target.name.c_str());
  for (const auto& [name, expression] : expressions) {
    std::printf("\n%-32s", name.c_str());
    for (size_t t = 0; t < targets.size(); ++t) {
      const double time_us = MedianMicroseconds(expression, targets[t], repetitions);
      longest[t] = std::max(longest[t], {time_us, name});
      std::printf(" %8.0f", time_us);
      rows.push_back({{"case", name}, {"target", targets[t].name}, {"median_us", time_us}});
    }
    std::fflush(stdout);
  }
  std::printf("\n");
  for (size_t t = 0; t < targets.size(); ++t) {
    std::printf("longest of %s: %.0f us, %s\n", targets[t].name.c_str(), longest[t].first,
                longest[t].second.c_str());
  }
  return rows;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) {
  CLI::App app("Times how long default parameters from rules take.");
  std::string cases = "*", json_file;
  int repetitions = 20;
  app.add_option("--cases", cases, "Only those whose name matches, e.g. 'mcc_*'");
  app.add_option("--repetitions", repetitions, "Of each case")->check(CLI::PositiveNumber);
  app.add_option("--json", json_file, "Also writes the figures, as one list of objects");
  CLI11_PARSE(app, argc, argv);
  const nlohmann::json rows = mdh::Measure(mdh::Expressions(cases), mdh::Targets(), repetitions);
  if (!json_file.empty()) std::ofstream(json_file) << rows.dump(2) << "\n";
  return 0;
}
