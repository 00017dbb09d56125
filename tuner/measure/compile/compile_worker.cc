#include "tuner/measure/compile/compile_worker.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tuner/device/cuda/cuda_program.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/measure/compile/joined_unit.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/process/message_stream.h"

namespace mdh {
namespace {

// The line of a compiler's log that says what is wrong.
std::string FirstErrorOfLog(absl::string_view log) {
  std::string first;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipWhitespace())) {
    if (first.empty()) first = std::string(line);
    if (absl::StrContains(line, "error:")) return std::string(absl::StripAsciiWhitespace(line));
  }
  return first;
}

// Compiles with what is loaded when the first kernel comes. CUDA needs no device for that.
class Worker {
 public:
  explicit Worker(const CompileWorkerOptions& options) : options_(options) {}

  v1::CompileResponse Answer(const v1::CompileRequest& request) {
    std::vector<Kernel> kernels;
    for (const v1::RunnerKernel& kernel : request.kernels()) kernels.push_back(FromMessage(kernel));
    v1::CompileResponse response;
    if (kernels.size() > 1 && CompileTogether(kernels, response).ok()) return response;
    // One alone; or what is wrong with one of them is only its own fault.
    response.clear_kernels();
    for (const Kernel& kernel : kernels) {
      v1::CompiledKernel& compiled = *response.add_kernels();
      SetOutcome(Compile(kernel, compiled), compiled);
    }
    return response;
  }

 private:
  static void SetOutcome(const Status& status, v1::CompiledKernel& compiled) {
    compiled.set_outcome(static_cast<int>(OutcomeOf(status)));
    if (!status.ok()) compiled.set_reason(FirstErrorOfLog(status.message()));
  }

  static TrialOutcome OutcomeOf(const Status& status) {
    if (status.ok()) return TrialOutcome::kOk;
    return absl::IsResourceExhausted(status) ? TrialOutcome::kOutOfResources
                                             : TrialOutcome::kCompileError;
  }

  // Sets the binary, and what the compiler says of it.
  Status Compile(const Kernel& kernel, v1::CompiledKernel& compiled) {
    if (DriverOf(options_.selector.kind).has_nvrtc) return CompileCuda(kernel, compiled);
    if (device_ == nullptr) {
      MDH_ASSIGN_OR_RETURN(device_, OpenAttachedDevice(options_.selector, options_.drivers));
    }
    MDH_ASSIGN_OR_RETURN(*compiled.mutable_binary(), device_->CompileToBinary(kernel));
    return absl::OkStatus();
  }

  // By NVRTC, in one unit, which is the binary of all. Errors: the unit does not compile.
  Status CompileTogether(const std::vector<Kernel>& kernels, v1::CompileResponse& response) {
    MDH_ASSIGN_OR_RETURN(const int capability, Prepare());
    Kernel unit = kernels.front();
    std::vector<std::string> sources;
    for (const Kernel& kernel : kernels) sources.push_back(kernel.source);
    unit.source = JoinUnits(sources);
    MDH_ASSIGN_OR_RETURN(const Cubin cubin, CompileToCubin(*nvrtc_, capability, unit));
    for (size_t k = 0; k < kernels.size(); ++k) {
      const std::string suffix = NameSuffix(k);
      Cubin own = {cubin.image, {}};
      for (FunctionResources function : cubin.functions) {
        if (!absl::EndsWith(function.function, suffix)) continue;
        function.function.resize(function.function.size() - suffix.size());
        own.functions.push_back(std::move(function));
      }
      v1::CompiledKernel& compiled = *response.add_kernels();
      compiled.set_suffix(suffix);
      SetOutcome(Judge(kernels[k], std::move(own), compiled), compiled);
    }
    return absl::OkStatus();
  }

  // Loads NVRTC, and gives the compute capability that it compiles for.
  Result<int> Prepare() {
    if (!nvrtc_) {
      MDH_ASSIGN_OR_RETURN(nvrtc_, Nvrtc::Load(Nvrtc::ToolkitFolders(options_.drivers.cuda_root)));
    }
    absl::string_view isa = options_.device.isa;
    int capability = 0;
    if (!absl::ConsumePrefix(&isa, "sm_") || !absl::SimpleAtoi(isa, &capability)) {
      return Internal("'", options_.device.isa, "' is no architecture of CUDA");
    }
    return capability;
  }

  Status CompileCuda(const Kernel& kernel, v1::CompiledKernel& compiled) {
    if (kernel.language != Language::kCudaCxx) {
      return InvalidArgument("NVRTC cannot compile ", Name(kernel.language));
    }
    MDH_ASSIGN_OR_RETURN(const int capability, Prepare());
    MDH_RETURN_IF_ERROR(CheckLaunches(kernel, options_.device));
    if (kernel.compiler == Compiler::kNvcc) {
      MDH_ASSIGN_OR_RETURN(*compiled.mutable_binary(), CompileByNvcc(capability, kernel));
      return absl::OkStatus();
    }
    MDH_ASSIGN_OR_RETURN(Cubin cubin, CompileToCubin(*nvrtc_, capability, kernel));
    return Judge(kernel, std::move(cubin), compiled);
  }

  // Sets binary and functions if the device has what they need.
  Status Judge(const Kernel& kernel, Cubin cubin, v1::CompiledKernel& compiled) const {
    MDH_RETURN_IF_ERROR(CheckLaunches(kernel, options_.device));
    MDH_RETURN_IF_ERROR(CheckResources(kernel, cubin.functions, options_.device));
    compiled.set_binary(std::move(cubin.image));
    for (const FunctionResources& function : cubin.functions) {
      *compiled.add_functions() = ToMessage(function);
    }
    return absl::OkStatus();
  }

  Result<std::string> CompileByNvcc(int capability, const Kernel& kernel) const {
    const DriverOptions& drivers = options_.drivers;
    MDH_ASSIGN_OR_RETURN(const Nvcc nvcc, Nvcc::Find(Nvcc::ToolkitFolders(drivers.cuda_root)));
    return CompileToCubin(nvcc, capability, kernel,
                          drivers.directory.empty() ? "/tmp" : drivers.directory);
  }

  const CompileWorkerOptions& options_;
  std::optional<Nvrtc> nvrtc_;
  std::unique_ptr<ComputeDevice> device_;
};

}  // namespace

int ServeCompilations(const CompileWorkerOptions& options) {
  Worker worker(options);
  v1::CompileRequest request;
  while (ReceiveMessage(kChildSocket, request).ok()) {
    if (!SendMessage(kChildSocket, worker.Answer(request)).ok()) return 1;
  }
  return 0;
}

}  // namespace mdh
