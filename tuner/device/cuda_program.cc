#include "tuner/device/cuda_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/device/cuda_launcher.h"

namespace mdh {
namespace {

class CudaProgram final : public DeviceProgram {
 public:
  CudaProgram(const CudaDriver& driver, int capability, std::vector<KernelLaunch> launches)
      : driver_(driver), launcher_(driver.functions, capability), launches_(std::move(launches)) {}
  ~CudaProgram() override {
    if (begin_ != nullptr) driver_.functions.EventDestroy(begin_);
    if (end_ != nullptr) driver_.functions.EventDestroy(end_);
    if (module_ != nullptr) driver_.functions.ModuleUnload(module_);
  }

  Status Load(const std::string& image) {
    const CudaFunctions& f = driver_.functions;
    MDH_RETURN_IF_ERROR(
        driver_.Check("cuModuleLoadData", f.ModuleLoadData(&module_, image.data())));
    for (const KernelLaunch& launch : launches_) MDH_RETURN_IF_ERROR(AddFunction(launch));
    MDH_RETURN_IF_ERROR(driver_.Check("cuEventCreate", f.EventCreate(&begin_, 0)));
    return driver_.Check("cuEventCreate", f.EventCreate(&end_, 0));
  }

  Status Launch(absl::Span<DeviceMemory* const> arguments) override {
    std::vector<CudaPointer> pointers;
    for (DeviceMemory* memory : arguments) {
      pointers.push_back(static_cast<const CudaMemory*>(memory)->data());
    }
    std::vector<void*> values;
    for (CudaPointer& pointer : pointers) values.push_back(&pointer);
    for (size_t n = 0; n < launches_.size(); ++n) {
      MDH_RETURN_IF_ERROR(launcher_.Launch(functions_[n], launches_[n], values.data()));
    }
    return absl::OkStatus();
  }

  Result<double> Time(absl::Span<DeviceMemory* const> arguments, int64_t calls) override {
    const CudaFunctions& f = driver_.functions;
    MDH_RETURN_IF_ERROR(driver_.Check("cuEventRecord", f.EventRecord(begin_, nullptr)));
    for (int64_t call = 0; call < calls; ++call) MDH_RETURN_IF_ERROR(Launch(arguments));
    MDH_RETURN_IF_ERROR(driver_.Check("cuEventRecord", f.EventRecord(end_, nullptr)));
    const Status ended = driver_.Check("cuEventSynchronize", f.EventSynchronize(end_));
    if (!ended.ok()) return absl::AbortedError(ended.message());
    float time_ms = 0;
    MDH_RETURN_IF_ERROR(
        driver_.Check("cuEventElapsedTime", f.EventElapsedTime(&time_ms, begin_, end_)));
    return static_cast<double>(time_ms) * 1e6;
  }

  KernelResources resources() const override { return resources_; }

 private:
  Status AddFunction(const KernelLaunch& launch) {
    const CudaFunctions& f = driver_.functions;
    void* function = nullptr;
    MDH_RETURN_IF_ERROR(
        driver_.Check(absl::StrCat("cuModuleGetFunction(", launch.function, ")"),
                      f.ModuleGetFunction(&function, module_, launch.function.c_str())));
    if (launch.dynamic_shared_bytes > 0) {
      MDH_RETURN_IF_ERROR(driver_.Check(
          absl::StrCat("cuFuncSetAttribute(", launch.function, ", ", launch.dynamic_shared_bytes,
                       " bytes of dynamic shared memory)"),
          f.FuncSetAttribute(function, cuda::kFunctionDynamicSharedBytes,
                             static_cast<int>(launch.dynamic_shared_bytes))));
    }
    functions_.push_back(function);
    int registers = 0, local_bytes = 0, shared_bytes = 0;
    const auto read = [&](int attribute, int* value) {
      return driver_.Check("cuFuncGetAttribute", f.FuncGetAttribute(value, attribute, function));
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

  const CudaDriver& driver_;
  const CudaLauncher launcher_;
  std::vector<KernelLaunch> launches_;
  KernelResources resources_;
  void* module_ = nullptr;
  void* begin_ = nullptr;  // events
  void* end_ = nullptr;
  std::vector<void*> functions_;
};

Status CheckLanguage(const Kernel& kernel) {
  if (kernel.language == "CUDA C++") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a CUDA device cannot compile ", kernel.language));
}

}  // namespace

Result<std::string> CompileToCubin(const Nvrtc& nvrtc, int capability, const Kernel& kernel) {
  MDH_RETURN_IF_ERROR(CheckLanguage(kernel));
  return nvrtc.Compile(kernel.source, kernel.entry + ".cu", capability, kernel.compile_options);
}

Result<std::string> CompileToCubin(const Nvcc& nvcc, int capability, const Kernel& kernel,
                                   const std::string& directory) {
  MDH_RETURN_IF_ERROR(CheckLanguage(kernel));
  return nvcc.Compile(kernel.source, kernel.entry + ".cu", capability, kernel.compile_options,
                      directory);
}

Result<std::unique_ptr<DeviceProgram>> LoadCudaProgram(const CudaDriver& driver, int capability,
                                                       std::vector<KernelLaunch> launches,
                                                       const std::string& image) {
  auto program = std::make_unique<CudaProgram>(driver, capability, std::move(launches));
  MDH_RETURN_IF_ERROR(program->Load(image));
  return program;
}

}  // namespace mdh
