// Launching the stages of a kernel on a CUDA device, so that they overlap where they can.
#pragma once

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
  // of the launch's function, `values` point to its arguments. Errors: as CheckCuda, naming call
  // and function.
  Status Launch(void* function, const KernelLaunch& launch, void** values, void* stream) const;

 private:
  const CudaFunctions& functions_;
  bool overlaps_stages_;
};

}  // namespace mdh
