#include "tuner/device/cuda/cuda_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/device/cuda/cuda_graph.h"
#include "tuner/device/cuda/cuda_launcher.h"

namespace mdh {
namespace {

class CudaProgram final : public DeviceProgram {
 public:
  CudaProgram(const CudaFunctions& functions, int capability, std::vector<KernelLaunch> launches)
      : functions_(functions),
        launcher_(functions, capability),
        launches_(std::move(launches)),
        stream_(functions),
        graph_(functions) {}
  ~CudaProgram() override {
    graph_.Clear();
    if (begin_ != nullptr) functions_.EventDestroy(begin_);
    if (end_ != nullptr) functions_.EventDestroy(end_);
    if (module_ != nullptr) functions_.ModuleUnload(module_);
  }

  Status Load(const std::string& image) {
    const CudaFunctions& f = functions_;
    MDH_RETURN_IF_ERROR(
        CheckCuda(functions_, "cuModuleLoadData", f.ModuleLoadData(&module_, image.data())));
    for (const KernelLaunch& launch : launches_) MDH_RETURN_IF_ERROR(AddFunction(launch));
    MDH_RETURN_IF_ERROR(stream_.Open());
    MDH_RETURN_IF_ERROR(CheckCuda(functions_, "cuEventCreate", f.EventCreate(&begin_, 0)));
    return CheckCuda(functions_, "cuEventCreate", f.EventCreate(&end_, 0));
  }

  Status Launch(const DeviceArguments& arguments) override {
    return LaunchWith(PointersOf(arguments));
  }

  Result<double> Time(absl::Span<const DeviceArguments> sets, int64_t calls) override {
    const CudaFunctions& f = functions_;
    Calls wanted = {{}, calls};
    for (const DeviceArguments& set : sets) wanted.sets.push_back(PointersOf(set));
    const bool is_recorded = calls > 1 && IsRecorded(wanted);
    MDH_RETURN_IF_ERROR(
        CheckCuda(functions_, "cuEventRecord", f.EventRecord(begin_, stream_.handle())));
    MDH_RETURN_IF_ERROR(is_recorded ? graph_.Launch(stream_) : LaunchAll(wanted));
    MDH_RETURN_IF_ERROR(
        CheckCuda(functions_, "cuEventRecord", f.EventRecord(end_, stream_.handle())));
    const Status ended = CheckCuda(functions_, "cuEventSynchronize", f.EventSynchronize(end_));
    if (!ended.ok()) return Aborted(ended.message());
    float time_ms = 0;
    MDH_RETURN_IF_ERROR(
        CheckCuda(functions_, "cuEventElapsedTime", f.EventElapsedTime(&time_ms, begin_, end_)));
    return static_cast<double>(time_ms) * 1e6;
  }

  KernelResources resources() const override { return resources_; }

 private:
  using Pointers = std::vector<CudaPointer>;
  struct Calls {
    std::vector<Pointers> sets;
    int64_t calls = 0;

    friend bool operator==(const Calls&, const Calls&) = default;
  };

  static Pointers PointersOf(const DeviceArguments& arguments) {
    Pointers pointers;
    for (DeviceMemory* memory : arguments) {
      pointers.push_back(static_cast<const CudaMemory*>(memory)->data());
    }
    return pointers;
  }

  Status LaunchWith(Pointers pointers) const {
    std::vector<void*> values;
    for (CudaPointer& pointer : pointers) values.push_back(&pointer);
    for (size_t n = 0; n < launches_.size(); ++n) {
      MDH_RETURN_IF_ERROR(
          launcher_.Launch(handles_[n], launches_[n], absl::MakeSpan(values), stream_.handle()));
    }
    return absl::OkStatus();
  }

  Status LaunchAll(const Calls& wanted) const {
    for (int64_t call = 0; call < wanted.calls; ++call) {
      const auto set = static_cast<size_t>(call) % wanted.sets.size();
      MDH_RETURN_IF_ERROR(LaunchWith(wanted.sets[set]));
    }
    return absl::OkStatus();
  }

  // Whether the graph is these calls, from now on. What cannot be recorded is launched as usual: if
  // that fails, too, its error is the one that says why.
  bool IsRecorded(const Calls& wanted) {
    if (stream_.handle() == nullptr || is_refused_) return false;
    if (graph_.is_recorded() && wanted == recorded_) return true;
    is_refused_ = !graph_.Record(stream_, [&] { return LaunchAll(wanted); }).ok();
    recorded_ = wanted;
    return !is_refused_;
  }

