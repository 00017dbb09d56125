#include "server/device_catalogue.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace mdh {
namespace {

// Peaks are measured, not proven: a candidate may exceed them a little.
constexpr double kPeakTolerance = 1.5;

v1::MachinePeaks ToProto(const MachinePeaks& peaks) {
  v1::MachinePeaks proto;
  proto.set_fp32_flops_per_s(peaks.fp32_flops_per_s);
  proto.set_fp64_flops_per_s(peaks.fp64_flops_per_s);
  proto.set_memory_bytes_per_s(peaks.memory_bytes_per_s);
  return proto;
}

v1::MachinePeaks Larger(const v1::MachinePeaks& a, const v1::MachinePeaks& b) {
  v1::MachinePeaks larger;
  larger.set_fp32_flops_per_s(std::max(a.fp32_flops_per_s(), b.fp32_flops_per_s()));
  larger.set_fp64_flops_per_s(std::max(a.fp64_flops_per_s(), b.fp64_flops_per_s()));
  larger.set_memory_bytes_per_s(std::max(a.memory_bytes_per_s(), b.memory_bytes_per_s()));
  return larger;
}

v1::DeviceDescription ToProto(const DeviceDescription& device) {
  v1::DeviceDescription proto;
  proto.set_kind(static_cast<v1::DeviceKind>(device.kind));
  proto.set_model(device.name);
  proto.set_cores(device.cores);
  proto.set_simd_bytes(device.simd_bytes);
  proto.set_vector_registers(device.vector_registers);
  proto.set_l1_bytes(device.l1_bytes);
  proto.set_l2_bytes(device.l2_bytes);
  proto.set_l3_bytes(device.l3_bytes);
  proto.set_cache_line_bytes(device.cache_line_bytes);
  proto.set_isa(device.isa);
  proto.set_compiler(device.compiler);
  proto.set_clock_hz(device.clock_hz);
  return proto;
}

}  // namespace

v1::Device DeviceCatalogue::Describe() {
  v1::Device device;
  device.set_name("devices/cpu");
  *device.mutable_description() = ToProto(backend_.device());
  device.set_fingerprint(environment_.device_fingerprint);
  const Result<v1::MachinePeaks> peaks = Peaks();
  if (peaks.ok()) *device.mutable_peaks() = *peaks;
  const Status can_tune = backend_.CanTune();
  device.set_can_tune(can_tune.ok());
  if (!can_tune.ok()) device.set_cannot_tune_reason(std::string(can_tune.message()));
  return device;
}

Result<v1::MachinePeaks> DeviceCatalogue::Peaks() {
  absl::MutexLock lock(&mutex_);
  if (peaks_.has_value()) return *peaks_;
  MDH_ASSIGN_OR_RETURN(const std::optional<v1::MachinePeaks> stored,
                       store_.GetPeaks(environment_.device_fingerprint));
  const Result<MachinePeaks> measured = backend_.Peaks();
  if (!measured.ok()) {
    if (stored.has_value()) return *stored;
    return measured.status();
  }
  v1::MachinePeaks peaks = ToProto(*measured);
  if (stored.has_value()) peaks = Larger(peaks, *stored);
  // A full disk is no reason not to know them.
  store_.PutPeaks(environment_.device_fingerprint, peaks).IgnoreError();
  peaks_ = peaks;
  return peaks;
}

bool IsDoublePrecision(const Expression& expression) {
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    if (instruction.type == ScalarType::kFloat64) return true;
  }
  return false;
}

Status CheckPlausible(const Expression& expression, int64_t time_ns,
                      const v1::MachinePeaks& peaks) {
  // Single precision is the faster one: in mixed computations its peak bounds both.
  bool has_single = false;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    has_single = has_single || instruction.type == ScalarType::kFloat32;
  }
  const double peak = has_single ? std::max(peaks.fp32_flops_per_s(), peaks.fp64_flops_per_s())
                                 : peaks.fp64_flops_per_s();
  if (peak <= 0) return absl::OkStatus();
  const double least_ns =
      static_cast<double>(expression.FloatingPointOperations()) / peak * 1e9 / kPeakTolerance;
  if (static_cast<double>(time_ns) >= least_ns) return absl::OkStatus();
  return absl::InternalError(
      absl::StrFormat("the measured time of %d ns for '%s' is implausible: at %.3g FLOP/s it takes "
                      "%.0f ns at least",
                      time_ns, expression.name(), peak * kPeakTolerance, least_ns));
}

}  // namespace mdh
