// Runs a kernel in C on this machine: compiled by the system's compiler, loaded into this process.
//
//   MDH_ASSIGN_OR_RETURN(const auto cache, mdh::KernelCache::Open("/home/me/.cache/mdh"));
//   MDH_ASSIGN_OR_RETURN(const auto matmul, mdh::CpuKernel::Load(kernel, cache));
//   MDH_RETURN_IF_ERROR(matmul->Run({a, b, c}));
//   MDH_RETURN_IF_ERROR(matmul->RunBuffers({{a, ScalarType::kFloat32, {64, 32}}, b, c}));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/buffer_view.h"
#include "client/kernel_cache.h"
#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

// Thread-safe.
class CpuKernel {
 public:
  // `compiler`: as that of KernelCache::SharedObject. Several threads are those of the OpenMP
  // runtime that this process has, or else of GNU's or LLVM's, which is loaded. Errors: as
  // SharedObject; FailedPrecondition if what was compiled cannot be loaded, or there is no runtime.
  static Result<std::unique_ptr<CpuKernel>> Load(const v1::Kernel& kernel, const KernelCache& cache,
                                                 const std::string& compiler = "");
  ~CpuKernel();
  CpuKernel(const CpuKernel&) = delete;
  CpuKernel& operator=(const CpuKernel&) = delete;

  // `arguments`: inputs, then outputs, as in v1::Kernel.arguments; each points to as many bytes as
  // stand there, laid out as the expression says. Runs on as many threads as OpenMP gives, until
  // the result is there. Errors: InvalidArgument for another number of arguments, or one that is
  // nullptr; ResourceExhausted if there is no scratch memory.
  Status Run(absl::Span<void* const> arguments) const;
  // As Run, on arrays that are described, so that they are checked (CheckArguments). Errors: also
  // InvalidArgument for arrays of another type, shape, layout or alignment, outputs that are
  // read-only or overlap with anything.
  Status RunBuffers(absl::Span<const BufferView> arguments) const;

  // Why a call may take another time than the one that was measured, for people; mostly empty.
  const std::string& warning() const { return warning_; }

 private:
  using Call = int (*)(void* const* arguments);
  CpuKernel(void* library, Call call, const v1::Kernel& kernel)
      : library_(library),
        call_(call),
        entry_(kernel.entry()),
        arguments_(kernel.arguments().begin(), kernel.arguments().end()) {}

  void* const library_;
  const Call call_;
  const std::string entry_;
  const std::vector<v1::KernelArgument> arguments_;
  std::string warning_;
};

}  // namespace mdh
