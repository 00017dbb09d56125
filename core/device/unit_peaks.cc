#include "core/device/unit_peaks.h"

#include <algorithm>

namespace mdh {
namespace {

bool CanGenerate(const MatrixInstruction& row, const DeviceDescription& device) {
  if (row.is_planned || !row.isa.empty()) return false;
  return row.unit != MatrixUnit::kWarpGroup || device.features.group_units;
}

MatrixInstruction Widest(const MatrixInstruction& row) {
  constexpr int64_t kMostColumns = 256;
  return HasN(row, kMostColumns) ? WithN(row, kMostColumns) : row;
}

}  // namespace

double UnitPeaks::*PeakOf(const MatrixInstruction& instruction) {
  switch (instruction.a) {
    case ScalarType::kFloat32:
      return &UnitPeaks::tf32_flops_per_s;
    case ScalarType::kFloat64:
      return &UnitPeaks::fp64_flops_per_s;
    case ScalarType::kFloat8E4m3:
    case ScalarType::kFloat8E5m2:
      return &UnitPeaks::fp8_flops_per_s;
    case ScalarType::kInt8:
    case ScalarType::kUint8:
      return &UnitPeaks::int8_ops_per_s;
    default:
      return &UnitPeaks::half_flops_per_s;
  }
}

std::vector<MatrixInstruction> FastestInstructions(const DeviceDescription& device) {
  std::vector<MatrixInstruction> fastest;
  for (const MatrixInstruction& row : MatrixInstructions()) {
    const double rate = CanGenerate(row, device) ? MultiplyAddsPerCycle(row, device) : 0;
    if (rate == 0) continue;
    const auto same = std::ranges::find_if(
        fastest, [&](const MatrixInstruction& other) { return PeakOf(other) == PeakOf(row); });
    if (same == fastest.end()) {
      fastest.push_back(Widest(row));
      continue;
    }
    // Of those that are as fast the one that does the most.
    const double before = MultiplyAddsPerCycle(*same, device);
    const bool is_longer = rate == before && row.unit == same->unit && row.k > same->k;
    if (rate > before || is_longer) *same = Widest(row);
  }
  return fastest;
}

double ReachedBy(const MatrixInstruction& instruction, const DeviceDescription& device,
                 const UnitPeaks& peaks) {
  if (peaks.*PeakOf(instruction) == 0) return 0;
  for (const MatrixInstruction& fastest : FastestInstructions(device)) {
    if (PeakOf(fastest) != PeakOf(instruction)) continue;
    const bool is_as_fast =
        MultiplyAddsPerCycle(instruction, device) == MultiplyAddsPerCycle(fastest, device);
    return is_as_fast ? peaks.*PeakOf(instruction) : 0;
  }
  return 0;
}

double ClockOfUnits(const DeviceDescription& device, const UnitPeaks& peaks) {
  double clock_hz = 0;
  if (peaks == UnitPeaks{}) return clock_hz;
  for (const MatrixInstruction& fastest : FastestInstructions(device)) {
    const double per_cycle =
        2 * MultiplyAddsPerCycle(fastest, device) * device.blocks.multiprocessors;
    if (per_cycle > 0) clock_hz = std::max(clock_hz, peaks.*PeakOf(fastest) / per_cycle);
  }
  return clock_hz;
}

}  // namespace mdh
