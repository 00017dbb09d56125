#include "tuner/device/cuda_driver.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "codegen/kernel.h"
#include "tuner/device/cuda_function.h"
#include "tuner/device/cuda_memory.h"
#include "tuner/device/nvrtc.h"

namespace mdh {
namespace {

class CudaProgram final : public DeviceProgram {
 public:
  CudaProgram(const CudaDriver& driver, std::vector<KernelLaunch> launches)
      : driver_(driver), launches_(std::move(launches)) {}
  ~CudaProgram() override {
    if (module_ != nullptr) driver_.functions.ModuleUnload(module_);
  }

  Status Load(const std::string& image) {
    MDH_RETURN_IF_ERROR(driver_.Check("cuModuleLoadData",
                                      driver_.functions.ModuleLoadData(&module_, image.data())));
    for (const KernelLaunch& launch : launches_) {
      void* function = nullptr;
      MDH_RETURN_IF_ERROR(driver_.Check(
          absl::StrCat("cuModuleGetFunction(", launch.function, ")"),
          driver_.functions.ModuleGetFunction(&function, module_, launch.function.c_str())));
      if (launch.dynamic_shared_bytes > 0) {
        MDH_RETURN_IF_ERROR(driver_.Check(
            absl::StrCat("cuFuncSetAttribute(", launch.function, ", ", launch.dynamic_shared_bytes,
                         " bytes of dynamic shared memory)"),
            driver_.functions.FuncSetAttribute(function, cuda::kFunctionDynamicSharedBytes,
                                               static_cast<int>(launch.dynamic_shared_bytes))));
      }
      functions_.push_back(function);
    }
    return absl::OkStatus();
  }

  Status Launch(absl::Span<DeviceMemory* const> arguments) override {
    std::vector<CudaPointer> pointers;
    for (DeviceMemory* memory : arguments) {
      pointers.push_back(static_cast<const CudaMemory*>(memory)->data());
    }
    std::vector<void*> values;
    for (CudaPointer& pointer : pointers) values.push_back(&pointer);
    for (size_t n = 0; n < launches_.size(); ++n) {
      const KernelLaunch& launch = launches_[n];
      const auto extent = [](int64_t value) { return static_cast<unsigned>(value); };
      const auto& grid = launch.geometry.grid;
      const auto& block = launch.geometry.block;
      MDH_RETURN_IF_ERROR(driver_.Check(
          absl::StrCat("cuLaunchKernel(", launch.function, ")"),
          driver_.functions.LaunchKernel(functions_[n], extent(grid[0]), extent(grid[1]),
                                         extent(grid[2]), extent(block[0]), extent(block[1]),
                                         extent(block[2]), extent(launch.dynamic_shared_bytes),
                                         nullptr, values.data(), nullptr)));
    }
    return absl::OkStatus();
  }

 private:
  const CudaDriver& driver_;
  std::vector<KernelLaunch> launches_;
  void* module_ = nullptr;
  std::vector<void*> functions_;
};

class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice(const CudaDriver& driver, DeviceDescription description, int capability, void* context)
      : driver_(driver),
        description_(std::move(description)),
        capability_(capability),
        context_(context) {}

  const DeviceDescription& description() const override { return description_; }
  std::string platform() const override { return "CUDA"; }
  std::string driver() const override { return driver_.version; }

  Result<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes, int64_t guard_bytes) override {
    MDH_RETURN_IF_ERROR(Enter());
    CudaPointer start = 0;
    const int64_t all = bytes + 2 * guard_bytes;
    MDH_RETURN_IF_ERROR(
        driver_.Check(absl::StrCat("cuMemAlloc(", all, " bytes)"),
                      driver_.functions.MemAlloc(&start, static_cast<size_t>(all))));
    return std::make_unique<CudaMemory>(driver_, start, bytes, guard_bytes);
  }

  Result<std::unique_ptr<DeviceProgram>> Compile(const Kernel& kernel) override {
    if (kernel.language != "CUDA C++") {
      return absl::InvalidArgumentError(
          absl::StrCat("a CUDA device cannot compile ", kernel.language));
    }
    MDH_RETURN_IF_ERROR(CheckLaunches(kernel, description_));
    MDH_ASSIGN_OR_RETURN(const std::string image,
                         driver_.nvrtc.Compile(kernel.source, kernel.entry + ".cu", capability_,
                                               kernel.compile_options));
    MDH_RETURN_IF_ERROR(Enter());
    auto program = std::make_unique<CudaProgram>(driver_, kernel.launches);
    MDH_RETURN_IF_ERROR(program->Load(image));
    return program;
  }

  Result<std::unique_ptr<DeviceFunction>> CompileFunction(const FunctionSource& source) override {
    MDH_RETURN_IF_ERROR(Enter());
    return CompileCudaFunction(driver_, capability_, source);
  }

  Status Finish() override {
    MDH_RETURN_IF_ERROR(Enter());
    return driver_.Check("cuCtxSynchronize", driver_.functions.CtxSynchronize());
  }

 private:
  // A process may use several devices; calls go to that of the current context.
  Status Enter() const {
    return driver_.Check("cuCtxSetCurrent", driver_.functions.CtxSetCurrent(context_));
  }

  const CudaDriver& driver_;
  DeviceDescription description_;
  int capability_;
  void* context_;
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
  void* context = nullptr;
  MDH_RETURN_IF_ERROR(driver.Check("cuDevicePrimaryCtxRetain",
                                   driver.functions.DevicePrimaryCtxRetain(&context, device)));
  return std::make_unique<CudaDevice>(driver, std::move(description), capability, context);
}

}  // namespace

Result<std::vector<std::unique_ptr<ComputeDevice>>> FindCudaDevices(
    const CudaLibraries& libraries) {
  MDH_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(libraries.driver));
  CudaFunctions functions;
  MDH_RETURN_IF_ERROR(LoadCudaFunctions(library, &functions));
  if (const Status status = CheckCuda(functions, "cuInit", functions.Init(0)); !status.ok()) {
    return absl::FailedPreconditionError(status.message());
  }
  int count = 0;
  MDH_RETURN_IF_ERROR(CheckCuda(functions, "cuDeviceGetCount", functions.DeviceGetCount(&count)));
  if (count == 0) return absl::NotFoundError("there is no CUDA device");
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
