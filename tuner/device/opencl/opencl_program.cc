#include "tuner/device/opencl/opencl_program.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/device/opencl/opencl_function.h"
#include "tuner/device/opencl/opencl_memory.h"

namespace mdh {
namespace {

// Gates are longer by so much than the host is expected to take for what it enqueues behind them.
constexpr double kGateMargin = 1.3;
constexpr double kLongestGateNs = 50e6;
// A device that takes longer than the host by so much has not waited for it.
constexpr double kHostIsAhead = 1.5;
constexpr int kMostAttempts = 4;

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

  void* first = nullptr;
  void* last = nullptr;

 private:
  const OpenClFunctions& functions_;
};

class OpenClProgram final : public DeviceProgram {
 public:
  OpenClProgram(const OpenClContext& context, OpenClGate* gate, std::vector<KernelLaunch> launches)
      : context_(context), gate_(gate), launches_(std::move(launches)) {}
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

  // Behind a gate where the device would otherwise wait for the host between commands.
  Result<double> Time(absl::Span<const DeviceArguments> sets, int64_t calls) override {
    const auto commands = static_cast<double>(calls) * static_cast<double>(launches_.size());
    double closed_ns = std::min(enqueue_ns_ * commands * kGateMargin, kLongestGateNs);
    Timed timed;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      MDH_ASSIGN_OR_RETURN(timed, TimeBehind(closed_ns, sets, calls));
      if (gate_ == nullptr || calls == 1 || timed.SaysTheDevicesTime()) break;
      enqueue_ns_ = timed.enqueue_ns / commands;
      closed_ns = timed.enqueue_ns * kGateMargin;
      if (closed_ns > kLongestGateNs) break;
    }
    return timed.device_ns;
  }

  KernelResources resources() const override { return resources_; }

 private:
  struct Timed {
    double device_ns = 0;   // from the first command's start to the last one's end
    double enqueue_ns = 0;  // that the host took for enqueuing them
    double closed_ns = 0;   // of the gate before them

    // The host was ahead: all the time of the gate, or as commands take longer.
    bool SaysTheDevicesTime() const {
      return closed_ns >= enqueue_ns || device_ns >= kHostIsAhead * enqueue_ns;
    }
  };

  // closed_ns: how long a gate is to last; 0: without one.
  Result<Timed> TimeBehind(double closed_ns, absl::Span<const DeviceArguments> sets,
                           int64_t calls) {
    const bool is_gated = gate_ != nullptr && closed_ns > 0 && calls > 1;
    if (is_gated) MDH_RETURN_IF_ERROR(gate_->Close(closed_ns));
    Events events(context_.functions);
    const auto begin = std::chrono::steady_clock::now();
    MDH_RETURN_IF_ERROR(EnqueueCalls(sets, calls, events));
    Timed timed;
    timed.enqueue_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    const Status ended =
        CheckOpenCl(launches_.back().function, context_.functions.Finish(context_.queue));
    if (!ended.ok()) return Aborted(ended.message());
    void* const last = events.last != nullptr ? events.last : events.first;
    MDH_RETURN_IF_ERROR(CheckEnd(last));
    MDH_ASSIGN_OR_RETURN(timed.device_ns,
                         OpenClTimeBetween(context_.functions, events.first, last));
    if (is_gated) {
      MDH_ASSIGN_OR_RETURN(timed.closed_ns, gate_->ClosedTime());
    }
    return timed;
  }

  Status EnqueueCalls(absl::Span<const DeviceArguments> sets, int64_t calls, Events& events) {
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
    return absl::OkStatus();
  }

  // An event that ended by an error says so only when it is waited for.
  Status CheckEnd(void* event) const {
    const Status ended =
        CheckOpenCl(launches_.back().function, context_.functions.WaitForEvents(1, &event));
    return ended.ok() ? ended : Aborted(ended.message());
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
      return ResourceExhausted(launches_[n].function, ": the compiled kernel takes no blocks of ",
                               absl::StrJoin(geometry.block, " x "), " threads");
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
  OpenClGate* const gate_;
  std::vector<KernelLaunch> launches_;
  KernelResources resources_;
  void* program_ = nullptr;
  std::vector<void*> kernels_;
  double enqueue_ns_ = 0;  // of a command; 0 until the device had to wait for the host
};

std::string OptionsOf(const Kernel& kernel) { return absl::StrJoin(kernel.compile_options, " "); }

Result<std::string> BinaryOf(const OpenClFunctions& functions, void* program) {
  size_t size = 0;
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetProgramInfo",
      functions.GetProgramInfo(program, opencl::kProgramBinarySizes, sizeof size, &size, nullptr)));
  if (size == 0) return Internal("clGetProgramInfo: the program has no binary");
  std::string binary(size, '\0');
  char* data = binary.data();
  MDH_RETURN_IF_ERROR(CheckOpenCl(
      "clGetProgramInfo",
      functions.GetProgramInfo(program, opencl::kProgramBinaries, sizeof data, &data, nullptr)));
  return binary;
}

// Compiles functions that do nothing for `any_size`, if there are names that it has not heard of.
// Without them more is compiled.
void TellOfFunctions(const OpenClContext& context, const Kernel& kernel, PoclAnySize& any_size) {
  const std::string source = any_size.SourceOfUnknown(kernel);
  if (source.empty()) return;
  const Result<void*> built = BuildOpenClProgram(context, source, "");
  if (!built.ok()) return;
  if (BinaryOf(context.functions, *built).ok()) any_size.Keep(kernel);
  context.functions.ReleaseProgram(*built);
}

}  // namespace

Result<std::unique_ptr<DeviceProgram>> CompileOpenClKernel(const OpenClContext& context,
                                                           OpenClGate* gate, const Kernel& kernel) {
  auto program = std::make_unique<OpenClProgram>(context, gate, kernel.launches);
  MDH_ASSIGN_OR_RETURN(void* const built,
                       BuildOpenClProgram(context, kernel.source, OptionsOf(kernel)));
  MDH_RETURN_IF_ERROR(program->Adopt(built));
  return program;
}

Result<std::string> OpenClKernelBinary(const OpenClContext& context, const Kernel& kernel,
                                       PoclAnySize* any_size) {
  if (any_size != nullptr) TellOfFunctions(context, kernel, *any_size);
  MDH_ASSIGN_OR_RETURN(void* const built,
                       BuildOpenClProgram(context, kernel.source, OptionsOf(kernel)));
  if (any_size != nullptr) any_size->Provide(kernel);
  Result<std::string> binary = BinaryOf(context.functions, built);
  context.functions.ReleaseProgram(built);
  return binary;
}

Result<std::unique_ptr<DeviceProgram>> LoadOpenClKernel(const OpenClContext& context,
                                                        OpenClGate* gate, const Kernel& kernel,
                                                        const std::string& binary) {
  const OpenClFunctions& f = context.functions;
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  int code = 0, binary_code = 0;
  void* const created = f.CreateProgramWithBinary(context.context, 1, &context.device, &size,
                                                  &bytes, &binary_code, &code);
  MDH_RETURN_IF_ERROR(CheckOpenCl("clCreateProgramWithBinary", code != 0 ? code : binary_code));
  auto program = std::make_unique<OpenClProgram>(context, gate, kernel.launches);
  code = f.BuildProgram(created, 1, &context.device, OptionsOf(kernel).c_str(), nullptr, nullptr);
  if (code != 0) {
    f.ReleaseProgram(created);
    return CheckOpenCl("clBuildProgram(binary)", code);
  }
  MDH_RETURN_IF_ERROR(program->Adopt(created));
  return program;
}

}  // namespace mdh
