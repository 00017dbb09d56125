// Tensor maps that launches pass to kernel functions by value (KernelLaunch::tensor_maps).
#pragma once

#include <cstdint>

#include "codegen/program/kernel.h"
#include "core/base/status.h"
#include "tuner/device/cuda/cuda_functions.h"

namespace mdh {

// CUtensorMap.
struct EncodedTensorMap {
  alignas(64) uint64_t words[16];
};

// Of the array behind `pointer`, which is what the map's argument points to. Errors:
// InvalidArgument if the first element is not at a multiple of 16 bytes; FailedPrecondition if the
// driver is older than CUDA 12; as CheckCuda.
Status EncodeTensorMap(const CudaFunctions& functions, const TensorMap& map, CudaPointer pointer,
                       EncodedTensorMap* encoded);

}  // namespace mdh
