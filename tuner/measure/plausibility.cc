#include "tuner/measure/plausibility.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

namespace mdh {
namespace {

// Of the faster unit where a computation is mixed; 0: not known.
double ArithmeticPeak(const Expression& expression, const MachinePeaks& peaks) {
  double peak = peaks.fp64_flops_per_s;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    if (!IsFloatingPoint(instruction.type) || instruction.type == ScalarType::kFloat64) continue;
    if (instruction.type != ScalarType::kFloat32) return 0;
    peak = std::max(peaks.fp32_flops_per_s, peaks.fp64_flops_per_s);
  }
  return peak;
}

// Elements that an access certainly touches: those of index functions in which every index follows
// one dimension of its own.
double CertainElements(const Expression& expression, const IndexFunction& function) {
  std::set<size_t> dimensions;
  for (const AffineIndex& index : function.indices) {
    size_t used = 0;
    for (size_t d = 0; d < index.coefficients.size(); ++d) {
      if (index.coefficients[d] == 0) continue;
      ++used;
      if (!dimensions.insert(d).second) return 0;
    }
    if (used > 1) return 0;
  }
  double elements = 1;
  for (const size_t d : dimensions) {
    elements *= static_cast<double>(expression.dimensions()[d].size);
  }
  return elements;
}

double CertainBytes(const Expression& expression, const Buffer& buffer) {
  double elements = 0;
  for (const IndexFunction& access : buffer.accesses) {
    elements = std::max(elements, CertainElements(expression, access));
  }
  // Of a buffer whose strides may be 0, many indices stand for one element.
  elements = std::min(elements, static_cast<double>(buffer.elements()));
  if (buffer.boundary.kind != Boundary::Kind::kNone) return 0;
  return elements * static_cast<double>(buffer.type.size_bytes());
}

double CacheBytes(const DeviceDescription& device) {
  if (device.kind != DeviceKind::kCpu) return static_cast<double>(device.l2_bytes);
  return static_cast<double>(device.l3_bytes) + static_cast<double>(device.l2_bytes) * device.cores;
}

std::string Implausible(double time_ns, double least_ns, const std::string& why) {
  return absl::StrFormat("%.0f ns are implausible: %s takes %.0f ns at least", time_ns, why,
                         least_ns);
}

}  // namespace

MachinePeaks Better(const MachinePeaks& a, const MachinePeaks& b) {
  const double overhead = std::min(a.launch_overhead_ns, b.launch_overhead_ns);
  return {.fp32_flops_per_s = std::max(a.fp32_flops_per_s, b.fp32_flops_per_s),
          .fp64_flops_per_s = std::max(a.fp64_flops_per_s, b.fp64_flops_per_s),
          .memory_bytes_per_s = std::max(a.memory_bytes_per_s, b.memory_bytes_per_s),
          .copy_bytes_per_s = std::max(a.copy_bytes_per_s, b.copy_bytes_per_s),
          .launch_overhead_ns =
              overhead > 0 ? overhead : std::max(a.launch_overhead_ns, b.launch_overhead_ns)};
}

std::optional<std::string> WhyImplausible(const Expression& expression, double time_ns,
                                          CacheState cache, const DeviceDescription& device,
                                          const MachinePeaks& peaks) {
  const auto operations = static_cast<double>(expression.FloatingPointOperations());
  if (const double peak = kPeakTolerance * ArithmeticPeak(expression, peaks); peak > 0) {
    const double least_ns = operations / peak * 1e9;
    if (time_ns < least_ns) {
      return Implausible(time_ns, least_ns, absl::StrFormat("its arithmetic at %.3g FLOP/s", peak));
    }
  }
  double bytes = 0;
  for (const Buffer& input : expression.inputs()) bytes += CertainBytes(expression, input);
  for (const Buffer& output : expression.outputs()) bytes += CertainBytes(expression, output);
  const bool must_move = cache == CacheState::kCold || bytes > 4 * CacheBytes(device);
  const double bandwidth =
      kPeakTolerance * std::max(peaks.memory_bytes_per_s, peaks.copy_bytes_per_s);
  if (must_move && bandwidth > 0) {
    const double least_ns = bytes / bandwidth * 1e9;
    if (time_ns < least_ns) {
      return Implausible(time_ns, least_ns,
                         absl::StrFormat("moving %.0f bytes at %.3g bytes/s", bytes, bandwidth));
    }
  }
  return std::nullopt;
}

}  // namespace mdh
