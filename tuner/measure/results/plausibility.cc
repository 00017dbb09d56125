#include "tuner/measure/results/plausibility.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "codegen/program/contraction_units.h"
#include "core/expression/touched_elements.h"

namespace mdh {
namespace {

// What units may do at most: two for multiply-adds in a core, and two for sums beside them, which
// count as one more multiply-add.
constexpr double kUnitsOfCore = 3;
constexpr int kWidestVector = 64;
constexpr double kMostBoost = 2;
// Of NVIDIA's multiprocessors since compute capability 8.0; those of other makers have no more.
constexpr double kFp32LanesOfMultiprocessor = 128;
constexpr double kFp64LanesOfMultiprocessor = 64;

// The types of floating-point instructions.
std::set<ScalarType> ArithmeticTypes(const Expression& expression) {
  std::set<ScalarType> types;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    if (IsFloatingPoint(instruction.type)) types.insert(instruction.type);
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

double ClockOf(const DeviceDescription& device, const MachinePeaks& peaks) {
  return std::max(device.clock_hz, peaks.clock_hz);
}

// What the values of instructions depend on, and which of them are certainly computed.
class Dependences {
 public:
  explicit Dependences(const Expression& expression)
      : expression_(expression), instructions_(expression.function().instructions()) {
    for (const ScalarInstruction& instruction : instructions_) {
      std::set<size_t> dimensions = OwnDimensions(instruction);
      for (const int operand : instruction.operands) {
        const std::set<size_t>& more = dimensions_[static_cast<size_t>(operand)];
        dimensions.insert(more.begin(), more.end());
      }
      dimensions_.push_back(std::move(dimensions));
    }
    is_certain_.resize(instructions_.size());
    for (const int result : expression.function().result_instructions()) MarkCertain(result);
  }

  bool is_certain(size_t instruction) const { return is_certain_[instruction]; }
  // Combinations of the indices that the value depends on.
  double Points(size_t instruction) const { return Product(dimensions_[instruction]); }
  // The same without dimensions that are reduced.
  double KeptPoints(size_t instruction) const {
    std::set<size_t> kept;
    for (const size_t d : dimensions_[instruction]) {
      if (!expression_.is_reduction(static_cast<int>(d))) kept.insert(d);
    }
    return Product(kept);
  }

 private:
  double Product(const std::set<size_t>& dimensions) const {
    double points = 1;
    for (const size_t d : dimensions) {
      points *= static_cast<double>(expression_.dimensions()[d].size);
    }
    return points;
  }

  std::set<size_t> OwnDimensions(const ScalarInstruction& instruction) const {
    if (instruction.op != ScalarOp::kParameter) return {};
    if (expression_.is_index(instruction.parameter)) {
      return {static_cast<size_t>(expression_.index_dimension(instruction.parameter))};
    }
    const Expression::AccessRef at = expression_.input_access(instruction.parameter);
    const AffineIndex index =
        expression_.inputs()[static_cast<size_t>(at.buffer)].Linearized(at.access);
    std::set<size_t> dimensions;
    for (size_t d = 0; d < index.coefficients.size(); ++d) {
      if (index.coefficients[d] != 0) dimensions.insert(d);
    }
    return dimensions;
  }

  void MarkCertain(int instruction) {
    const auto n = static_cast<size_t>(instruction);
    if (is_certain_[n]) return;
    is_certain_[n] = true;
    const std::vector<int>& operands = instructions_[n].operands;
    const size_t asked = instructions_[n].op == ScalarOp::kSelect ? 1 : operands.size();
    for (size_t o = 0; o < asked; ++o) MarkCertain(operands[o]);
  }

  const Expression& expression_;
  const std::vector<ScalarInstruction>& instructions_;
  std::vector<std::set<size_t>> dimensions_;
  std::vector<bool> is_certain_;
};

// Whether what is combined may be the neutral element at most points, which can be left out.
bool MayBeLeftOut(const Expression& expression) {
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    if (instruction.op == ScalarOp::kSelect || instruction.op == ScalarOp::kTable) return true;
  }
  for (const Buffer& input : expression.inputs()) {
    if (input.boundary.kind != Boundary::Kind::kNone) return true;
  }
  return false;
}

// Sums and products of all values that are combined.
double CertainCombinations(const Expression& expression, const Dependences& dependences) {
  if (!expression.has_reduction() || MayBeLeftOut(expression)) return 0;
  const ScalarFunction& function = expression.function();
  const std::vector<PointWiseKind>& kinds = expression.reduction().kinds();
  double operations = 0;
  for (size_t r = 0; r < function.results().size(); ++r) {
    const bool is_arithmetic = kinds[r] == PointWiseKind::kAdd || kinds[r] == PointWiseKind::kMul;
    if (!is_arithmetic || !IsFloatingPoint(function.results()[r].type)) continue;
    const auto result = static_cast<size_t>(function.result_instructions()[r]);
    operations += dependences.Points(result) - dependences.KeptPoints(result);
  }
  return operations;
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
  const Dependences dependences(expression);
  const std::vector<ScalarInstruction>& instructions = expression.function().instructions();
  double operations = CertainCombinations(expression, dependences);
  for (size_t n = 0; n < instructions.size(); ++n) {
    if (!dependences.is_certain(n) || !IsFloatingPoint(instructions[n].type)) continue;
    operations += Info(instructions[n].op).flops * dependences.Points(n);
  }
  return operations;
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
          .is_disturbed = a.is_disturbed && b.is_disturbed};
}

std::optional<std::string> WhyImplausible(const Expression& expression, double time_ns,
                                          CacheState cache, const DeviceDescription& device,
                                          const MachinePeaks& peaks, NumericsPolicy numerics) {
  const double operations = CertainOperations(expression);
  // Matrix units are not measured.
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

double ComputedPeak(const DeviceDescription& device, const MachinePeaks& peaks, ScalarType type) {
  const double clock_hz = ClockOf(device, peaks);
  const bool computes_on_host = RunsOnHost(device);
  if (computes_on_host) {
    // Without a measured clock: processors run faster than they are called.
    const double boost = peaks.clock_hz > 0 ? 1 : kMostBoost;
    const int cores =
        device.kind == DeviceKind::kCpu ? device.cores : device.blocks.multiprocessors;
    const double lanes = std::max(device.simd_bytes, kWidestVector) / SizeBytes(type);
    return cores * clock_hz * boost * lanes * kUnitsOfCore * 2;
  }
  const double lanes =
      type == ScalarType::kFloat64 ? kFp64LanesOfMultiprocessor : kFp32LanesOfMultiprocessor;
  return device.blocks.multiprocessors * clock_hz * lanes * 2;
}

std::optional<std::string> WhyImpossible(const Expression& expression, double time_ns,
                                         const DeviceDescription& device, const MachinePeaks& peaks,
                                         NumericsPolicy numerics) {
  const double unit_peak = UnitPeak(expression, device, ClockOf(device, peaks), numerics);
  double peak = std::max(ComputedPeak(device, peaks, ScalarType::kFloat64), unit_peak);
  for (const ScalarType type : ArithmeticTypes(expression)) {
    // Vector units do more of halves, but not as many as matrix units.
    const bool is_half = SizeBytes(type) < SizeBytes(ScalarType::kFloat32);
    if (is_half && unit_peak == 0) return std::nullopt;
    if (is_half) continue;
    peak = std::max(peak, ComputedPeak(device, peaks, type));
  }
  const double operations = CertainOperations(expression);
  if (peak <= 0 || time_ns * 1e-9 * peak >= operations) return std::nullopt;
  return Implausible(
      time_ns, operations / peak * 1e9,
      absl::StrFormat("its arithmetic at %.3g FLOP/s, the most that %s can do", peak, device.name));
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
