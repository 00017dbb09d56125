#include "tuner/measure/results/plausibility.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "codegen/bounds/certain_work.h"
#include "codegen/bounds/problem_bound.h"
#include "codegen/program/contraction_units.h"
#include "core/device/unit_peaks.h"
#include "core/expression/touched_elements.h"

namespace mdh {
namespace {

// The types of floating-point instructions.
std::set<ScalarType> ArithmeticTypes(const Expression& expression) {
  std::set<ScalarType> types;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    const bool is_read = instruction.op == ScalarOp::kParameter;
    if (!is_read && IsFloatingPoint(instruction.type)) types.insert(instruction.type);
  }
  return types;
}

// Of the faster unit where a computation is mixed; 0: not known.
double PeakOfItsTypes(const Expression& expression, const MachinePeaks& peaks) {
  double peak = peaks.fp64_flops_per_s;
  for (const ScalarType type : ArithmeticTypes(expression)) {
    if (type == ScalarType::kFloat64) continue;
    if (type != ScalarType::kFloat32) return 0;
    peak = std::max(peaks.fp32_flops_per_s, peaks.fp64_flops_per_s);
  }
  return peak;
}

UnitPeaks BetterUnits(const UnitPeaks& a, const UnitPeaks& b) {
  return {.half_flops_per_s = std::max(a.half_flops_per_s, b.half_flops_per_s),
          .tf32_flops_per_s = std::max(a.tf32_flops_per_s, b.tf32_flops_per_s),
          .fp8_flops_per_s = std::max(a.fp8_flops_per_s, b.fp8_flops_per_s),
          .int8_ops_per_s = std::max(a.int8_ops_per_s, b.int8_ops_per_s),
          .fp64_flops_per_s = std::max(a.fp64_flops_per_s, b.fp64_flops_per_s)};
}

double ClockOf(const DeviceDescription& device, const MachinePeaks& peaks) {
  return std::max({device.clock_hz, peaks.clock_hz, ClockOfUnits(device, peaks.units)});
}

double CacheBytes(const DeviceDescription& device) {
  if (device.kind != DeviceKind::kCpu) return static_cast<double>(device.l2_bytes);
  return static_cast<double>(device.l3_bytes) + static_cast<double>(device.l2_bytes) * device.cores;
}

// That certainly go through the memory's bus in a call.
double MovedBytes(const Expression& expression, CacheState cache, const DeviceDescription& device) {
  const auto bytes = static_cast<double>(TouchedBytes(expression).lower);
  const bool must_move = cache == CacheState::kCold || bytes > 4 * CacheBytes(device);
  return must_move ? bytes : 0;
}

std::string Implausible(double time_ns, double least_ns, const std::string& why) {
  return absl::StrFormat("%.0f ns are implausible: %s takes %.0f ns at least", time_ns, why,
                         least_ns);
}

}  // namespace

bool IsDoublePrecision(const Expression& expression) {
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    if (instruction.type == ScalarType::kFloat64) return true;
  }
  return false;
}

double CertainOperations(const Expression& expression) {
  return CertainWorkOf(expression).operations();
}

MachinePeaks Better(const MachinePeaks& a, const MachinePeaks& b) {
  const double overhead = std::min(a.launch_overhead_ns, b.launch_overhead_ns);
  return {.fp32_flops_per_s = std::max(a.fp32_flops_per_s, b.fp32_flops_per_s),
          .fp64_flops_per_s = std::max(a.fp64_flops_per_s, b.fp64_flops_per_s),
          .memory_bytes_per_s = std::max(a.memory_bytes_per_s, b.memory_bytes_per_s),
          .copy_bytes_per_s = std::max(a.copy_bytes_per_s, b.copy_bytes_per_s),
          .launch_overhead_ns =
              overhead > 0 ? overhead : std::max(a.launch_overhead_ns, b.launch_overhead_ns),
          .clock_hz = std::max(a.clock_hz, b.clock_hz),
          .is_disturbed = a.is_disturbed && b.is_disturbed,
          .units = BetterUnits(a.units, b.units)};
}

std::optional<std::string> WhyImplausible(const Expression& expression, double time_ns,
                                          CacheState cache, const DeviceDescription& device,
                                          const MachinePeaks& peaks, NumericsPolicy numerics) {
  const double operations = CertainOperations(expression);
  // Matrix units do what is specified, or what they reached if that is more.
  const double unit_peak = UnitPeak(expression, device, ClockOf(device, peaks), numerics);
  if (const double vector_peak = PeakOfItsTypes(expression, peaks); vector_peak > 0) {
    const double peak = std::max(kPeakTolerance * vector_peak, unit_peak);
    const double least_ns = operations / peak * 1e9;
    if (time_ns < least_ns) {
      return Implausible(time_ns, least_ns, absl::StrFormat("its arithmetic at %.3g FLOP/s", peak));
    }
  }
  const double bytes = MovedBytes(expression, cache, device);
  const double bandwidth =
      kPeakTolerance * std::max(peaks.memory_bytes_per_s, peaks.copy_bytes_per_s);
  if (bytes > 0 && bandwidth > 0) {
    const double least_ns = bytes / bandwidth * 1e9;
    if (time_ns < least_ns) {
      return Implausible(time_ns, least_ns,
                         absl::StrFormat("moving %.0f bytes at %.3g bytes/s", bytes, bandwidth));
    }
  }
  return std::nullopt;
}

std::optional<std::string> WhyImpossible(const Expression& expression, double time_ns,
                                         const DeviceDescription& device, const MachinePeaks& peaks,
                                         NumericsPolicy numerics) {
  const ProblemBound bound = ProblemBoundOf(expression, device, RatesOf(device, peaks),
                                            {.numerics = numerics, .calls = 1});
  for (const Floor& floor : bound.floors) {
    if (floor.proof != ProofClass::kCompiler || time_ns >= floor.time_ns) continue;
    return Implausible(time_ns, floor.time_ns,
                       absl::StrFormat("what %s of %s have to do, %s,", floor.resource, device.name,
                                       floor.reason));
  }
  return std::nullopt;
}

MachinePeaks RaisedBy(const Expression& expression, double time_ns, CacheState cache,
                      const DeviceDescription& device, MachinePeaks peaks) {
  const double flops_per_s = CertainOperations(expression) / time_ns * 1e9;
  const double bytes_per_s = MovedBytes(expression, cache, device) / time_ns * 1e9;
  const std::set<ScalarType> types = ArithmeticTypes(expression);
  const bool is_single = types.count(ScalarType::kFloat32) > 0;
  if (is_single) peaks.fp32_flops_per_s = std::max(peaks.fp32_flops_per_s, flops_per_s);
  if (!is_single && types.count(ScalarType::kFloat64) > 0) {
    peaks.fp64_flops_per_s = std::max(peaks.fp64_flops_per_s, flops_per_s);
  }
  const double bandwidth = std::max(peaks.memory_bytes_per_s, peaks.copy_bytes_per_s);
  if (bytes_per_s > bandwidth) peaks.memory_bytes_per_s = bytes_per_s;
  return peaks;
}

}  // namespace mdh
