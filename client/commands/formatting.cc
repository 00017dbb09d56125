#include "client/commands/formatting.h"

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

void AppendSpeedUp(const char* than, int64_t slower_ns, int64_t time_ns, std::string& text) {
  if (slower_ns <= 0) return;
  absl::StrAppendFormat(&text, "  %-12s %s: %.1f times as fast\n", than, FormatTime(slower_ns),
                        static_cast<double>(slower_ns) / static_cast<double>(time_ns));
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

std::string FormatBar(double share) {
  constexpr int kCharacters = 24;
  const int filled = static_cast<int>(std::lround(share * kCharacters));
  return absl::StrCat("[", std::string(filled, '#'), std::string(kCharacters - filled, '.'), "]");
}

Bound LowerBound(const v1::TuningRecord& record) {
  const double peak = record.is_double_precision() ? record.peaks().fp64_flops_per_s()
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

std::string FormatRecord(const v1::TuningRecord& record) {
  const auto time_ns = static_cast<double>(record.time_ns());
  const Bound bound = LowerBound(record);
  std::string text = absl::StrCat(record.expression_name(), "\n");
  absl::StrAppendFormat(&text, "  %-12s %s%s\n", "time", FormatTime(record.time_ns()),
                        record.cache_state() == v1::CACHE_STATE_COLD ? ", with cold caches" : "");
  if (record.is_disturbed()) {
    absl::StrAppendFormat(&text, "  %-12s %s\n", "disturbed",
                          "others used the machine; it is measured again when that is quiet");
  }
  std::string speed;
  if (record.flops() > 0 && !bound.is_bandwidth) {
    speed = FormatFlops(static_cast<double>(record.flops()) / time_ns * 1e9);
  } else {
    speed = FormatBandwidth(static_cast<double>(record.compulsory_bytes()) / time_ns * 1e9);
  }
  absl::StrAppendFormat(&text, "  %-12s %s", "speed", speed);
  const bool shows_bytes = record.flops() == 0 || bound.is_bandwidth;
  if (shows_bytes && record.fits_in_cache()) absl::StrAppend(&text, ", of data in caches");
  if (bound.time_ns > 0) {
    absl::StrAppendFormat(
        &text, ", %.0f %% of the measured %s", bound.time_ns / time_ns * 100,
        bound.is_bandwidth ? "bandwidth of " + FormatBandwidth(record.peaks().memory_bytes_per_s())
                           : "peak of " + FormatFlops(record.is_double_precision()
                                                          ? record.peaks().fp64_flops_per_s()
                                                          : record.peaks().fp32_flops_per_s()));
    const std::string why =
        WhyAbovePeak(time_ns, bound, record.compulsory_bytes(), record.device());
    if (!why.empty()) absl::StrAppend(&text, ": ", why);
  }
  absl::StrAppend(&text, "\n");
  AppendSpeedUp("loop nest", record.loop_nest_time_ns(), record.time_ns(), text);
  AppendSpeedUp("from rules", record.default_time_ns(), record.time_ns(), text);
  absl::StrAppendFormat(&text, "  %-12s %d, %d of them failed, in %s%s\n", "trials",
                        record.trials(), record.failed_trials(),
                        FormatTime(record.search_time_ns()),
                        record.search_end() == v1::SEARCH_END_CANCELLED ? ", cancelled" : "");
  const bool is_sum =
      record.total_search_time_ns() > record.search_time_ns() + record.search_time_ns() / 4;
  if (is_sum || record.is_exhausted()) {
    absl::StrAppendFormat(&text, "  %-12s %s in all%s\n", "searched",
                          FormatTime(record.total_search_time_ns()),
                          record.is_exhausted() ? ", every configuration" : "");
  }
  if (record.result_check() == v1::RESULT_CHECK_SAMPLES) {
    absl::StrAppendFormat(&text, "  %-12s on some elements\n", "checked");
  } else if (record.result_check() == v1::RESULT_CHECK_NONE) {
    absl::StrAppendFormat(&text, "  %-12s not: the budget is too short for that\n", "checked");
  }
  absl::StrAppendFormat(&text, "  %-12s %s\n\n%s", "record", record.name(),
                        record.low_level_table());
  if (text.back() != '\n') text.push_back('\n');
  return text;
}

}  // namespace mdh
