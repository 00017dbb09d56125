// GPUs by compute capability: the table of technical specifications in the CUDA C++ programming
// guide; the number of multiprocessors and the memory are those of one product each.
#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/device/device_description.h"

namespace mdh {
namespace {

struct Architecture {
  int compute_capability;
  const char* name;
  int multiprocessors;
  int shared_kib;  // of one block, with opting in
  int memory_gib;
  int l2_mib;
  double clock_hz;
};

constexpr std::array<Architecture, 5> kArchitectures = {{
    {80, "NVIDIA A100", 108, 163, 40, 40, 1.41e9},
    {86, "NVIDIA A10", 72, 99, 24, 6, 1.695e9},
    {89, "NVIDIA L4", 58, 99, 24, 48, 2.04e9},
    {90, "NVIDIA H100", 132, 227, 80, 50, 1.98e9},
    {100, "NVIDIA B200", 148, 227, 180, 126, 1.965e9},
}};

BlockLimits LimitsOf(const Architecture& architecture) {
  return {.multiprocessors = architecture.multiprocessors,
          .max_threads_per_block = 1024,
          .max_block = {1024, 1024, 64},
          .max_grid = {2147483647, 65535, 65535},
          .warp_size = 32,
          .shared_bytes_per_block = int64_t{architecture.shared_kib} << 10,
          .registers_per_thread = 255,
          .registers_per_block = 65536,
          .memory_bytes = int64_t{architecture.memory_gib} << 30,
          .has_fp64 = true};
}

}  // namespace

int ComputeCapability(const DeviceDescription& device) {
  absl::string_view digits = device.isa;
  if (device.kind == DeviceKind::kOpenCl) {
    const size_t space = digits.rfind(' ');
    digits.remove_prefix(space == digits.npos ? digits.size() : space + 1);
  }
  int capability = 0;
  const bool is_known =
      absl::ConsumePrefix(&digits, "sm_") && absl::SimpleAtoi(digits, &capability);
  return is_known ? capability : 0;
}

Result<DeviceDescription> DescribeCudaArchitecture(int compute_capability) {
  const auto known =
      std::ranges::find(kArchitectures, compute_capability, &Architecture::compute_capability);
  if (known == kArchitectures.end()) {
    return InvalidArgument(
        "compute capability ", compute_capability, " is not known; known are ",
        absl::StrJoin(kArchitectures, ", ", [](std::string* out, const Architecture& one) {
          absl::StrAppend(out, one.compute_capability);
        }));
  }
  DeviceDescription device;
  device.kind = DeviceKind::kCuda;
  device.name = known->name;
  device.isa = absl::StrCat("sm_", compute_capability);
  device.l2_bytes = int64_t{known->l2_mib} << 20;
  device.cache_line_bytes = 128;
  device.clock_hz = known->clock_hz;
  device.blocks = LimitsOf(*known);
  device.features = FeaturesOf(device);
  return device;
}

}  // namespace mdh
