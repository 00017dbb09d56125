#include "tests/benchmarks/machine_rates.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "tuner/measure/peak_benchmarks.h"

namespace mdh {
namespace {

constexpr int64_t kPieces = 500;

PeakBenchmark Arithmetic(const DeviceDescription& device) {
  return ArithmeticPeak(device, ScalarType::kFloat32, kPieces);
}

PeakBenchmark Bandwidth(const DeviceDescription& device) {
  return BandwidthPeak(PeakBytes(device), omp_get_max_threads(), 1);
}

// Of a call.
double WorkOf(const PeakBenchmark& benchmark) {
  return benchmark.work_per_piece * static_cast<double>(benchmark.pieces * omp_get_max_threads());
}

}  // namespace

Result<std::unique_ptr<MachineRates>> MachineRates::Load(const DeviceDescription& device,
                                                         const std::string& directory) {
  const auto compile = [&](const std::string& source, const std::string& name) {
    return LoadedLibrary::Compile(source, Compiler::kGcc, PeakCompileOptions(), directory, name);
  };
  MDH_ASSIGN_OR_RETURN(LoadedLibrary arithmetic,
                       compile(Arithmetic(device).source, "arithmetic_peak"));
  MDH_ASSIGN_OR_RETURN(LoadedLibrary bandwidth,
                       compile(Bandwidth(device).source, "bandwidth_peak"));
  if (arithmetic.Symbol(kPeakEntry) == nullptr || bandwidth.Symbol(kPeakEntry) == nullptr) {
    return absl::FailedPreconditionError("a microbenchmark of the machine lacks its function");
  }
  return std::unique_ptr<MachineRates>(
      new MachineRates(device, std::move(arithmetic), std::move(bandwidth)));
}

MachineRates::MachineRates(const DeviceDescription& device, LoadedLibrary arithmetic,
                           LoadedLibrary bandwidth)
    : arithmetic_(std::move(arithmetic)),
      bandwidth_(std::move(bandwidth)),
      compute_(reinterpret_cast<Microbenchmark>(arithmetic_.Symbol(kPeakEntry))),
      read_(reinterpret_cast<Microbenchmark>(bandwidth_.Symbol(kPeakEntry))),
      operations_(WorkOf(Arithmetic(device))),
      bytes_(WorkOf(Bandwidth(device))),
      cached_bytes_(static_cast<double>(device.l3_bytes)),
      stamps_(
          static_cast<size_t>((std::max(Arithmetic(device).pieces, Bandwidth(device).pieces) + 1) *
                              omp_get_max_threads())) {}

void MachineRates::Compute() { compute_(stamps_.data(), nullptr); }

void MachineRates::Read() { read_(stamps_.data(), nullptr); }

double MachineRates::Floor(const BenchmarkCase& one, double compute_s, double read_s) const {
  const double from_memory = std::max(0.0, one.compulsory_bytes - cached_bytes_);
  return std::max(one.flops / operations_ * compute_s, from_memory / bytes_ * read_s);
}

}  // namespace mdh
