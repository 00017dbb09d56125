// What the level-by-level lowering is judged on: OpenMP, an OpenCL or CUDA device, or compilers
// alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/decomposition/low_level_expression.h"
#include "core/expression/interpreter.h"
#include "tests/property/kernel_judge.h"
#include "tests/random_expression.h"
#include "tuner/device/compute_device.h"
#include "tuner/device/cuda/nvrtc.h"

namespace mdh {

enum class Backend : uint8_t {
  kOpenMp,
  kOpenCl,
  kCuda,
  kNvrtc,  // CUDA C++ is compiled for compute capabilities 8.0 and 9.0, not run
  kPtx,    // OpenCL C for NVIDIA's compiler is compiled to PTX by clang, not run
};

inline bool OnlyCompiles(Backend backend) {
  return backend == Backend::kNvrtc || backend == Backend::kPtx;
}

// "openmp", "opencl", "cuda", "nvrtc", "ptx". Errors: InvalidArgument, naming these.
Result<Backend> BackendNamed(std::string_view name);

struct BackendOptions {
  Backend backend = Backend::kOpenMp;
  std::string platform;  // of OpenCL: a part of its name; empty: the first platform
  int device = 0;        // number among those of the platform
  std::vector<std::string> toolkit_folders;  // Nvrtc::ToolkitFolders
  int64_t guard_bytes = 256;                 // as KernelRunOptions
  int max_threads_per_block = 0;  // of random configurations; 0: 128 on OpenCL, 1024 on CUDA
};

// Compiles and runs `kernel` twice on `device` and compares its outputs bit by bit with `expected`;
// elements that no index function reaches must be zero, those that are kept, inputs and guard zones
// untouched. Errors: what differs, or what KernelRun says.
Status JudgeOnDevice(ComputeDevice& device, const std::vector<JudgedOutput>& outputs,
                     const Kernel& kernel, const std::vector<BufferBytes>& inputs,
                     const std::vector<BufferBytes>& expected, int64_t guard_bytes);

// An open device with everything that judges kernels for it. Not thread-safe; opens nothing that
// survives a fork.
class JudgedBackend {
 public:
  // Errors: NotFound or FailedPrecondition if there is no such device, library or compiler.
  static Result<std::unique_ptr<JudgedBackend>> Open(const BackendOptions& options);

  // "NVIDIA H200 (CUDA, driver 13.0)".
  std::string Name() const;
  ComputeDevice* device() { return device_.get(); }  // of kOpenCl and kCuda, else null
  const ComputeDevice* device() const { return device_.get(); }
  // Whether clang, too, compiles for kOpenMp.
  bool has_clang() const { return has_clang_; }

  // For random configurations: one of the backend's system models, and the device with some of its
  // limits lowered at random.
  SystemModel RandomModel(Rng& rng) const;
  DeviceDescription RandomDevice(Rng& rng) const;

  // Generates the backend's code. Errors: what the generator says.
  Result<Kernel> Generate(const LowLevelExpression& low_level,
                          const DeviceDescription& device) const;
  // Compiles and runs `kernel` and compares its outputs bit by bit with `expected`. Errors: what is
  // wrong; Internal, InvalidArgument with a compiler's log.
  Status Judge(const std::vector<JudgedOutput>& outputs, const Kernel& kernel,
               const std::vector<BufferBytes>& inputs, const std::vector<BufferBytes>& expected);
  Status Judge(const Expression& expression, const Kernel& kernel,
               const std::vector<BufferBytes>& inputs, const std::vector<BufferBytes>& expected) {
    return Judge(OutputsOf(expression), kernel, inputs, expected);
  }

 private:
  explicit JudgedBackend(const BackendOptions& options) : options_(options) {}
  Status OpenDevice();
  Status JudgeOnCpu(const std::vector<JudgedOutput>& outputs, const Kernel& kernel,
                    const std::vector<BufferBytes>& inputs,
                    const std::vector<BufferBytes>& expected);

  Status CompileToPtx(const Kernel& kernel) const;

  BackendOptions options_;
  std::optional<TemporaryDirectory> directory_;  // of kOpenMp and kPtx
  bool has_clang_ = false;
  std::unique_ptr<ComputeDevice> device_;
  std::optional<Nvrtc> nvrtc_;
};

}  // namespace mdh
