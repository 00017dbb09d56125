#include "tuner/device/opencl_device.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/kernel.h"
#include "tuner/device/opencl_description.h"
#include "tuner/device/opencl_function.h"
#include "tuner/device/opencl_memory.h"

namespace mdh {
namespace {

class OpenClProgram final : public DeviceProgram {
 public:
  OpenClProgram(const OpenClContext& context, std::vector<KernelLaunch> launches)
      : context_(context), launches_(std::move(launches)) {}
  ~OpenClProgram() override {
    for (void* kernel : kernels_) context_.functions.ReleaseKernel(kernel);
    if (program_ != nullptr) context_.functions.ReleaseProgram(program_);
  }

  Status Build(const std::string& source, const std::string& options) {
    MDH_ASSIGN_OR_RETURN(program_, BuildOpenClProgram(context_, source, options));
    for (const KernelLaunch& launch : launches_) MDH_RETURN_IF_ERROR(AddKernel(launch));
    return absl::OkStatus();
  }

  Status Launch(absl::Span<DeviceMemory* const> arguments) override {
    for (size_t n = 0; n < launches_.size(); ++n) {
      const KernelLaunch& launch = launches_[n];
      for (size_t a = 0; a < arguments.size(); ++a) {
        void* const memory = static_cast<const OpenClMemory*>(arguments[a])->middle();
        MDH_RETURN_IF_ERROR(
            CheckOpenCl(absl::StrCat("clSetKernelArg(", launch.function, ", ", a, ")"),
                        context_.functions.SetKernelArg(kernels_[n], static_cast<uint32_t>(a),
                                                        sizeof memory, &memory)));
      }
      std::array<size_t, 3> global = {}, local = {};
      for (int axis = 0; axis < 3; ++axis) {
        local[axis] = static_cast<size_t>(launch.geometry.block[axis]);
        global[axis] = local[axis] * static_cast<size_t>(launch.geometry.grid[axis]);
      }
      MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clEnqueueNDRangeKernel(", launch.function, ")"),
                                      context_.functions.EnqueueNDRangeKernel(
                                          context_.queue, kernels_[n], 3, nullptr, global.data(),
                                          local.data(), 0, nullptr, nullptr)));
    }
    return absl::OkStatus();
  }

 private:
  Status AddKernel(const KernelLaunch& launch) {
    int code = 0;
    void* const kernel = context_.functions.CreateKernel(program_, launch.function.c_str(), &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clCreateKernel(", launch.function, ")"), code));
    kernels_.push_back(kernel);
    size_t most = 0;
    MDH_RETURN_IF_ERROR(CheckOpenCl(
        "clGetKernelWorkGroupInfo",
        context_.functions.GetKernelWorkGroupInfo(
            kernel, context_.device, opencl::kKernelWorkGroupSize, sizeof most, &most, nullptr)));
    const int64_t threads = launch.geometry.threads_per_block();
    if (threads <= static_cast<int64_t>(most)) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        launch.function, ": a block has ", threads, " threads, the compiled kernel allows ", most));
  }

  const OpenClContext& context_;
  std::vector<KernelLaunch> launches_;
  void* program_ = nullptr;
  std::vector<void*> kernels_;
};

}  // namespace

Result<std::unique_ptr<OpenClDevice>> OpenClDevice::Open(const OpenClFunctions& functions,
                                                         std::string platform, void* device) {
  MDH_ASSIGN_OR_RETURN(DeviceDescription description, DescribeOpenClDevice(functions, device));
  MDH_ASSIGN_OR_RETURN(const int64_t alignment, OpenClAlignment(functions, device));
  MDH_ASSIGN_OR_RETURN(std::string driver,
                       OpenClDeviceText(functions, device, opencl::kDriverVersion));
  int code = 0;
  void* const context = functions.CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateContext", code));
  void* const queue = functions.CreateCommandQueue(context, device, 0, &code);
  if (code != 0) {
    functions.ReleaseContext(context);
    return CheckOpenCl("clCreateCommandQueue", code);
  }
  return std::unique_ptr<OpenClDevice>(
      new OpenClDevice({functions, device, context, queue, alignment}, std::move(platform),
                       std::move(driver), std::move(description)));
}

OpenClDevice::~OpenClDevice() {
  context_.functions.ReleaseCommandQueue(context_.queue);
  context_.functions.ReleaseContext(context_.context);
}

Result<std::unique_ptr<DeviceMemory>> OpenClDevice::Allocate(int64_t bytes, int64_t guard_bytes) {
  const int64_t unit = context_.alignment_bytes;
  auto memory =
      std::make_unique<OpenClMemory>(context_, bytes, (guard_bytes + unit - 1) / unit * unit);
  MDH_RETURN_IF_ERROR(memory->Create());
  return memory;
}

Result<std::unique_ptr<DeviceProgram>> OpenClDevice::Compile(const Kernel& kernel) {
  if (kernel.language != "OpenCL C") {
    return absl::InvalidArgumentError(
        absl::StrCat("an OpenCL device cannot compile ", kernel.language));
  }
  MDH_RETURN_IF_ERROR(CheckLaunches(kernel, description_));
  auto program = std::make_unique<OpenClProgram>(context_, kernel.launches);
  MDH_RETURN_IF_ERROR(program->Build(kernel.source, absl::StrJoin(kernel.compile_options, " ")));
  return program;
}

Result<std::unique_ptr<DeviceFunction>> OpenClDevice::CompileFunction(
    const FunctionSource& source) {
  return CompileOpenClFunction(context_, source);
}

Status OpenClDevice::Finish() {
  return CheckOpenCl("clFinish", context_.functions.Finish(context_.queue));
}

}  // namespace mdh
