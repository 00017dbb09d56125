#include "tuner/device/opencl/opencl_function.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/device/opencl/opencl_memory.h"

namespace mdh {
namespace {

std::string BuildLog(const OpenClContext& context, void* program) {
  size_t size = 0;
  const OpenClFunctions& f = context.functions;
  if (f.GetProgramBuildInfo(program, context.device, opencl::kBuildLog, 0, nullptr, &size) != 0) {
    return "";
  }
  std::string log(size, '\0');
  if (f.GetProgramBuildInfo(program, context.device, opencl::kBuildLog, size, log.data(),
                            nullptr) != 0) {
    return "";
  }
  return log.substr(0, log.find('\0'));
}

class OpenClFunction final : public DeviceFunction {
 public:
  explicit OpenClFunction(const OpenClContext& context) : context_(context) {}
  ~OpenClFunction() override {
    const OpenClFunctions& f = context_.functions;
    if (kernel_ != nullptr) f.ReleaseKernel(kernel_);
    if (program_ != nullptr) f.ReleaseProgram(program_);
    if (queue_ != nullptr) f.ReleaseCommandQueue(queue_);
  }

  Status Create(const FunctionSource& source) {
    name_ = source.function;
    MDH_ASSIGN_OR_RETURN(
        program_, BuildOpenClProgram(context_, source.source, absl::StrJoin(source.options, " ")));
    int code = 0;
    kernel_ = context_.functions.CreateKernel(program_, name_.c_str(), &code);
    MDH_RETURN_IF_ERROR(CheckOpenCl(absl::StrCat("clCreateKernel(", name_, ")"), code));
    // Of its own: the device's queue keeps no times.
    queue_ = context_.functions.CreateCommandQueue(context_.context, context_.device,
                                                   opencl::kQueueProfiling, &code);
    return CheckOpenCl("clCreateCommandQueue", code);
  }

  Result<double> Run(absl::Span<const FunctionArgument> arguments,
                     const FunctionLaunch& launch) override {
    MDH_RETURN_IF_ERROR(SetArguments(arguments));
    std::array<size_t, 3> global = {}, local = {};
    for (int axis = 0; axis < 3; ++axis) {
      local[axis] = launch.threads ? static_cast<size_t>((*launch.threads)[axis]) : 1;
      global[axis] = local[axis] * static_cast<size_t>(launch.blocks[axis]);
    }
    void* event = nullptr;
    MDH_RETURN_IF_ERROR(CheckOpenCl(
        absl::StrCat("clEnqueueNDRangeKernel(", name_, ")"),
        context_.functions.EnqueueNDRangeKernel(
            queue_, kernel_, static_cast<uint32_t>(launch.dimensions), nullptr, global.data(),
            launch.threads ? local.data() : nullptr, 0, nullptr, &event)));
    Result<double> time_ns = AwaitTime(event);
    context_.functions.ReleaseEvent(event);
    return time_ns;
  }

 private:
  Status SetArguments(absl::Span<const FunctionArgument> arguments) const {
    for (size_t n = 0; n < arguments.size(); ++n) {
      const FunctionArgument& argument = arguments[n];
      void* memory = nullptr;
      const void* value = argument.value.data();
      size_t bytes = argument.value.size();
      if (argument.memory != nullptr) {
        memory = static_cast<const OpenClMemory*>(argument.memory)->middle();
        value = &memory;
        bytes = sizeof memory;
      }
      MDH_RETURN_IF_ERROR(CheckOpenCl(
          absl::StrCat("clSetKernelArg(", name_, ", ", n, ")"),
          context_.functions.SetKernelArg(kernel_, static_cast<uint32_t>(n), bytes, value)));
    }
    return absl::OkStatus();
  }

  Result<double> AwaitTime(void* event) const {
    const OpenClFunctions& f = context_.functions;
    const Status ended = CheckOpenCl(name_, f.WaitForEvents(1, &event));
    if (!ended.ok()) return Aborted(ended.message());
    return OpenClTimeBetween(f, event, event);
  }

  const OpenClContext& context_;
  std::string name_;
  void* program_ = nullptr;
  void* kernel_ = nullptr;
  void* queue_ = nullptr;
};

}  // namespace

Result<void*> BuildOpenClProgram(const OpenClContext& context, const std::string& source,
                                 const std::string& options) {
  int code = 0;
  const char* text = source.c_str();
  const size_t size = source.size();
  void* const program =
      context.functions.CreateProgramWithSource(context.context, 1, &text, &size, &code);
  MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateProgramWithSource", code));
  code = context.functions.BuildProgram(program, 1, &context.device, options.c_str(), nullptr,
                                        nullptr);
  if (code == 0) return program;
  const std::string message = absl::StrCat(
      std::string(CheckOpenCl("clBuildProgram", code).message()), "\n", BuildLog(context, program));
  context.functions.ReleaseProgram(program);
  return code == opencl::kBuildFailure ? InvalidArgument(message) : Internal(message);
}

Result<double> OpenClTimeBetween(const OpenClFunctions& functions, void* first, void* last) {
  uint64_t start_ns = 0, end_ns = 0;
  MDH_RETURN_IF_ERROR(
      CheckOpenCl("clGetEventProfilingInfo",
                  functions.GetEventProfilingInfo(first, opencl::kProfilingStart, sizeof start_ns,
                                                  &start_ns, nullptr)));
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetEventProfilingInfo", functions.GetEventProfilingInfo(last, opencl::kProfilingEnd,
                                                                 sizeof end_ns, &end_ns, nullptr)));
  return static_cast<double>(end_ns) - static_cast<double>(start_ns);
}

Result<std::unique_ptr<DeviceFunction>> CompileOpenClFunction(const OpenClContext& context,
                                                              const FunctionSource& source) {
  auto function = std::make_unique<OpenClFunction>(context);
  MDH_RETURN_IF_ERROR(function->Create(source));
  return function;
}

}  // namespace mdh
