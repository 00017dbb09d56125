#include "tests/property/block_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/generate_kernel.h"
#include "tests/device/kernel_run.h"
#include "tests/nvidia_under_opencl.h"
#include "tuner/device/cuda/cuda_driver.h"
#include "tuner/device/cuda/cuda_program.h"
#include "tuner/device/opencl/opencl_driver.h"

namespace mdh {
namespace {

struct NamedBackend {
  const char* name;
  Backend backend;
};

constexpr NamedBackend kBackends[] = {{"openmp", Backend::kOpenMp},
                                      {"opencl", Backend::kOpenCl},
                                      {"cuda", Backend::kCuda},
                                      {"nvrtc", Backend::kNvrtc},
                                      {"ptx", Backend::kPtx}};

constexpr int kArchitectures[] = {80, 90};  // of Backend::kNvrtc

// Of the matrix units that the kernel says it needs: instructions that others do not have.
int LeastCapability(const Kernel& kernel) {
  constexpr absl::string_view kNeeds = "Matrix units of warps need compute capability ";
  const size_t at = kernel.header.find(kNeeds.data(), 0, kNeeds.size());
  if (at == std::string::npos) return 0;
  const std::string number = kernel.header.substr(at + kNeeds.size(), 3);  // "9.0"
  return (number[0] - '0') * 10 + (number[2] - '0');
}

// Of Backend::kPtx: the newest architecture that clang 14 knows, and what NVIDIA's compiler is
// asked for. clang has no `asm` in OpenCL C, but under its other name.
constexpr char kToPtx[] =
    "clang -x cl -cl-std=CL1.2 -Dasm=__asm__ -include opencl-c.h "
    "-target nvptx64-nvidia-nvcl -Xclang -target-cpu "
    "-Xclang sm_86 -S -o /dev/null ";

}  // namespace

Result<Backend> BackendNamed(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedBackend& known : kBackends) {
    if (name == known.name) return known.backend;
    names.emplace_back(known.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no backend '", std::string(name),
                                                 "' (backends: ", absl::StrJoin(names, ", "), ")"));
}

Result<std::unique_ptr<JudgedBackend>> JudgedBackend::Open(const BackendOptions& options) {
  std::unique_ptr<JudgedBackend> backend(new JudgedBackend(options));
  switch (options.backend) {
    case Backend::kOpenMp:
      backend->directory_.emplace();
      backend->has_clang_ = ClangWorks(backend->directory_->path());
      break;
    case Backend::kNvrtc: {
      MDH_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::Load(options.toolkit_folders));
      backend->nvrtc_.emplace(std::move(nvrtc));
      break;
    }
    case Backend::kPtx:
      if (std::system("clang --version >/dev/null 2>&1") != 0) {
        return absl::NotFoundError("there is no clang");
      }
      backend->directory_.emplace();
      break;
    default:
      MDH_RETURN_IF_ERROR(backend->OpenDevice());
  }
  return backend;
}

Status JudgedBackend::OpenDevice() {
  CudaLibraries cuda;
  cuda.nvrtc_folders = options_.toolkit_folders;
  MDH_ASSIGN_OR_RETURN(
      std::vector<std::unique_ptr<ComputeDevice>> devices,
      options_.backend == Backend::kCuda ? FindCudaDevices(cuda) : FindOpenClDevices());
  int number = 0;
  for (std::unique_ptr<ComputeDevice>& device : devices) {
    if (!absl::StrContains(device->platform(), options_.platform)) continue;
    if (number++ == options_.device) device_ = std::move(device);
  }
  if (device_ != nullptr) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "there is no device number ", options_.device,
      options_.platform.empty() ? "" : absl::StrCat(" of platform '", options_.platform, "'")));
}

std::string JudgedBackend::Name() const {
  if (nvrtc_) return absl::StrCat("NVRTC ", nvrtc_->Version(), " for sm_80 and sm_90");
  if (options_.backend == Backend::kPtx) return "clang for NVIDIA's OpenCL";
  if (device_ == nullptr) return "OpenMP";
  return absl::StrCat(device_->description().name, " (", device_->platform(), ", driver ",
                      device_->driver(), ")");
}

SystemModel JudgedBackend::RandomModel(Rng& rng) const {
  switch (options_.backend) {
    case Backend::kOpenCl:
    case Backend::kPtx:
      return OpenClModel();
    case Backend::kCuda:
    case Backend::kNvrtc:
      return Below(rng, 4) == 0 ? CudaWarpModel() : CudaModel();
    case Backend::kOpenMp:
      break;
  }
  switch (Below(rng, 5)) {
    case 0:
      return OpenMpL3Model();
    case 1:
      return OpenMpL3SimdModel();
    case 2:
      return OpenMpSimdRegistersModel();
    default:
      return OpenMpModel();
  }
}

