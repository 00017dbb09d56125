#include "tuner/measure/device_peaks.h"

#include <algorithm>

#include "core/device/unit_peaks.h"
#include "tuner/measure/peaks.h"

namespace mdh {
namespace {

constexpr int64_t kLeastDeviceBytes = int64_t{128} << 20;
constexpr int64_t kMostBytes = int64_t{1} << 30;

// Larger than the caches, and small enough to be there.
int64_t BandwidthBytes(const DeviceDescription& device) {
  const int64_t wanted =
      std::clamp(8 * std::max(device.l2_bytes, device.l3_bytes), kLeastDeviceBytes, kMostBytes);
  const int64_t available = std::max<int64_t>(device.blocks.memory_bytes / 8, 1 << 20);
  return std::min(wanted, available) / 64 * 64;
}

}  // namespace

std::vector<OutputBuffer> PeakOutputs() {
  return {{"out", ScalarType::kFloat32, kPeakOutputs * int64_t{sizeof(float)}}};
}

Result<MachinePeaks> MeasureDevicePeaks(
    const DeviceDescription& device,
    const std::function<Result<CallTime>(const Kernel&)>& time_of) {
  MachinePeaks peaks;
  const auto rate = [&](const PeakKernel& peak) -> Result<double> {
    bool was_quiet = false;
    const auto measure = [&]() -> Result<double> {
      MDH_ASSIGN_OR_RETURN(const CallTime time, time_of(peak.kernel));
      was_quiet = was_quiet || !time.is_disturbed;
      return peak.work / time.ns * 1e9;
    };
    MDH_ASSIGN_OR_RETURN(const Reproduced rate,
                         MeasureUntilReproduced(measure, [&] { return was_quiet; }));
    peaks.is_disturbed = peaks.is_disturbed || !rate.is_reproduced;
    return rate.most;
  };
  MDH_ASSIGN_OR_RETURN(peaks.fp32_flops_per_s,
                       rate(ArithmeticPeakKernel(device, ScalarType::kFloat32)));
  if (device.blocks.has_fp64) {
    MDH_ASSIGN_OR_RETURN(peaks.fp64_flops_per_s,
                         rate(ArithmeticPeakKernel(device, ScalarType::kFloat64)));
  }
  const int64_t bytes = BandwidthBytes(device);
  MDH_ASSIGN_OR_RETURN(peaks.memory_bytes_per_s, rate(ReadPeakKernel(device, bytes)));
  MDH_ASSIGN_OR_RETURN(peaks.copy_bytes_per_s, rate(CopyPeakKernel(device, bytes)));
  MDH_ASSIGN_OR_RETURN(const CallTime empty, time_of(EmptyKernel(device).kernel));
  peaks.launch_overhead_ns = empty.ns;
  for (const MatrixInstruction& instruction : FastestInstructions(device)) {
    const Result<double> reached = rate(UnitPeakKernel(device, instruction));
    if (absl::IsCancelled(reached.status())) return reached.status();
    // A compiler may not know all units of the device: what was not measured is not known.
    if (reached.ok()) peaks.units.*PeakOf(instruction) = *reached;
  }
  return peaks;
}

}  // namespace mdh
