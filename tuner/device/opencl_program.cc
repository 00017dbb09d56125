#include "tuner/device/opencl_program.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/device/opencl_function.h"
#include "tuner/device/opencl_memory.h"

namespace mdh {
namespace {

// Events of commands, released in the end.
class Events {
 public:
  explicit Events(const OpenClFunctions& functions) : functions_(functions) {}
  ~Events() {
    for (void* event : {first, last}) {
      if (event != nullptr) functions_.ReleaseEvent(event);
    }
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  Result<uint64_t> TimeOf(void* event, uint32_t moment) const {
    uint64_t time_ns = 0;
    MDH_RETURN_IF_ERROR(CheckOpenCl(
        "clGetEventProfilingInfo",
        functions_.GetEventProfilingInfo(event, moment, sizeof time_ns, &time_ns, nullptr)));
    return time_ns;
  }

  void* first = nullptr;
  void* last = nullptr;

 private:
  const OpenClFunctions& functions_;
};

class OpenClProgram final : public DeviceProgram {
 public:
  OpenClProgram(const OpenClContext& context, std::vector<KernelLaunch> launches)
      : context_(context), launches_(std::move(launches)) {}
  ~OpenClProgram() override {
    for (void* kernel : kernels_) context_.functions.ReleaseKernel(kernel);
    if (program_ != nullptr) context_.functions.ReleaseProgram(program_);
  }

  // Takes the program over.
  Status Adopt(void* program) {
    program_ = program;
    for (const KernelLaunch& launch : launches_) MDH_RETURN_IF_ERROR(AddKernel(launch));
    return absl::OkStatus();
  }

  Status Launch(const DeviceArguments& arguments) override {
    MDH_RETURN_IF_ERROR(SetArguments(arguments));
    for (size_t n = 0; n < launches_.size(); ++n) MDH_RETURN_IF_ERROR(Enqueue(n, nullptr));
    return absl::OkStatus();
  }

  Result<double> Time(absl::Span<const DeviceArguments> sets, int64_t calls) override {
    Events events(context_.functions);
    const size_t stages = launches_.size();
    for (int64_t call = 0; call < calls; ++call) {
      // Commands keep the arguments that they were enqueued with.
      const auto set = static_cast<size_t>(call) % sets.size();
      if (call == 0 || sets.size() > 1) MDH_RETURN_IF_ERROR(SetArguments(sets[set]));
      for (size_t n = 0; n < stages; ++n) {
        const bool is_first = call == 0 && n == 0;
        const bool is_last = call == calls - 1 && n == stages - 1;
        MDH_RETURN_IF_ERROR(Enqueue(n, is_first  ? &events.first
                                       : is_last ? &events.last
                                                 : nullptr));
      }
    }
    const Status ended =
        CheckOpenCl(launches_.back().function, context_.functions.Finish(context_.queue));
    if (!ended.ok()) return absl::AbortedError(ended.message());
    void* const last = events.last != nullptr ? events.last : events.first;
    MDH_RETURN_IF_ERROR(CheckEnd(last));
    MDH_ASSIGN_OR_RETURN(const uint64_t begin_ns,
                         events.TimeOf(events.first, opencl::kProfilingStart));
    MDH_ASSIGN_OR_RETURN(const uint64_t end_ns, events.TimeOf(last, opencl::kProfilingEnd));
    return static_cast<double>(end_ns) - static_cast<double>(begin_ns);
  }

  KernelResources resources() const override { return resources_; }

 private:
  // An event that ended by an error says so only when it is waited for.
  Status CheckEnd(void* event) const {
    const Status ended =
        CheckOpenCl(launches_.back().function, context_.functions.WaitForEvents(1, &event));
    return ended.ok() ? ended : absl::AbortedError(ended.message());
  }

  Status SetArguments(const DeviceArguments& arguments) const {
    for (size_t n = 0; n < launches_.size(); ++n) {
      for (size_t a = 0; a < arguments.size(); ++a) {
        void* const memory = static_cast<const OpenClMemory*>(arguments[a])->middle();
        const int code = context_.functions.SetKernelArg(kernels_[n], static_cast<uint32_t>(a),
                                                         sizeof memory, &memory);
        if (code == 0) continue;
        return CheckOpenCl(absl::StrCat("clSetKernelArg(", launches_[n].function, ", ", a, ")"),
                           code);
      }
    }
    return absl::OkStatus();
  }

