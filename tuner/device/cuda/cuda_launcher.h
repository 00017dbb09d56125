// Launching the stages of a kernel on a CUDA device, so that they overlap where they can.
#pragma once

#include "absl/types/span.h"
#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "tuner/device/cuda/cuda_functions.h"

namespace mdh {

// On devices of compute capability 9.0 and later, with a driver
// that has cuLaunchKernelEx, stages that may start early do: the GPU is then not idle between two
// stages. Elsewhere all are launched as usual. Immutable.
class CudaLauncher {
 public:
  // `functions` must outlive the launcher. `capability`: of the current context's device, 90 for
  // 9.0, for which the kernels must have been compiled: earlier architectures have no way to wait.
  CudaLauncher(const CudaFunctions& functions, int capability);

  // Does not wait for the end. `stream`: nullptr for the default stream. `function` is the handle
  // of the launch's function, `values` point to its pointers; tensor maps of these are encoded
  // here, behind them. Errors: as CheckCuda, naming call and function; as EncodeTensorMap.
  Status Launch(void* function, const KernelLaunch& launch, absl::Span<void*> values,
                void* stream) const;

 private:
  Status Start(void* function, const KernelLaunch& launch, void** values, void* stream) const;

  const CudaFunctions& functions_;
  bool overlaps_stages_;
};

}  // namespace mdh
