#include "tuner/device/opencl/opencl_description.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Others drive NVIDIA's devices, too, with compilers of their own, which may not take PTX.
constexpr char kExtensionOfNvidiasCompiler[] = "cl_nv_compiler_options";

// Reads properties until the first error.
class PropertyReader {
 public:
  PropertyReader(const OpenClFunctions& functions, void* device)
      : functions_(functions), device_(device) {}

  template <typename T>
  T Read(uint32_t property) {
    T value = {};
    if (!status_.ok()) return value;
    status_ =
        CheckOpenCl(absl::StrCat("clGetDeviceInfo(", absl::Hex(property), ")"),
                    functions_.GetDeviceInfo(device_, property, sizeof value, &value, nullptr));
    return value;
  }
  // Of an extension or an optional feature: 0 where there is none.
  template <typename T>
  T ReadOptional(uint32_t property) const {
    T value = {};
    return functions_.GetDeviceInfo(device_, property, sizeof value, &value, nullptr) == 0 ? value
                                                                                           : T{};
  }
  const Status& status() const { return status_; }

 private:
  const OpenClFunctions& functions_;
  void* device_;
  Status status_;
};

void ReadLimits(PropertyReader& reader, DeviceDescription& d) {
  BlockLimits& b = d.blocks;
  b.multiprocessors = static_cast<int>(reader.Read<uint32_t>(opencl::kComputeUnits));
  b.max_threads_per_block = static_cast<int>(reader.Read<size_t>(opencl::kMaxWorkGroupSize));
  const auto sizes = reader.Read<std::array<size_t, 3>>(opencl::kMaxWorkItemSizes);
  const bool is_cpu = (reader.Read<uint64_t>(opencl::kDeviceType) & opencl::kCpuDevice) != 0;
  const auto nvidia_warp = reader.ReadOptional<uint32_t>(opencl::kNvidiaWarpSize);
  const auto amd_wave = reader.ReadOptional<uint32_t>(opencl::kAmdWavefrontWidth);
  b.warp_size = is_cpu ? 1 : static_cast<int>(std::max({nvidia_warp, amd_wave, uint32_t{1}}));
  // OpenCL sets no limit, but the hardware below NVIDIA's does.
  const int64_t blocks = std::numeric_limits<int32_t>::max();
  const int64_t outer_blocks = nvidia_warp > 0 ? 65535 : blocks;
  b.max_grid = {blocks, outer_blocks, outer_blocks};
  for (int axis = 0; axis < 3; ++axis) {
    b.max_block[axis] =
        std::min(static_cast<int64_t>(sizes[axis]), int64_t{b.max_threads_per_block});
  }
  b.shared_bytes_per_block = static_cast<int64_t>(reader.Read<uint64_t>(opencl::kLocalMemoryBytes));
  b.registers_per_block =
      static_cast<int>(reader.ReadOptional<uint32_t>(opencl::kNvidiaRegistersPerBlock));
  b.registers_per_thread = nvidia_warp > 0 ? 255 : 0;
  b.memory_bytes = static_cast<int64_t>(reader.Read<uint64_t>(opencl::kGlobalMemoryBytes));
  b.has_fp64 = reader.ReadOptional<uint64_t>(opencl::kDoubleConfig) != 0;
}

}  // namespace

Result<std::string> OpenClDeviceText(const OpenClFunctions& functions, void* device,
                                     uint32_t property) {
  size_t size = 0;
  const std::string call = absl::StrCat("clGetDeviceInfo(", absl::Hex(property), ")");
  MDH_RETURN_IF_ERROR(
      CheckOpenCl(call, functions.GetDeviceInfo(device, property, 0, nullptr, &size)));
  std::string text(size, '\0');
  MDH_RETURN_IF_ERROR(
      CheckOpenCl(call, functions.GetDeviceInfo(device, property, size, text.data(), nullptr)));
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

Result<DeviceDescription> DescribeOpenClDevice(const OpenClFunctions& functions, void* device) {
  DeviceDescription d;
  d.kind = DeviceKind::kOpenCl;
  MDH_ASSIGN_OR_RETURN(d.name, OpenClDeviceText(functions, device, opencl::kDeviceName));
  MDH_ASSIGN_OR_RETURN(d.isa, OpenClDeviceText(functions, device, opencl::kDeviceVersion));
  MDH_ASSIGN_OR_RETURN(d.compiler, OpenClDeviceText(functions, device, opencl::kDriverVersion));
  PropertyReader reader(functions, device);
  MDH_ASSIGN_OR_RETURN(const std::string extensions,
                       OpenClDeviceText(functions, device, opencl::kExtensions));
  if (absl::StrContains(extensions, kExtensionOfNvidiasCompiler)) {
    const auto major = reader.ReadOptional<uint32_t>(opencl::kNvidiaCapabilityMajor);
    const auto minor = reader.ReadOptional<uint32_t>(opencl::kNvidiaCapabilityMinor);
    if (major > 0) absl::StrAppend(&d.isa, " sm_", 10 * major + minor);
  }
  ReadLimits(reader, d);
  d.cores = d.blocks.multiprocessors;
  d.clock_hz = 1e6 * reader.Read<uint32_t>(opencl::kClockMhz);
  d.l2_bytes = static_cast<int64_t>(reader.Read<uint64_t>(opencl::kGlobalCacheBytes));
  MDH_RETURN_IF_ERROR(reader.status());
  d.features = FeaturesOf(d);
  return d;
}

Result<int64_t> OpenClAlignment(const OpenClFunctions& functions, void* device) {
  PropertyReader reader(functions, device);
  const uint32_t bits = reader.Read<uint32_t>(opencl::kAlignmentBits);
  MDH_RETURN_IF_ERROR(reader.status());
  return std::max<int64_t>(bits / 8, 64);
}

}  // namespace mdh
