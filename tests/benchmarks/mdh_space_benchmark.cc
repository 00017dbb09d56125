// Spaces of decompositions of the shipped expressions: how long construction takes and how large
// the diagrams are, per kind of model:
//   mdh_space_benchmark [--json FILE] [--cases PATTERN]
// PATTERN matches "EXPRESSION BACKEND". Times are one thread's CPU time, medians of several.
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/space/partial_configuration.h"

namespace mdh {
namespace {

constexpr double kMaxBuildMs = 50;
constexpr double kMaxKib = 16 << 10;
constexpr double kMaxDescribeMs = 10;

double ThreadMs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// The median time of `run`, which is repeated for a tenth of a second.
double MedianMs(const std::function<void()>& run) {
  constexpr double kBudgetMs = 100;
  constexpr size_t kAtLeast = 3;
  std::vector<double> times;
  double spent = 0;
  while (times.size() < kAtLeast || spent < kBudgetMs) {
    const double before = ThreadMs();
    run();
    times.push_back(ThreadMs() - before);
    spent += times.back();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Ends the program with the message of an error.
template <typename T>
T OrFail(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "mdh_space_benchmark: error: %s\n",
               std::string(result.status().message()).c_str());
  std::exit(1);
}

struct Figures {
  std::string expression, backend;
  size_t parameters = 0;
  bool is_lazy = false;
  std::string count;
  double log10_count = 0;
  SpaceSize size;
  double build_ms = 0;
  double sample_us = 0;
  double nearest_ms = 0;   // of the parameters of a sample with other sizes of its layers
  double describe_ms = 0;  // all values that remain of all parameters after one decision
  size_t state_bytes = 0;  // of what is decided, once every parameter is

  double kib() const { return static_cast<double>(size.bytes) / 1024; }
  bool is_met() const {
    return !is_lazy && build_ms <= kMaxBuildMs && kib() <= kMaxKib && describe_ms <= kMaxDescribeMs;
  }
};

double Log10(const Count& count) {
  const std::string digits = count.get_str();
  return static_cast<double>(digits.size()) - 1 + std::log10(std::stod("0." + digits) * 10);
}

// Reading wishes that are not in the space: a sample's parameters, one layer's tiles larger.
double NearestMs(const MdhSpace& space) {
  Rng rng(1);
  TuningParameters p = space.Decode(space.space().Sample(rng));
  for (int64_t& extent : p.tile[p.tile.size() / 2]) extent = extent * 3 + 1;
  return MedianMs([&] { (void)space.EncodeNearest(p); });
}

// A step of a prompt: a decision in the middle of the levels, and what remains of each parameter.
double DescribeMs(const SearchSpace& space) {
  const PartialConfiguration open(space);
  const int middle = static_cast<int>(space.parameters().size() / 2);
  const std::vector<int64_t> kept = {open.Remaining(middle)[0].code};
  return MedianMs([&] {
    const PartialConfiguration partial = OrFail(open.Decide(middle, kept));
    for (int p = 0; p < std::ssize(space.parameters()); ++p) (void)partial.Remaining(p);
  });
}

size_t StateBytes(const SearchSpace& space) {
  Rng rng(1);
  PartialConfiguration partial(space);
  const Configuration sample = space.Sample(rng);
  for (int p = 0; p < std::ssize(sample); ++p) partial = OrFail(partial.Decide(p, {sample[p]}));
  return partial.bytes();
}

Figures Measure(const std::string& name, const Expression& expression,
                const SpaceBackend& backend) {
  const auto create = [&] {
    return OrFail(MdhSpace::Create(expression, backend.model, backend.device));
  };
  const MdhSpace space = create();
  Figures figures{.expression = name,
                  .backend = backend.name,
                  .parameters = space.space().parameters().size(),
                  .is_lazy = space.space().is_lazy(),
                  .count = "",
                  .size = space.space().size()};
  figures.build_ms = MedianMs([&] { (void)create(); });
  if (figures.is_lazy) return figures;
  figures.count = space.space().count().get_str();
  figures.log10_count = Log10(space.space().count());
  constexpr int kTimes = 1000;
  Rng rng(1);
  figures.sample_us = MedianMs([&] {
    for (int n = 0; n < kTimes; ++n) (void)space.space().Sample(rng);
  });
  figures.sample_us *= 1e3 / kTimes;
  figures.nearest_ms = NearestMs(space);
  figures.describe_ms = DescribeMs(space.space());
  figures.state_bytes = StateBytes(space.space());
  return figures;
}

void Print(const Figures& f) {
  std::printf("%-18s %-14s %10zu %8.1f %8lld %9.1f %9.0f %9.2f %10.2f %11.2f %7zu %s\n",
              f.expression.c_str(), f.backend.c_str(), f.parameters, f.log10_count,
              static_cast<long long>(f.size.nodes), f.build_ms, f.kib(), f.sample_us, f.nearest_ms,
              f.describe_ms, f.state_bytes,
              f.is_lazy    ? "LAZY"
              : f.is_met() ? ""
                           : "NO");
  std::fflush(stdout);
}

void WriteJson(const std::vector<Figures>& all, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const Figures& f : all) {
    list.push_back({{"expression", f.expression},
                    {"backend", f.backend},
                    {"parameters", f.parameters},
                    {"count", f.count},
                    {"is_lazy", f.is_lazy},
                    {"nodes", f.size.nodes},
                    {"edges", f.size.edges},
                    {"bytes", f.size.bytes},
                    {"build_ms", f.build_ms},
                    {"sample_us", f.sample_us},
                    {"nearest_ms", f.nearest_ms},
                    {"describe_ms", f.describe_ms},
                    {"state_bytes", f.state_bytes}});
  }
  std::ofstream(path) << list.dump(2) << "\n";
}

int Run(int argc, char** argv) {
  std::string json, pattern = "*";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--json") json = argv[i + 1];
    if (option == "--cases") pattern = argv[i + 1];
  }
  std::printf("%-18s %-14s %10s %8s %8s %9s %9s %9s %10s %11s %7s\n", "expression", "backend",
              "parameters", "10^count", "nodes", "build ms", "KiB", "sample us", "nearest ms",
              "describe ms", "state B");
  std::vector<Figures> all;
  for (const std::string& name : ShippedExpressionNames(SourcePath())) {
    for (const SpaceBackend& backend : SpaceBackends()) {
      if (fnmatch(pattern.c_str(), (name + " " + backend.name).c_str(), 0) != 0) continue;
      all.push_back(Measure(name, OrFail(ShippedExpression(SourcePath(), name)), backend));
      Print(all.back());
    }
  }
  if (!json.empty()) WriteJson(all, json);
  const auto missed =
      std::count_if(all.begin(), all.end(), [](const Figures& f) { return !f.is_met(); });
  std::printf("\nTargets: at most %.0f ms, %.0f KiB and %.0f ms to describe: %zu of %zu\n",
              kMaxBuildMs, kMaxKib, kMaxDescribeMs, all.size() - static_cast<size_t>(missed),
              all.size());
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mdh

int main(int argc, char** argv) { return mdh::Run(argc, argv); }
