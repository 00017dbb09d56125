#include "core/device/host_cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/allowed_cores.h"
#include "core/device/cgroup.h"

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
void ReadCaches(const std::string& root, DeviceDescription* device) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        absl::StrCat(root, "/sys/devices/system/cpu/cpu0/cache/index", index, "/");
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
std::optional<std::string> CpuInfo(const std::string& root, absl::string_view key) {
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == key) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return std::nullopt;
}

// MachineLimits::unit_bytes. AMD's Zen 4 computes vectors of 64 bytes in two cycles; its family 25
// has Zen 3 besides, whose vectors are of 32.
int UnitBytes(const std::string& root) {
  const bool is_zen4 =
      CpuInfo(root, "vendor_id") == "AuthenticAMD" && CpuInfo(root, "cpu family") == "25";
  return is_zen4 ? 32 : 0;
}

double ClockHz(const std::string& root) {
  double khz = 0;
  if (absl::SimpleAtod(FirstLine(root + "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"),
                       &khz) &&
      khz > 0) {
    return khz * 1e3;
  }
  double mhz = 0;
  return absl::SimpleAtod(CpuInfo(root, "cpu MHz").value_or(""), &mhz) ? mhz * 1e6 : 0;
}

#if defined(__x86_64__)
// Whether a process that asks for the state of tile registers gets it: Linux gives it on request
// only, of which kernels of their own take care.
bool MayUseTiles() {
#if defined(__linux__)
  constexpr int kGetSupportedFeatures = 0x1021, kTileData = 18;  // ARCH_GET_XCOMP_SUPP
  uint64_t features = 0;
  return syscall(SYS_arch_prctl, kGetSupportedFeatures, &features) == 0 &&
         (features >> kTileData & 1) != 0;
#else
  return false;
#endif
}

// Words of MatrixInstruction::isa. Compilers know fewer names than there are bits.
std::string MatrixInstructionSets() {
  struct Bit {
    const char* word;
    unsigned subleaf;
    char in;  // the register: a, c or d
    int number;
    uint64_t states;  // that the system must save, as bits of XCR0
  };
  constexpr uint64_t kAvx = 0x6, kAvx512 = 0xe6, kTiles = 0x60000;
  constexpr Bit kBits[] = {
      {"avx512_vnni", 0, 'c', 11, kAvx512}, {"avx512_bf16", 1, 'a', 5, kAvx512},
      {"avx_vnni", 1, 'a', 4, kAvx},        {"avx_vnni_int8", 1, 'd', 4, kAvx},
      {"amx_bf16", 0, 'd', 22, kTiles},     {"amx_int8", 0, 'd', 25, kTiles},
  };
  constexpr unsigned kFeatures = 7, kHasXgetbv = 1U << 27;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHasXgetbv) == 0) return "";
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const uint64_t saved = uint64_t{high} << 32 | low;
  std::string words;
  for (const Bit& bit : kBits) {
    if (__get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) == 0 || a < bit.subleaf) continue;
    __get_cpuid_count(kFeatures, bit.subleaf, &a, &b, &c, &d);
    const unsigned value = bit.in == 'a' ? a : bit.in == 'c' ? c : d;
    const bool is_there = (value >> bit.number & 1) != 0 && (saved & bit.states) == bit.states &&
                          (bit.states != kTiles || MayUseTiles());
    if (is_there) absl::StrAppend(&words, " ", bit.word);
  }
  return words;
}
#endif

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
  device->isa += MatrixInstructionSets();
#elif defined(__aarch64__)
  device->isa = "aarch64 neon";
  device->vector_registers = 32;
#else
  device->isa = "generic";
#endif
}

// What a core with so much less than the fastest one's speed is: the cores that a CPU's makers call
// its best differ by a few per cent.
constexpr double kSlow = 0.85;

double FastestOf(const std::vector<HardwareThread>& threads) {
  double fastest = 0;
  for (const HardwareThread& thread : threads) fastest = std::max(fastest, thread.speed);
  return fastest;
}