DeviceDescription JudgedBackend::RandomDevice(Rng& rng) const {
  DeviceDescription device;
  if (options_.backend == Backend::kOpenMp) {
    device.cores = static_cast<int>(1 + Below(rng, 5));
    device.simd_bytes = 16 << Below(rng, 3);
    device.compiler = "gcc";
    return device;
  }
  device = device_ != nullptr                  ? device_->description()
           : options_.backend == Backend::kPtx ? NvidiaUnderOpenCl()
                                               : *DescribeCudaArchitecture(80);
  const bool is_opencl = options_.backend == Backend::kOpenCl;
  int most = is_opencl ? 128 : 1024;
  if (options_.max_threads_per_block > 0) most = options_.max_threads_per_block;
  most = std::min(most, device.blocks.max_threads_per_block);
  device.blocks.max_threads_per_block = std::max(most >> Below(rng, 4), device.blocks.warp_size);
  for (int64_t& threads : device.blocks.max_block) {
    threads = std::min<int64_t>(threads, device.blocks.max_threads_per_block);
  }
  // What every GPU has, so that a CPU's cache does not hide what is too large for others.
  device.blocks.shared_bytes_per_block =
      std::min<int64_t>(device.blocks.shared_bytes_per_block, 48 << 10);
  return device;
}

Result<Kernel> JudgedBackend::Generate(const LowLevelExpression& low_level,
                                       const DeviceDescription& device) const {
  return GenerateKernel(low_level, device);
}

Status JudgedBackend::JudgeOnCpu(const std::vector<JudgedOutput>& outputs, const Kernel& kernel,
                                 const std::vector<BufferBytes>& inputs,
                                 const std::vector<BufferBytes>& expected) {
  const std::string stem = absl::StrCat(directory_->path(), "/kernel");
  Status status = CompileKernel(kernel, directory_->path(), "kernel");
  if (status.ok()) status = JudgeKernel(outputs, kernel, stem + ".so", inputs, expected);
  for (const char* suffix : {".so", ".c", ".log"}) std::remove((stem + suffix).c_str());
  return status;
}

Status JudgedBackend::CompileToPtx(const Kernel& kernel) const {
  const std::string stem = absl::StrCat(directory_->path(), "/kernel");
  std::ofstream(stem + ".cl") << kernel.source;
  const bool is_right =
      std::system(absl::StrCat(kToPtx, stem, ".cl >", stem, ".log 2>&1").c_str()) == 0;
  std::stringstream log;
  log << std::ifstream(stem + ".log").rdbuf();
  for (const char* suffix : {".cl", ".log"}) std::remove((stem + suffix).c_str());
  if (is_right) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("clang refuses it: ", log.str()));
}

Status JudgedBackend::Judge(const std::vector<JudgedOutput>& outputs, const Kernel& kernel,
                            const std::vector<BufferBytes>& inputs,
                            const std::vector<BufferBytes>& expected) {
  if (options_.backend == Backend::kOpenMp) {
    return JudgeOnCpu(outputs, kernel, inputs, expected);
  }
  if (options_.backend == Backend::kPtx) return CompileToPtx(kernel);
  if (options_.backend == Backend::kNvrtc) {
    for (const int architecture : kArchitectures) {
      if (architecture < LeastCapability(kernel)) continue;
      MDH_RETURN_IF_ERROR(CompileToCubin(*nvrtc_, architecture, kernel).status());
    }
    return absl::OkStatus();
  }
  return JudgeOnDevice(*device_, outputs, kernel, inputs, expected, options_.guard_bytes);
}

Status JudgeOnDevice(ComputeDevice& device, const std::vector<JudgedOutput>& judged,
                     const Kernel& kernel, const std::vector<BufferBytes>& inputs,
                     const std::vector<BufferBytes>& expected, int64_t guard_bytes) {
  KernelRunOptions options;
  options.guard_bytes = guard_bytes;
  MDH_ASSIGN_OR_RETURN(KernelRun run, KernelRun::Create(device, kernel, inputs, options));
  // Twice: what the first run leaves in shared and scratch memory must not matter.
  for (int n = 0; n < 2; ++n) {
    MDH_RETURN_IF_ERROR(run.Poison());
    MDH_RETURN_IF_ERROR(run.Run());
    MDH_ASSIGN_OR_RETURN(const std::vector<BufferBytes> outputs, run.Outputs());
    for (size_t b = 0; b < outputs.size(); ++b) {
      const std::string difference =
          DifferenceOf(judged[b].buffer, outputs[b].data(), expected[b].data(), judged[b].contents,
                       options.poison, judged[b].units);
      if (!difference.empty()) return absl::InternalError(difference);
    }
  }
  return absl::OkStatus();
}

}  // namespace mdh
