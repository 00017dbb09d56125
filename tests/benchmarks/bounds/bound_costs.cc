#include "tests/benchmarks/bounds/bound_costs.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/text/parser.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tuner/decompositions/mdh_bound.h"

namespace mdh {
namespace {

using Clock = std::chrono::steady_clock;

double NsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

DeviceDescription Processor() {
  DeviceDescription device;
  device.cores = 2;
  device.isa = "x86-64 avx2 fma avx512f";
  device.simd_bytes = 64;
  device.limits.clock_hz = 4e9;
  return device;
}

Result<DeviceDescription> Gpu() {
  MDH_ASSIGN_OR_RETURN(DeviceDescription device, DescribeCudaArchitecture(90));
  device.limits.clock_hz = 1.98e9;
  return device;
}

// What an answer about a candidate says of its values.
double Describe(const MdhBound& bound, const PartialConfiguration& partial) {
  const auto start = Clock::now();
  const std::vector<std::vector<int64_t>> codes = RemainingCodes(partial);
  std::vector<absl::Span<const int64_t>> open = SpansOf(codes);
  for (size_t n = 0; n < codes.size(); ++n) {
    for (size_t value = 0; value < codes[n].size(); ++value) {
      open[n] = absl::MakeConstSpan(codes[n]).subspan(value, 1);
      bound.Of(open);
    }
    open[n] = codes[n];
  }
  return NsSince(start);
}

double Step(const MdhSpace& space, const MdhBound& bound) {
  constexpr int kRounds = 200;
  Rng rng(1);
  const std::vector<std::vector<int64_t>> codes = AllCodes(space.space());
  double ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Configuration configuration = space.space().Sample(rng);
    std::vector<absl::Span<const int64_t>> open = SpansOf(codes);
    const auto start = Clock::now();
    for (size_t n = 0; n < open.size(); ++n) {
      open[n] = absl::MakeConstSpan(&configuration[n], 1);
      bound.Of(open);
    }
    ns += NsSince(start) / static_cast<double>(open.size());
  }
  return ns / kRounds;
}

Result<BoundCosts> Measure(const BenchmarkCase& one, const Expression& expression,
                           const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const MdhSpace space,
                       MdhSpace::Create(expression, TuningModel(device.kind), device));
  const MdhBound bound(space, expression, {device, RatesOf(device, {}), {.calls = 1}});
  BoundCosts costs;
  costs.space = absl::StrCat(one.id, RunsOnHost(device) ? " on a processor" : " on a GPU");
  costs.step_ns = Step(space, bound);
  PartialConfiguration partial(space.space());
  if (!partial.is_lazy())
    costs.configurations = absl::StrFormat("%.2g", space.space().count().get_d());
  costs.describe_ns = Describe(bound, partial);
  Rng rng(1);
  const Configuration configuration = space.space().Sample(rng);
  for (size_t n = 0; n < configuration.size(); ++n) {
    if (n == configuration.size() / 2) costs.decided_ns = Describe(bound, partial);
    MDH_ASSIGN_OR_RETURN(partial, partial.Decide(static_cast<int>(n), {configuration[n]}));
    costs.bytes = std::max(costs.bytes, partial.bytes());
  }
  return costs;
}

}  // namespace

Result<std::vector<BoundCosts>> MeasureBoundCosts(const std::string& source_path) {
  MDH_ASSIGN_OR_RETURN(const DeviceDescription gpu, Gpu());
  std::vector<BoundCosts> all;
  for (const char* name : {"matmul_1024", "conv2d_224", "mcc_resnet50_inference"}) {
    MDH_ASSIGN_OR_RETURN(const std::vector<BenchmarkCase> cases,
                         LoadCases(source_path + "/tests/benchmarks/cases.json", name));
    const BenchmarkCase& one = cases.front();
    MDH_ASSIGN_OR_RETURN(const Expression expression, ExpressionOfCase(source_path, one));
    for (const DeviceDescription& device : {Processor(), gpu}) {
      MDH_ASSIGN_OR_RETURN(all.emplace_back(), Measure(one, expression, device));
    }
  }
  return all;
}

std::string BoundCostsPage(const std::vector<BoundCosts>& costs) {
  std::string page =
      "| space | configurations | a step | all values described | half of it decided | bytes |\n"
      "|---|--:|--:|--:|--:|--:|\n";
  for (const BoundCosts& one : costs) {
    absl::StrAppendFormat(&page, "| %s | %s | %.2f us | %.1f ms | %.1f ms | %d |\n", one.space,
                          one.configurations.empty() ? "too many" : one.configurations,
                          one.step_ns / 1e3, one.describe_ns / 1e6, one.decided_ns / 1e6,
                          one.bytes);
  }
  return page;
}

}  // namespace mdh
