#include "tuner/device/opencl_device.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/device/opencl_description.h"

namespace mdh {
namespace {

// A buffer with its zones, and the part between them as kernels see it.
class OpenClMemory final : public DeviceMemory {
 public:
  OpenClMemory(const OpenClContext& context, int64_t bytes, int64_t guard_bytes)
      : DeviceMemory(bytes, guard_bytes), context_(context) {}
  ~OpenClMemory() override {
    if (middle_ != nullptr && middle_ != whole_) context_.functions.ReleaseMemObject(middle_);
    if (whole_ != nullptr) context_.functions.ReleaseMemObject(whole_);
  }

  Status Create() {
    int code = 0;
    const size_t all = static_cast<size_t>(bytes() + 2 * guard_bytes());
    whole_ =
        context_.functions.CreateBuffer(context_.context, opencl::kReadWrite, all, nullptr, &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clCreateBuffer(", all, " bytes)"), code));
    middle_ = whole_;
    if (guard_bytes() == 0) return absl::OkStatus();
    const std::array<size_t, 2> region = {static_cast<size_t>(guard_bytes()),
                                          static_cast<size_t>(bytes())};
    middle_ = context_.functions.CreateSubBuffer(whole_, opencl::kReadWrite,
                                                 opencl::kBufferCreateRegion, region.data(), &code);
    return CheckOpenCl("clCreateSubBuffer", code);
  }

  void* middle() const { return middle_; }

  Status Fill(std::byte value) override {
    const size_t all = static_cast<size_t>(bytes() + 2 * guard_bytes());
    MDH_RETURN_IF_ERROR(CheckOpenCl("clEnqueueFillBuffer", context_.functions.EnqueueFillBuffer(
                                                               context_.queue, whole_, &value, 1, 0,
                                                               all, 0, nullptr, nullptr)));
    return CheckOpenCl("clFinish", context_.functions.Finish(context_.queue));
  }
  Status Write(absl::Span<const std::byte> contents) override {
    return CheckOpenCl(
        "clEnqueueWriteBuffer",
        context_.functions.EnqueueWriteBuffer(context_.queue, whole_, /*blocking=*/1,
                                              static_cast<size_t>(guard_bytes()), contents.size(),
                                              contents.data(), 0, nullptr, nullptr));
  }
  Status Read(int64_t offset, absl::Span<std::byte> to) const override {
    return CheckOpenCl("clEnqueueReadBuffer",
                       context_.functions.EnqueueReadBuffer(context_.queue, whole_, /*blocking=*/1,
                                                            static_cast<size_t>(offset), to.size(),
                                                            to.data(), 0, nullptr, nullptr));
  }

 private:
  const OpenClContext& context_;
  void* whole_ = nullptr;
  void* middle_ = nullptr;
};

class OpenClProgram final : public DeviceProgram {
 public:
  OpenClProgram(const OpenClContext& context, std::vector<KernelLaunch> launches)
      : context_(context), launches_(std::move(launches)) {}
  ~OpenClProgram() override {
    for (void* kernel : kernels_) context_.functions.ReleaseKernel(kernel);
    if (program_ != nullptr) context_.functions.ReleaseProgram(program_);
  }

  Status Build(const std::string& source, const std::string& options) {
    int code = 0;
    const char* text = source.c_str();
    const size_t size = source.size();
    program_ = context_.functions.CreateProgramWithSource(context_.context, 1, &text, &size, &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateProgramWithSource", code));
    code = context_.functions.BuildProgram(program_, 1, &context_.device, options.c_str(), nullptr,
                                           nullptr);
    if (code != 0) {
      const std::string message = absl::StrCat(
          std::string(CheckOpenCl("clBuildProgram", code).message()), "\n", BuildLog());
      return code == opencl::kBuildFailure ? absl::InvalidArgumentError(message)
                                           : absl::InternalError(message);
    }
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
  std::string BuildLog() const {
    size_t size = 0;
    const auto& f = context_.functions;
    if (f.GetProgramBuildInfo(program_, context_.device, opencl::kBuildLog, 0, nullptr, &size) != 0)
      return "";
    std::string log(size, '\0');
    if (f.GetProgramBuildInfo(program_, context_.device, opencl::kBuildLog, size, log.data(),
                              nullptr) != 0)
      return "";
    return log.substr(0, log.find('\0'));
  }

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

Status OpenClDevice::Finish() {
  return CheckOpenCl("clFinish", context_.functions.Finish(context_.queue));
}

}  // namespace mdh
