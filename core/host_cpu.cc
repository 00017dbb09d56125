// Describing this machine's CPU.
#include <sched.h>

#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/device_description.h"

namespace mdh {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(absl::StripAsciiWhitespace(line));
}

// "32K", "1024K", "32M" as in sysfs; 0 if it is none of these.
int64_t ParseCacheSize(absl::string_view text) {
  int64_t factor = 1;
  if (absl::ConsumeSuffix(&text, "K")) {
    factor = int64_t{1} << 10;
  } else if (absl::ConsumeSuffix(&text, "M")) {
    factor = int64_t{1} << 20;
  }
  int64_t size = 0;
  return absl::SimpleAtoi(text, &size) ? size * factor : 0;
}

// Keeps the defaults for what the system does not tell (containers often hide sysfs).
void ReadCaches(DeviceDescription* device) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    const std::string level = FirstLine(folder + "level");
    const int64_t size = ParseCacheSize(FirstLine(folder + "size"));
    if (level.empty() || size <= 0 || FirstLine(folder + "type") == "Instruction") continue;
    if (level == "1") device->l1_bytes = size;
    if (level == "2") device->l2_bytes = size;
    if (level == "3") device->l3_bytes = size;
    int line_bytes = 0;
    if (absl::SimpleAtoi(FirstLine(folder + "coherency_line_size"), &line_bytes) &&
        line_bytes > 0) {
      device->cache_line_bytes = line_bytes;
    }
  }
}

// The first value of `key` in /proc/cpuinfo.
std::optional<std::string> CpuInfo(absl::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == key) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return std::nullopt;
}

double ClockHz() {
  double khz = 0;
  if (absl::SimpleAtod(FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"), &khz) &&
      khz > 0) {
    return khz * 1e3;
  }
  double mhz = 0;
  return absl::SimpleAtod(CpuInfo("cpu MHz").value_or(""), &mhz) ? mhz * 1e6 : 0;
}

void ReadInstructionSet(DeviceDescription* device) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  device->isa = "x86-64";
  if (__builtin_cpu_supports("avx512f")) {
    device->simd_bytes = 64;
    device->vector_registers = 32;
  } else if (__builtin_cpu_supports("avx2")) {
    device->simd_bytes = 32;
  }
  if (__builtin_cpu_supports("avx2")) device->isa += " avx2";
  if (__builtin_cpu_supports("fma")) device->isa += " fma";
  if (__builtin_cpu_supports("avx512f")) device->isa += " avx512f";
#elif defined(__aarch64__)
  device->isa = "aarch64 neon";
  device->vector_registers = 32;
#else
  device->isa = "generic";
#endif
}

// CPUs this process may run on: in a container that is fewer than the machine has.
Result<int> UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return absl::FailedPreconditionError("cannot read on which CPUs this process may run");
  }
  return CPU_COUNT(&set);
}

}  // namespace

Result<DeviceDescription> DescribeHostCpu() {
  DeviceDescription device;
  MDH_ASSIGN_OR_RETURN(device.cores, UsableCores());
  // Arm's kernels give no "model name".
  std::optional<std::string> name = CpuInfo("model name");
  if (!name.has_value()) name = CpuInfo("CPU part");
  device.name = name.value_or("unknown CPU");
  ReadInstructionSet(&device);
  ReadCaches(&device);
  device.clock_hz = ClockHz();
  return device;
}

}  // namespace mdh
