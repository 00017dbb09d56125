// Memory of CUDA devices between guard zones.
#pragma once

#include <string>

#include "tuner/device/compute_device.h"
#include "tuner/device/cuda_functions.h"
#include "tuner/device/nvrtc.h"

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
  CudaMemory(const CudaDriver& driver, CudaPointer start, int64_t bytes, int64_t guard_bytes)
      : DeviceMemory(bytes, guard_bytes), driver_(driver), start_(start) {}
  ~CudaMemory() override { driver_.functions.MemFree(start_); }

  CudaPointer data() const { return start_ + static_cast<CudaPointer>(guard_bytes()); }

  Status Fill(std::byte value) override {
    const size_t all = static_cast<size_t>(bytes() + 2 * guard_bytes());
    MDH_RETURN_IF_ERROR(driver_.Check(
        "cuMemsetD8", driver_.functions.MemsetD8(start_, static_cast<unsigned char>(value), all)));
    return driver_.Check("cuCtxSynchronize", driver_.functions.CtxSynchronize());
  }
  Status Write(absl::Span<const std::byte> contents) override {
    return driver_.Check("cuMemcpyHtoD",
                         driver_.functions.MemcpyHtoD(data(), contents.data(), contents.size()));
  }
  Status WriteAt(int64_t offset, absl::Span<const std::byte> contents) override {
    return driver_.Check("cuMemcpyHtoD",
                         driver_.functions.MemcpyHtoD(start_ + static_cast<CudaPointer>(offset),
                                                      contents.data(), contents.size()));
  }
  Status Read(int64_t offset, absl::Span<std::byte> to) const override {
    return driver_.Check("cuMemcpyDtoH",
                         driver_.functions.MemcpyDtoH(
                             to.data(), start_ + static_cast<CudaPointer>(offset), to.size()));
  }

 private:
  const CudaDriver& driver_;
  CudaPointer start_;
};

}  // namespace mdh