  Status AddFunction(const KernelLaunch& launch) {
    const CudaFunctions& f = functions_;
    void* function = nullptr;
    MDH_RETURN_IF_ERROR(
        CheckCuda(functions_, absl::StrCat("cuModuleGetFunction(", launch.function, ")"),
                  f.ModuleGetFunction(&function, module_, launch.function.c_str())));
    if (launch.dynamic_shared_bytes > 0) {
      MDH_RETURN_IF_ERROR(
          CheckCuda(functions_,
                    absl::StrCat("cuFuncSetAttribute(", launch.function, ", ",
                                 launch.dynamic_shared_bytes, " bytes of dynamic shared memory)"),
                    f.FuncSetAttribute(function, cuda::kFunctionDynamicSharedBytes,
                                       static_cast<int>(launch.dynamic_shared_bytes))));
    }
    handles_.push_back(function);
    int registers = 0, local_bytes = 0, shared_bytes = 0;
    const auto read = [&](int attribute, int* value) {
      return CheckCuda(functions_, "cuFuncGetAttribute",
                       f.FuncGetAttribute(value, attribute, function));
    };
    MDH_RETURN_IF_ERROR(read(cuda::kFunctionRegisters, &registers));
    MDH_RETURN_IF_ERROR(read(cuda::kFunctionLocalBytes, &local_bytes));
    MDH_RETURN_IF_ERROR(read(cuda::kFunctionSharedBytes, &shared_bytes));
    KernelResources& r = resources_;
    r.registers_per_thread = std::max(r.registers_per_thread, registers);
    r.local_bytes_per_thread = std::max(r.local_bytes_per_thread, int64_t{local_bytes});
    r.shared_bytes_per_block =
        std::max(r.shared_bytes_per_block, shared_bytes + launch.dynamic_shared_bytes);
    return absl::OkStatus();
  }

  const CudaFunctions& functions_;
  const CudaLauncher launcher_;
  std::vector<KernelLaunch> launches_;
  KernelResources resources_;
  void* module_ = nullptr;
  void* begin_ = nullptr;  // events
  void* end_ = nullptr;
  std::vector<void*> handles_;
  CudaStream stream_;
  CudaGraph graph_;
  Calls recorded_;  // by the graph
  bool is_refused_ = false;
};

Status CheckLanguage(const Kernel& kernel) {
  if (kernel.language == Language::kCudaCxx) return absl::OkStatus();
  return InvalidArgument("a CUDA device cannot compile ", Name(kernel.language));
}

// CudaLauncher passes tensor maps.
std::vector<std::string> OptionsWithMaps(const Kernel& kernel) {
  std::vector<std::string> options = kernel.compile_options;
  options.emplace_back(kTensorMapsOption);
  return options;
}

}  // namespace

Result<Cubin> CompileToCubin(const Nvrtc& nvrtc, int capability, const Kernel& kernel) {
  MDH_RETURN_IF_ERROR(CheckLanguage(kernel));
  MDH_ASSIGN_OR_RETURN(Nvrtc::Report report,
                       nvrtc.CompileWithReport(kernel.source, kernel.entry + ".cu", capability,
                                               OptionsWithMaps(kernel)));
  Cubin cubin = {std::move(report.cubin), {}};
  // A report in a new form is none: the kernel is not to blame for it.
  Result<std::vector<FunctionResources>> functions = ParseCompilerReport(report.log);
  if (functions.ok()) cubin.functions = *std::move(functions);
  return cubin;
}

Result<std::string> CompileToCubin(const Nvcc& nvcc, int capability, const Kernel& kernel,
                                   const std::string& directory) {
  MDH_RETURN_IF_ERROR(CheckLanguage(kernel));
  return nvcc.Compile(kernel.source, kernel.entry + ".cu", capability, OptionsWithMaps(kernel),
                      directory);
}

Result<std::unique_ptr<DeviceProgram>> LoadCudaProgram(const CudaFunctions& functions,
                                                       int capability,
                                                       std::vector<KernelLaunch> launches,
                                                       const std::string& image) {
  auto program = std::make_unique<CudaProgram>(functions, capability, std::move(launches));
  MDH_RETURN_IF_ERROR(program->Load(image));
  return program;
}

}  // namespace mdh
