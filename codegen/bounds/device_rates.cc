#include "codegen/bounds/device_rates.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/device/unit_peaks.h"
#include "core/scalar/scalar_canonical.h"

namespace mdh {
namespace {

// Of NVIDIA's multiprocessors: the table of arithmetic instructions in the CUDA C++ programming
// guide. Four schedulers issue one instruction of 32 threads each in a cycle; those of 10.0 may
// give two results of fp32 at a time (pairs, and minima of three), so that all of its rates are
// doubled.
struct Multiprocessor {
  int from, to;  // compute capability in [from, to)
  double fp32, fp64, issued;
};
constexpr double kHalfLanes = 256;  // of packed halves, on all of them at most
// Of the units that exponentials and roots, but not logarithms, are made with.
constexpr double kSpecialLanes = 16;
constexpr Multiprocessor kMultiprocessors[] = {
    {70, 75, 64, 32, 128},   {75, 80, 64, 2, 128},    {80, 86, 64, 32, 128},
    {86, 90, 128, 2, 128},   {90, 100, 128, 64, 128}, {100, 110, 256, 64, 256},
    {120, 130, 128, 2, 256},
};
// Of others: twice the largest above.
constexpr Multiprocessor kUnknown = {0, 0, 256, 128, 256};

// Processors: units that multiply and add, and those that only add beside them, as those of Zen;
// where there are fewer of these, there are no more in all.
constexpr double kMultiplyingUnits = 2;
constexpr double kAddingUnits = 4;
constexpr int kWidestVector = 64;
// Of x86: units that move elements between lanes.
constexpr double kShufflingUnits = 2;
// Where vectors are not those of AVX, several units of so many bytes may be as good as a wider one.
constexpr double kNarrowestUnit = 16;
// Where no clock was measured: processors run faster than they are called.
constexpr double kMostBoost = 2;

// Of those that a unit computes in a cycle.
int VectorBytes(const DeviceDescription& device) {
  if (device.limits.unit_bytes > 0) return device.limits.unit_bytes;
  const auto has = [&](const char* word) { return device.isa.find(word) != std::string::npos; };
  if (has("avx512")) return 64;
  // Four units of 16 bytes multiply as two of 32 do.
  if (has("avx2") || has("neon")) return 32;
  return std::max(device.simd_bytes, kWidestVector);
}

void SetHostArithmetic(const DeviceDescription& device, DeviceRates& rates) {
  for (const RealKind kind : kRealKinds) {
    const int bytes = kind == RealKind::kDouble ? 8 : kind == RealKind::kSingle ? 4 : 2;
    const double lanes = static_cast<double>(VectorBytes(device)) / bytes;
    rates.arithmetic[static_cast<size_t>(kind)] = {kMultiplyingUnits * lanes, kAddingUnits * lanes,
                                                   kAddingUnits * lanes};
  }
  const bool has_wide_units = device.isa.find("avx") != std::string::npos;
  const double units = has_wide_units ? 1 : VectorBytes(device) / kNarrowestUnit;
  rates.instructions = {kMultiplyingUnits * units, kAddingUnits * units, kAddingUnits * units};
  if (device.isa.find("x86-64") != std::string::npos) rates.joins = kShufflingUnits;
}

void SetBlockArithmetic(const DeviceDescription& device, DeviceRates& rates) {
  const int capability = ComputeCapability(device);
  const auto* const found = std::ranges::find_if(kMultiprocessors, [&](const Multiprocessor& one) {
    return one.from <= capability && capability < one.to;
  });
  const bool is_known = found != std::end(kMultiprocessors);
  const Multiprocessor& lanes = is_known ? *found : kUnknown;
  rates.arithmetic = {{{kHalfLanes, kHalfLanes, kHalfLanes},
                       {lanes.fp32, lanes.fp32, lanes.issued},
                       {lanes.fp64, lanes.fp64, lanes.issued}}};
  if (is_known) rates.special = kSpecialLanes;
  if (!is_known) {
    rates.clock_assumption =
        "a core does 256 operations of fp32 and 128 of fp64 in a cycle at most";
  }
}

// Cycles per second, as specified or else as far as anybody knows, and never below what was
// reached.
void SetClock(const DeviceDescription& device, const MachinePeaks& peaks, DeviceRates& rates) {
  const bool is_host = RunsOnHost(device);
  rates.clock_hz =
      std::max({device.limits.clock_hz, device.clock_hz, kAboveReached * peaks.clock_hz});
  if (device.limits.clock_hz == 0 && rates.clock_assumption.empty()) {
    if (is_host && peaks.clock_hz == 0) rates.clock_hz *= kMostBoost;
    rates.clock_assumption =
        absl::StrFormat("no core is clocked above %.2f GHz", rates.clock_hz / 1e9);
    // A virtual machine says what it is like, and may run on what came later.
    if (device.limits.unit_bytes > 0) {
      absl::StrAppendFormat(&rates.clock_assumption, ", and its units compute %d bytes in a cycle",
                            device.limits.unit_bytes);
    }
  }
  const auto reached = [&](double flops_per_s, RealKind kind) {
    const double per_cycle = 2 * rates.of(kind).multiplications * rates.cores;
    rates.clock_hz = std::max(rates.clock_hz, kAboveReached * flops_per_s / per_cycle);
  };
  if (rates.clock_hz == 0) return;
  reached(peaks.fp32_flops_per_s, RealKind::kSingle);
  reached(peaks.fp64_flops_per_s, RealKind::kDouble);
  rates.clock_hz = std::max(rates.clock_hz, kAboveReached * ClockOfUnits(device, peaks.units));
}

void SetMemory(const DeviceDescription& device, const MachinePeaks& peaks, DeviceRates& rates) {
  const double reached = kAboveReached * std::max(peaks.memory_bytes_per_s, peaks.copy_bytes_per_s);
  rates.memory_bytes_per_s = std::max(device.limits.memory_bytes_per_s, reached);
  if (device.limits.memory_bytes_per_s == 0) {
    rates.memory_assumption = "memory moves no more than was measured";
  } else if (RunsOnHost(device)) {
    rates.memory_assumption = "the machine has the memory of one processor";
  }
}

void SetCache(const DeviceDescription& device, DeviceRates& rates) {
  if (!RunsOnHost(device)) {
    const auto largest = static_cast<double>(std::max(device.l2_bytes, device.limits.cache_bytes));
    rates.cache_bytes = largest > 0 ? largest : -1;
    return;
  }
  // A guest sees a part of the last-level cache.
  rates.cache_bytes =
      device.limits.cache_bytes > 0 ? static_cast<double>(device.limits.cache_bytes) : -1;
  if (rates.cache_bytes > 0) rates.cache_assumption = "the machine has the caches of one processor";
}

void SetLaunch(const DeviceDescription& device, const MachinePeaks& peaks, DeviceRates& rates) {
  // A host's kernel may run on the thread that calls it.
  if (RunsOnHost(device) || peaks.launch_overhead_ns <= 0) return;
  rates.launch_ns = kBelowReached * peaks.launch_overhead_ns;
  rates.launch_assumption = "no call takes less than an empty one that waits for the one before it";
}

std::string Line(const char* what, double value) {
  return absl::StrFormat("%s: %.17g\n", what, value);
}

std::string Line(const char* what, const ArithmeticRate& rate) {
  return absl::StrFormat("%s per cycle and core: %g multiplications, %g additions, %g in all\n",
                         what, rate.multiplications, rate.additions, rate.all);
}

std::string Assumed(const char* what, const std::string& assumption) {
  return assumption.empty() ? "" : absl::StrCat(what, " assumed: ", assumption, "\n");
}

}  // namespace

std::string DeviceRates::ToText() const {
  return absl::StrCat("bound version: ", kBoundVersion, "\narchitecture: ", architecture,
                      "\ncores: ", cores, "\n", Line("cycles per second", clock_hz),
                      instructions.all > 0 ? Line("instructions", instructions) : "",
                      joins > 0 ? Line("elements put into vectors", joins) : "",
                      Line("fp16", of(RealKind::kHalf)), Line("fp32", of(RealKind::kSingle)),
                      Line("fp64", of(RealKind::kDouble)),
                      Line("special functions per cycle and core", special),
                      Line("bytes of memory per second", memory_bytes_per_s),
                      Line("bytes of caches", cache_bytes), Line("launch in ns", launch_ns),
                      Assumed("clock", clock_assumption), Assumed("memory", memory_assumption),
                      Assumed("caches", cache_assumption), Assumed("launch", launch_assumption));
}

std::string DeviceRates::Digest() const { return Sha256Hex(ToText()); }

DeviceRates RatesOf(const DeviceDescription& device, const MachinePeaks& peaks) {
  DeviceRates rates;
  rates.architecture = absl::StrCat(BackendOf(device.kind).name, " ", device.isa);
  rates.cores = device.kind == DeviceKind::kCpu ? device.cores : device.blocks.multiprocessors;
  if (RunsOnHost(device)) {
    SetHostArithmetic(device, rates);
  } else {
    SetBlockArithmetic(device, rates);
  }
  SetClock(device, peaks, rates);
  SetMemory(device, peaks, rates);
  SetCache(device, rates);
  SetLaunch(device, peaks, rates);
  return rates;
}

}  // namespace mdh
