#include "client/text/formatting.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mdh {
namespace {

// "1.23 ms": `value` in the largest unit that leaves at least 1.
template <size_t kCount>
std::string Scaled(double value, double step, const char* const (&units)[kCount]) {
  size_t unit = 0;
  while (value >= step * 0.9995 && unit + 1 < kCount) {
    value /= step;
    ++unit;
  }
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return absl::StrFormat("%.*f %s", decimals, value, units[unit]);
}

}  // namespace

std::string FormatTime(int64_t nanoseconds) {
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  if (nanoseconds < 1000) return absl::StrCat(nanoseconds, " ns");
  return Scaled(static_cast<double>(nanoseconds), 1000, kUnits);
}

std::string FormatBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  return Scaled(static_cast<double>(bytes), 1024, kUnits);
}

std::string FormatFlops(double flops_per_s) {
  if (flops_per_s >= 1e13) return absl::StrFormat("%.1f TFLOP/s", flops_per_s / 1e12);
  return absl::StrFormat("%.*f GFLOP/s", flops_per_s >= 1e11 ? 0 : 2, flops_per_s / 1e9);
}

std::string FormatBandwidth(double bytes_per_s) {
  return absl::StrFormat("%.*f GB/s", bytes_per_s >= 1e11 ? 0 : 2, bytes_per_s / 1e9);
}

const std::array<const char*, 6> kBoundClasses = {"below 1/16", "1/16 to 1/8", "1/8 to 1/4",
                                                  "1/4 to 1/2", "1/2 to 1",    "1 and more"};

std::string FormatBar(double share) {
  constexpr int kCharacters = 24;
  const int filled = static_cast<int>(std::lround(share * kCharacters));
  return absl::StrCat("[", std::string(filled, '#'), std::string(kCharacters - filled, '.'), "]");
}

Bound LowerBound(const v1::TuningRecord& record, double unit_flops_per_s) {
  const double peak = unit_flops_per_s > 0           ? unit_flops_per_s
                      : record.is_double_precision() ? record.peaks().fp64_flops_per_s()
                                                     : record.peaks().fp32_flops_per_s();
  const double bandwidth = record.peaks().memory_bytes_per_s();
  const double compute_ns = peak > 0 ? static_cast<double>(record.flops()) / peak * 1e9 : 0;
  const double memory_ns = bandwidth > 0 && !record.fits_in_cache()
                               ? static_cast<double>(record.compulsory_bytes()) / bandwidth * 1e9
                               : 0;
  return {std::max(compute_ns, memory_ns), memory_ns > compute_ns};
}

std::string WhyAbovePeak(double time_ns, const Bound& bound, int64_t bytes,
                         const v1::DeviceDescription& device) {
  constexpr double kTolerance = 1.005;  // what is shown as 100 %
  constexpr int64_t kCacheFactor = 4;   // of larger data, caches keep too little to matter
  if (bound.time_ns <= time_ns * kTolerance) return "";
  if (!bound.is_bandwidth) {
    return "not all operations are executed, as where they are moved out of loops, or the peak was "
           "measured too low";
  }
  const int64_t cores = device.kind() == v1::DEVICE_KIND_CPU ? device.cores() : 1;
  const int64_t caches = device.l2_bytes() * cores + device.l3_bytes();
  if (bytes <= kCacheFactor * caches) return "part of the data stays in the caches";
  return "the bandwidth was measured too low";
}

}  // namespace mdh
