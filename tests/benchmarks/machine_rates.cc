#include "tests/benchmarks/machine_rates.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "tuner/measure/peaks.h"

namespace mdh {
namespace {

constexpr char kEntry[] = "mdh_peak";

}  // namespace

Result<std::unique_ptr<MachineRates>> MachineRates::Load(const DeviceDescription& device,
                                                         const std::string& directory) {
  const auto compile = [&](const std::string& source, const std::string& name) {
    return LoadedLibrary::Compile(source, Compiler::kGcc, PeakCompileOptions(), directory, name);
  };
  MDH_ASSIGN_OR_RETURN(
      LoadedLibrary arithmetic,
      compile(ArithmeticPeakSource(device, ScalarType::kFloat32), "arithmetic_peak"));
  MDH_ASSIGN_OR_RETURN(LoadedLibrary bandwidth,
                       compile(BandwidthPeakSource(PeakBytes(device)), "bandwidth_peak"));
  if (arithmetic.Symbol(kEntry) == nullptr || bandwidth.Symbol(kEntry) == nullptr) {
    return absl::FailedPreconditionError("a microbenchmark of the machine lacks its function");
  }
  return std::unique_ptr<MachineRates>(
      new MachineRates(device, std::move(arithmetic), std::move(bandwidth)));
}

MachineRates::MachineRates(const DeviceDescription& device, LoadedLibrary arithmetic,
                           LoadedLibrary bandwidth)
    : arithmetic_(std::move(arithmetic)),
      bandwidth_(std::move(bandwidth)),
      compute_(reinterpret_cast<Microbenchmark>(arithmetic_.Symbol(kEntry))),
      read_(reinterpret_cast<Microbenchmark>(bandwidth_.Symbol(kEntry))),
      operations_(ArithmeticPeakOperations(device, ScalarType::kFloat32) * omp_get_max_threads()),
      bytes_(static_cast<double>(PeakBytes(device))),
      cached_bytes_(static_cast<double>(device.l3_bytes)),
      results_(static_cast<size_t>(omp_get_max_threads())) {}

void MachineRates::Compute() { compute_(results_.data(), nullptr); }

void MachineRates::Read() { read_(results_.data(), nullptr); }

double MachineRates::Floor(const BenchmarkCase& one, double compute_s, double read_s) const {
  const double from_memory = std::max(0.0, one.compulsory_bytes - cached_bytes_);
  return std::max(one.flops / operations_ * compute_s, from_memory / bytes_ * read_s);
}

}  // namespace mdh
