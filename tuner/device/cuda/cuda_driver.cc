#include "tuner/device/cuda/cuda_driver.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "tuner/device/cuda/cuda_function.h"
#include "tuner/device/cuda/cuda_memory.h"
#include "tuner/device/cuda/cuda_program.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/device/gpu_clocks.h"

namespace mdh {
namespace {

class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice(const CudaDriver& driver, DeviceDescription description, int capability, int device)
      : driver_(driver),
        description_(std::move(description)),
        capability_(capability),
        device_(device),
        clocks_(OpenClocks(driver_.functions, device)) {}

  const DeviceDescription& description() const override { return description_; }
  std::string platform() const override { return "CUDA"; }
  std::string driver() const override { return driver_.version; }

  Result<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes, int64_t guard_bytes) override {
    MDH_RETURN_IF_ERROR(Enter());
    CudaPointer start = 0;
    const int64_t all = std::max<int64_t>(bytes + 2 * guard_bytes, 1);  // none is empty
    MDH_RETURN_IF_ERROR(
        driver_.Check(absl::StrCat("cuMemAlloc(", all, " bytes)"),
                      driver_.functions.MemAlloc(&start, static_cast<size_t>(all))));
    return std::make_unique<CudaMemory>(driver_.functions, start, bytes, guard_bytes);
  }

  Result<std::unique_ptr<DeviceProgram>> Compile(const Kernel& kernel) override {
    MDH_ASSIGN_OR_RETURN(const std::string image, CompileToBinary(kernel));
    return LoadBinary(kernel, image);
  }

  Result<std::string> CompileToBinary(const Kernel& kernel) override {
    MDH_RETURN_IF_ERROR(CheckLaunches(kernel, description_));
    MDH_ASSIGN_OR_RETURN(Cubin cubin, CompileToCubin(driver_.nvrtc, capability_, kernel));
    return std::move(cubin.image);
  }

  Result<std::unique_ptr<DeviceProgram>> LoadBinary(const Kernel& kernel,
                                                    const std::string& binary) override {
    MDH_RETURN_IF_ERROR(CheckLaunches(kernel, description_));
    MDH_RETURN_IF_ERROR(Enter());
    return LoadCudaProgram(driver_.functions, capability_, kernel.launches, binary);
  }

  Result<std::unique_ptr<DeviceFunction>> CompileFunction(const FunctionSource& source) override {
    MDH_RETURN_IF_ERROR(Enter());
    return CompileCudaFunction(driver_, capability_, source);
  }

  bool IsHeldBack() const override { return clocks_ != nullptr && clocks_->AreHeldBack(); }

  Status Finish() override {
    MDH_RETURN_IF_ERROR(Enter());
    return driver_.Check("cuCtxSynchronize", driver_.functions.CtxSynchronize());
  }

 private:
  static std::unique_ptr<GpuClocks> OpenClocks(const CudaFunctions& functions, int device) {
    char bus_id[64] = "";
    const bool is_known = functions.DeviceGetPciBusId != nullptr &&
                          functions.DeviceGetPciBusId(bus_id, sizeof bus_id, device) == 0;
    return is_known ? GpuClocks::Open(bus_id) : nullptr;
  }

  // A process may use several devices; calls go to that of the current context. Contexts are made
  // when they are needed first: they take time and memory of the device.
  Status Enter() {
    if (context_ == nullptr) {
      MDH_RETURN_IF_ERROR(
          driver_.Check("cuDevicePrimaryCtxRetain",
                        driver_.functions.DevicePrimaryCtxRetain(&context_, device_)));
    }
    return driver_.Check("cuCtxSetCurrent", driver_.functions.CtxSetCurrent(context_));
  }

  const CudaDriver& driver_;
  DeviceDescription description_;
  int capability_;
  int device_;
  std::unique_ptr<GpuClocks> clocks_;  // nullptr: nobody says how they are
  void* context_ = nullptr;
};

// Reads attributes until the first error.
class AttributeReader {
 public:
  AttributeReader(const CudaDriver& driver, int device) : driver_(driver), device_(device) {}
  int operator()(int attribute) {
    int value = 0;
    if (!status_.ok()) return 0;
    status_ = driver_.Check(absl::StrCat("cuDeviceGetAttribute(", attribute, ")"),
                            driver_.functions.DeviceGetAttribute(&value, attribute, device_));
    return value;
  }
  const Status& status() const { return status_; }

