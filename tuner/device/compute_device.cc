#include "tuner/device/compute_device.h"

#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "core/base/round.h"

namespace mdh {

Status CheckLaunches(const Kernel& kernel, const DeviceDescription& device) {
  constexpr char kAxes[] = "xyz";
  const BlockLimits& limits = device.blocks;
  if (kernel.launches.empty()) return InvalidArgument("the kernel has no launches");
  for (const KernelLaunch& launch : kernel.launches) {
    const auto exceeds = [&](absl::string_view what, int64_t value, int64_t limit) {
      return ResourceExhausted(launch.function, ": ", what, " ", value, ", the limit of ",
                               device.name, " is ", limit);
    };
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t blocks = launch.geometry.grid[axis], threads = launch.geometry.block[axis];
      const std::string along = absl::StrCat(" along ", std::string(1, kAxes[axis]), " are");
      if (blocks < 1 || blocks > limits.max_grid[axis]) {
        return exceeds(absl::StrCat("blocks", along), blocks, limits.max_grid[axis]);
      }
      if (threads < 1 || threads > limits.max_block[axis]) {
        return exceeds(absl::StrCat("threads of a block", along), threads, limits.max_block[axis]);
      }
    }
    const int64_t threads = launch.geometry.threads_per_block();
    if (threads > limits.max_threads_per_block) {
      return exceeds("threads of a block are", threads, limits.max_threads_per_block);
    }
    if (launch.dynamic_shared_bytes > limits.shared_bytes_per_block) {
      return exceeds("bytes of shared memory are", launch.dynamic_shared_bytes,
                     limits.shared_bytes_per_block);
    }
  }
  return absl::OkStatus();
}

namespace {

// Of a block: every warp has a multiple of 256, and four warps, one of each part of the
// multiprocessor, are the least.
int64_t AllocatedRegisters(int64_t threads, int registers) {
  constexpr int64_t kWarp = 32, kUnit = 256, kParts = 4;
  return RoundUp(CeilDivide(threads, kWarp), kParts) * RoundUp(registers * kWarp, kUnit);
}

Status CheckResourcesOfLaunch(const KernelLaunch& launch, const FunctionResources& function,
                              const DeviceDescription& device) {
  const BlockLimits& limits = device.blocks;
  const int64_t threads = launch.geometry.threads_per_block();
  const int64_t registers = AllocatedRegisters(threads, function.registers);
  if (limits.registers_per_block > 0 && registers > limits.registers_per_block) {
    return ResourceExhausted(launch.function, ": ", threads, " threads with ", function.registers,
                             " registers take ", registers, " registers, the limit of ",
                             device.name, " is ", limits.registers_per_block);
  }
  const int64_t shared = function.shared_bytes + launch.dynamic_shared_bytes;
  if (shared <= limits.shared_bytes_per_block) return absl::OkStatus();
  return ResourceExhausted(launch.function, ": bytes of shared memory are ", function.shared_bytes,
                           " + ", launch.dynamic_shared_bytes, ", the limit of ", device.name,
                           " is ", limits.shared_bytes_per_block);
}

}  // namespace

Status CheckResources(const Kernel& kernel, absl::Span<const FunctionResources> functions,
                      const DeviceDescription& device) {
  for (const KernelLaunch& launch : kernel.launches) {
    for (const FunctionResources& function : functions) {
      if (function.function != launch.function) continue;
      MDH_RETURN_IF_ERROR(CheckResourcesOfLaunch(launch, function, device));
    }
  }
  return absl::OkStatus();
}

Status CheckLaunch(const std::string& function, const FunctionLaunch& launch,
                   const DeviceDescription& device) {
  Kernel kernel;
  KernelLaunch& only = kernel.launches.emplace_back();
  only.function = function;
  only.geometry.grid = launch.blocks;
  if (launch.threads) only.geometry.block = *launch.threads;
  only.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  return CheckLaunches(kernel, device);
}

}  // namespace mdh