bool IsSlow(const HardwareThread& thread, double fastest) {
  return thread.speed > 0 && thread.speed < kSlow * fastest;
}

// "A CPU (1.5 CPUs of its control group, 8 of 12 cores are fast)".
std::string NameWith(const std::string& name, const std::vector<std::string>& notes) {
  return notes.empty() ? name : absl::StrCat(name, " (", absl::StrJoin(notes, ", "), ")");
}

}  // namespace

std::vector<HardwareThread> ReadHardwareThreads(const HostView& view) {
  std::vector<HardwareThread> threads;
  for (const int number : view.allowed ? *view.allowed : AllowedCores()) {
    const std::string folder = absl::StrCat(view.root, "/sys/devices/system/cpu/cpu", number, "/");
    HardwareThread thread = {.number = number, .core = number};
    // "0,64" or "0-1".
    const std::string siblings = FirstLine(folder + "topology/thread_siblings_list");
    if (!absl::SimpleAtoi(siblings.substr(0, siblings.find_first_of(",-")), &thread.core)) {
      thread.core = number;
    }
    const bool is_known =
        absl::SimpleAtod(FirstLine(folder + "cpu_capacity"), &thread.speed) ||
        absl::SimpleAtod(FirstLine(folder + "cpufreq/cpuinfo_max_freq"), &thread.speed);
    if (!is_known) thread.speed = 0;
    threads.push_back(thread);
  }
  return threads;
}

std::vector<int> PlacementOrder(std::vector<HardwareThread> threads) {
  const double fastest = FastestOf(threads);
  std::set<int> met;
  std::vector<std::tuple<bool, bool, int>> order;  // shares its core, is slow, number
  for (const HardwareThread& thread : threads) {
    const bool is_first = met.insert(thread.core).second;
    order.emplace_back(!is_first, IsSlow(thread, fastest), thread.number);
  }
  std::ranges::sort(order);
  std::vector<int> numbers;
  for (const auto& [shares, is_slow, number] : order) numbers.push_back(number);
  return numbers;
}

bool AreUnlike(const std::vector<HardwareThread>& threads) {
  const double fastest = FastestOf(threads);
  std::set<int> cores;
  for (const HardwareThread& thread : threads) {
    if (!cores.insert(thread.core).second || IsSlow(thread, fastest)) return true;
  }
  return false;
}

Result<DeviceDescription> DescribeHostCpu(const HostView& view) {
  const std::vector<HardwareThread> threads = ReadHardwareThreads(view);
  if (threads.empty()) return FailedPrecondition("cannot read on which CPUs this process may run");
  DeviceDescription device;
  device.cores = static_cast<int>(threads.size());
  std::vector<std::string> notes;
  const double quota = ReadCgroupLimits(view.root).cpus;
  if (quota > 0 && quota < device.cores) {
    device.cores = static_cast<int>(std::ceil(quota));
    notes.push_back(absl::StrFormat("%g CPUs of its control group", quota));
  }
  std::map<int, bool> is_slow_core;
  for (const HardwareThread& thread : threads) {
    is_slow_core[thread.core] = IsSlow(thread, FastestOf(threads));
  }
  const auto slow =
      std::ranges::count_if(is_slow_core, [](const auto& core) { return core.second; });
  if (slow > 0) {
    const auto cores = std::ssize(is_slow_core);
    notes.push_back(absl::StrCat(cores - slow, " of ", cores, " cores are fast"));
  }
  // Arm's kernels give no "model name".
  std::optional<std::string> name = CpuInfo(view.root, "model name");
  if (!name.has_value()) name = CpuInfo(view.root, "CPU part");
  device.name = NameWith(name.value_or("unknown CPU"), notes);
  ReadInstructionSet(&device);
  ReadCaches(view.root, &device);
  device.clock_hz = ClockHz(view.root);
  device.limits.unit_bytes = UnitBytes(view.root);
  device.features = FeaturesOf(device);
  return device;
}

Result<DeviceDescription> DescribeHostCpu() { return DescribeHostCpu(HostView()); }

}  // namespace mdh