 private:
  const CudaDriver& driver_;
  int device_;
  Status status_;
};

Result<DeviceDescription> Describe(const CudaDriver& driver, int device, int capability) {
  DeviceDescription d;
  d.kind = DeviceKind::kCuda;
  char name[256] = "";
  MDH_RETURN_IF_ERROR(
      driver.Check("cuDeviceGetName", driver.functions.DeviceGetName(name, sizeof name, device)));
  size_t memory = 0;
  MDH_RETURN_IF_ERROR(
      driver.Check("cuDeviceTotalMem", driver.functions.DeviceTotalMem(&memory, device)));
  AttributeReader read(driver, device);
  d.name = name;
  d.isa = absl::StrCat("sm_", capability);
  d.compiler = absl::StrCat("nvrtc ", driver.nvrtc.Version(), ", driver ", driver.version);
  d.clock_hz = 1e3 * read(cuda::kClockKhz);
  d.l2_bytes = read(cuda::kL2Bytes);
  // Its memory moves two words of the bus in a cycle.
  d.limits.memory_bytes_per_s =
      2 * 1e3 * read(cuda::kMemoryClockKhz) * read(cuda::kMemoryBusBits) / 8;
  BlockLimits& b = d.blocks;
  b.multiprocessors = read(cuda::kMultiprocessors);
  d.cores = b.multiprocessors;
  b.max_threads_per_block = read(cuda::kMaxThreadsPerBlock);
  for (int axis = 0; axis < 3; ++axis) {
    b.max_block[axis] = read(cuda::kMaxBlockX + axis);
    b.max_grid[axis] = read(cuda::kMaxGridX + axis);
  }
  b.warp_size = read(cuda::kWarpSize);
  b.shared_bytes_per_block =
      std::max(read(cuda::kSharedBytesPerBlockOptIn), read(cuda::kSharedBytesPerBlock));
  b.registers_per_thread = 255;  // the same for every architecture that NVRTC still compiles for
  b.registers_per_block = read(cuda::kRegistersPerBlock);
  b.memory_bytes = static_cast<int64_t>(memory);
  MDH_RETURN_IF_ERROR(read.status());
  d.features = FeaturesOf(d);
  return d;
}

Result<std::unique_ptr<ComputeDevice>> OpenDevice(const CudaDriver& driver, int number) {
  int device = 0;
  MDH_RETURN_IF_ERROR(driver.Check("cuDeviceGet", driver.functions.DeviceGet(&device, number)));
  AttributeReader read(driver, device);
  const int major = read(cuda::kCapabilityMajor), minor = read(cuda::kCapabilityMinor);
  MDH_RETURN_IF_ERROR(read.status());
  const int capability = 10 * major + minor;
  MDH_ASSIGN_OR_RETURN(DeviceDescription description, Describe(driver, device, capability));
  return std::make_unique<CudaDevice>(driver, std::move(description), capability, device);
}

}  // namespace

Result<std::vector<std::unique_ptr<ComputeDevice>>> FindCudaDevices(
    const CudaLibraries& libraries) {
  MDH_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(libraries.driver));
  CudaFunctions functions;
  MDH_RETURN_IF_ERROR(LoadCudaFunctions(library, &functions));
  if (const Status status = CheckCuda(functions, "cuInit", functions.Init(0)); !status.ok()) {
    return FailedPrecondition(status.message());
  }
  int count = 0;
  MDH_RETURN_IF_ERROR(CheckCuda(functions, "cuDeviceGetCount", functions.DeviceGetCount(&count)));
  if (count == 0) return NotFound("there is no CUDA device");
  int version = 0;
  MDH_RETURN_IF_ERROR(
      CheckCuda(functions, "cuDriverGetVersion", functions.DriverGetVersion(&version)));
  MDH_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::Load(libraries.nvrtc_folders));
  const auto* driver = new CudaDriver{functions, std::move(nvrtc),
                                      absl::StrCat(version / 1000, ".", version % 1000 / 10)};
  std::vector<std::unique_ptr<ComputeDevice>> devices;
  for (int number = 0; number < count; ++number) {
    MDH_ASSIGN_OR_RETURN(devices.emplace_back(), OpenDevice(*driver, number));
  }
  return devices;
}

}  // namespace mdh
