// Descriptions of devices: their fingerprints and whether they are consistent.
#include "core/device/device_description.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mdh {
namespace {

template <typename... Parts>
Status InvalidDescription(const Parts&... parts) {
  return InvalidArgument("device description: ", parts...);
}

Status Positive(absl::string_view field, int64_t value) {
  if (value >= 1) return absl::OkStatus();
  return InvalidDescription(field, " is ", value, ", not positive");
}

Status NotNegative(absl::string_view field, int64_t value) {
  if (value >= 0) return absl::OkStatus();
  return InvalidDescription(field, " is ", value, ", which is negative");
}

Status PowerOfTwo(absl::string_view field, int64_t value) {
  MDH_RETURN_IF_ERROR(Positive(field, value));
  if ((value & (value - 1)) == 0) return absl::OkStatus();
  return InvalidDescription(field, " is ", value, ", no power of two");
}

Status ValidateCpu(const DeviceDescription& device) {
  MDH_RETURN_IF_ERROR(Positive("cores", device.cores));
  MDH_RETURN_IF_ERROR(PowerOfTwo("simd_bytes", device.simd_bytes));
  MDH_RETURN_IF_ERROR(Positive("vector_registers", device.vector_registers));
  MDH_RETURN_IF_ERROR(NotNegative("l1_bytes", device.l1_bytes));
  MDH_RETURN_IF_ERROR(NotNegative("l2_bytes", device.l2_bytes));
  MDH_RETURN_IF_ERROR(NotNegative("l3_bytes", device.l3_bytes));
  return PowerOfTwo("cache_line_bytes", device.cache_line_bytes);
}

Status ValidateMachine(const MachineLimits& limits) {
  for (const auto& [field, value] :
       {std::pair("limits.clock_hz", limits.clock_hz),
        std::pair("limits.memory_bytes_per_s", limits.memory_bytes_per_s)}) {
    if (!std::isfinite(value) || value < 0) {
      return InvalidDescription(field, " is ", value, ", no rate");
    }
  }
  MDH_RETURN_IF_ERROR(NotNegative("limits.cache_bytes", limits.cache_bytes));
  return NotNegative("limits.unit_bytes", limits.unit_bytes);
}

Status ValidateSizes(const BlockLimits& blocks) {
  double threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const std::string index = absl::StrCat("[", axis, "]");
    MDH_RETURN_IF_ERROR(Positive("max_block" + index, blocks.max_block[axis]));
    MDH_RETURN_IF_ERROR(Positive("max_grid" + index, blocks.max_grid[axis]));
    threads *= static_cast<double>(blocks.max_block[axis]);
  }
  if (threads < blocks.max_threads_per_block) {
    return InvalidDescription("max_threads_per_block is ", blocks.max_threads_per_block,
                              ", but max_block allows only ", threads);
  }
  if (blocks.warp_size > blocks.max_threads_per_block) {
    return InvalidDescription("warp_size is ", blocks.warp_size,
                              ", more than max_threads_per_block, ", blocks.max_threads_per_block);
  }
  return absl::OkStatus();
}

Status ValidateRegisters(const BackendInfo& backend, const BlockLimits& blocks) {
  MDH_RETURN_IF_ERROR(NotNegative("registers_per_thread", blocks.registers_per_thread));
  MDH_RETURN_IF_ERROR(NotNegative("registers_per_block", blocks.registers_per_block));
  if (backend.limits_registers) {
    MDH_RETURN_IF_ERROR(Positive("registers_per_thread", blocks.registers_per_thread));
    MDH_RETURN_IF_ERROR(Positive("registers_per_block", blocks.registers_per_block));
  }
  if (blocks.registers_per_block > 0 && blocks.registers_per_thread > blocks.registers_per_block) {
    return InvalidDescription("registers_per_thread is ", blocks.registers_per_thread,
                              ", more than registers_per_block, ", blocks.registers_per_block);
  }
  return absl::OkStatus();
}

Status ValidateBlocks(const BackendInfo& backend, const BlockLimits& blocks) {
  MDH_RETURN_IF_ERROR(Positive("multiprocessors", blocks.multiprocessors));
  MDH_RETURN_IF_ERROR(Positive("max_threads_per_block", blocks.max_threads_per_block));
  MDH_RETURN_IF_ERROR(PowerOfTwo("warp_size", blocks.warp_size));
  MDH_RETURN_IF_ERROR(ValidateSizes(blocks));
  MDH_RETURN_IF_ERROR(ValidateRegisters(backend, blocks));
  MDH_RETURN_IF_ERROR(Positive("shared_bytes_per_block", blocks.shared_bytes_per_block));
  MDH_RETURN_IF_ERROR(Positive("memory_bytes", blocks.memory_bytes));
  if (blocks.shared_bytes_per_block > blocks.memory_bytes) {
    return InvalidDescription("shared_bytes_per_block is ", blocks.shared_bytes_per_block,
                              ", more than memory_bytes, ", blocks.memory_bytes);
  }
  return absl::OkStatus();
}

std::string BlocksText(const BlockLimits& b) {
  return absl::StrFormat(
      "multiprocessors %d; threads %d; block %d,%d,%d; grid %d,%d,%d; warp %d; shared %d; "
      "registers %d of %d; memory %d; fp64 %s",
      b.multiprocessors, b.max_threads_per_block, b.max_block[0], b.max_block[1], b.max_block[2],
      b.max_grid[0], b.max_grid[1], b.max_grid[2], b.warp_size, b.shared_bytes_per_block,
      b.registers_per_thread, b.registers_per_block, b.memory_bytes, b.has_fp64 ? "yes" : "no");
}

std::string MissingFeatures(const DeviceDescription& device) {
  const DeviceFeatures has = FeaturesOf(device);
  std::string text;
  for (const auto& [name, field] : FeatureNames()) {
    if (has.*field && !(device.features.*field)) absl::StrAppend(&text, "; without ", name);
  }
  return text;
}

}  // namespace

std::string DeviceDescription::Fingerprint() const {
  const std::string with = compiler.empty() ? "unknown" : compiler;
  const BackendInfo& backend = BackendOf(kind);
  if (backend.has_blocks) {
    return absl::StrFormat("%s '%s'; %s; %s%s; compiler %s", backend.name, name, isa,
                           BlocksText(blocks), MissingFeatures(*this), with);
  }
  return absl::StrFormat(
      "cpu '%s'; cores %d; %s%s; simd %d B x %d; L1 %d; L2 %d; L3 %d; line %d; compiler %s", name,
      cores, isa, MissingFeatures(*this), simd_bytes, vector_registers, l1_bytes, l2_bytes,
      l3_bytes, cache_line_bytes, with);
}

Status ValidateDevice(const DeviceDescription& device) {
  const BackendInfo* backend = FindBackend(device.kind);
  if (backend == nullptr) {
    return InvalidDescription("kind is ", static_cast<int>(device.kind), ", which is none");
  }
  MDH_RETURN_IF_ERROR(backend->has_blocks ? ValidateBlocks(*backend, device.blocks)
                                          : ValidateCpu(device));
  MDH_RETURN_IF_ERROR(ValidateMachine(device.limits));
  return ValidateFeatures(device);
}

}  // namespace mdh
