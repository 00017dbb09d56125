// Memory of CUDA devices between guard zones.
#pragma once

#include <string>

#include "tuner/device/compute_device.h"
#include "tuner/device/cuda/cuda_functions.h"
#include "tuner/device/cuda/nvrtc.h"

namespace mdh {

// What the devices of a process share; lives as long as the process, as the driver does.
struct CudaDriver {
  CudaFunctions functions;
  Nvrtc nvrtc;
  std::string version;

  Status Check(absl::string_view call, int code) const { return CheckCuda(functions, call, code); }
};

class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(const CudaFunctions& functions, CudaPointer start, int64_t bytes, int64_t guard_bytes)
      : DeviceMemory(bytes, guard_bytes), functions_(functions), start_(start) {}
  ~CudaMemory() override { functions_.MemFree(start_); }

  CudaPointer data() const { return start_ + static_cast<CudaPointer>(guard_bytes()); }

  Status Fill(std::byte value) override {
    const size_t all = static_cast<size_t>(bytes() + 2 * guard_bytes());
    MDH_RETURN_IF_ERROR(
        CheckCuda(functions_, "cuMemsetD8",
                  functions_.MemsetD8(start_, static_cast<unsigned char>(value), all)));
    return CheckCuda(functions_, "cuCtxSynchronize", functions_.CtxSynchronize());
  }
  Status Write(absl::Span<const std::byte> contents) override {
    return CheckCuda(functions_, "cuMemcpyHtoD",
                     functions_.MemcpyHtoD(data(), contents.data(), contents.size()));
  }
  Status WriteAt(int64_t offset, absl::Span<const std::byte> contents) override {
    return CheckCuda(functions_, "cuMemcpyHtoD",
                     functions_.MemcpyHtoD(start_ + static_cast<CudaPointer>(offset),
                                           contents.data(), contents.size()));
  }
  Status Read(int64_t offset, absl::Span<std::byte> to) const override {
    return CheckCuda(
        functions_, "cuMemcpyDtoH",
        functions_.MemcpyDtoH(to.data(), start_ + static_cast<CudaPointer>(offset), to.size()));
  }

 private:
  const CudaFunctions& functions_;
  CudaPointer start_;
};

}  // namespace mdh