  Status Enqueue(size_t n, void** event) const {
    const LaunchGeometry& geometry = launches_[n].geometry;
    std::array<size_t, 3> global = {}, local = {};
    for (int axis = 0; axis < 3; ++axis) {
      local[axis] = static_cast<size_t>(geometry.block[axis]);
      global[axis] = local[axis] * static_cast<size_t>(geometry.grid[axis]);
    }
    const int code = context_.functions.EnqueueNDRangeKernel(
        context_.queue, kernels_[n], 3, nullptr, global.data(), local.data(), 0, nullptr, event);
    if (code == 0) return absl::OkStatus();
    if (code == opencl::kInvalidWorkGroupSize) {
      return absl::ResourceExhaustedError(
          absl::StrCat(launches_[n].function, ": the compiled kernel takes no blocks of ",
                       absl::StrJoin(geometry.block, " x "), " threads"));
    }
    return CheckOpenCl(absl::StrCat("clEnqueueNDRangeKernel(", launches_[n].function, ")"), code);
  }

  template <typename T>
  Result<T> WorkGroupInfo(void* kernel, uint32_t property) const {
    T value = {};
    MDH_RETURN_IF_ERROR(
        CheckOpenCl("clGetKernelWorkGroupInfo",
                    context_.functions.GetKernelWorkGroupInfo(kernel, context_.device, property,
                                                              sizeof value, &value, nullptr)));
    return value;
  }

  // CL_KERNEL_WORK_GROUP_SIZE is not asked for: NVIDIA's driver says 256 of every kernel, also of
  // those that require 1024 threads, and runs them.
  Status AddKernel(const KernelLaunch& launch) {
    int code = 0;
    void* const kernel = context_.functions.CreateKernel(program_, launch.function.c_str(), &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clCreateKernel(", launch.function, ")"), code));
    kernels_.push_back(kernel);
    MDH_ASSIGN_OR_RETURN(const auto shared,
                         WorkGroupInfo<uint64_t>(kernel, opencl::kKernelLocalMemoryBytes));
    MDH_ASSIGN_OR_RETURN(const auto local,
                         WorkGroupInfo<uint64_t>(kernel, opencl::kKernelPrivateMemoryBytes));
    KernelResources& r = resources_;
    r.shared_bytes_per_block = std::max(r.shared_bytes_per_block, static_cast<int64_t>(shared));
    r.local_bytes_per_thread = std::max(r.local_bytes_per_thread, static_cast<int64_t>(local));
    return absl::OkStatus();
  }

  const OpenClContext& context_;
  std::vector<KernelLaunch> launches_;
  KernelResources resources_;
  void* program_ = nullptr;
  std::vector<void*> kernels_;
};

std::string OptionsOf(const Kernel& kernel) { return absl::StrJoin(kernel.compile_options, " "); }

Result<std::string> BinaryOf(const OpenClFunctions& functions, void* program) {
  size_t size = 0;
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetProgramInfo",
      functions.GetProgramInfo(program, opencl::kProgramBinarySizes, sizeof size, &size, nullptr)));
  if (size == 0) return absl::InternalError("clGetProgramInfo: the program has no binary");
  std::string binary(size, '\0');
  char* data = binary.data();
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetProgramInfo",
      functions.GetProgramInfo(program, opencl::kProgramBinaries, sizeof data, &data, nullptr)));
  return binary;
}

}  // namespace

Result<std::unique_ptr<DeviceProgram>> CompileOpenClKernel(const OpenClContext& context,
                                                           const Kernel& kernel) {
  auto program = std::make_unique<OpenClProgram>(context, kernel.launches);
  MDH_ASSIGN_OR_RETURN(void* const built,
                       BuildOpenClProgram(context, kernel.source, OptionsOf(kernel)));
  MDH_RETURN_IF_ERROR(program->Adopt(built));
  return program;
}

Result<std::string> OpenClKernelBinary(const OpenClContext& context, const Kernel& kernel) {
  MDH_ASSIGN_OR_RETURN(void* const built,
                       BuildOpenClProgram(context, kernel.source, OptionsOf(kernel)));
  Result<std::string> binary = BinaryOf(context.functions, built);
  context.functions.ReleaseProgram(built);
  return binary;
}

Result<std::unique_ptr<DeviceProgram>> LoadOpenClKernel(const OpenClContext& context,
                                                        const Kernel& kernel,
                                                        const std::string& binary) {
  const OpenClFunctions& f = context.functions;
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  int code = 0, binary_code = 0;
  void* const created = f.CreateProgramWithBinary(context.context, 1, &context.device, &size,
                                                  &bytes, &binary_code, &code);
  MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateProgramWithBinary", code != 0 ? code : binary_code));
  auto program = std::make_unique<OpenClProgram>(context, kernel.launches);
  code = f.BuildProgram(created, 1, &context.device, OptionsOf(kernel).c_str(), nullptr, nullptr);
  if (code != 0) {
    f.ReleaseProgram(created);
    return CheckOpenCl("clBuildProgram(binary)", code);
  }
  MDH_RETURN_IF_ERROR(program->Adopt(created));
  return program;
}

}  // namespace mdh
