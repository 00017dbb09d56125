// Whether an NVIDIA GPU is held back, as its management library (NVML) says.
#pragma once

#include <memory>
#include <string>

namespace mdh {

// Thread-safe.
class GpuClocks {
 public:
  // `pci_bus_id`: "0000:3b:00.0". nullptr if the library is not there, or does not know the GPU.
  static std::unique_ptr<GpuClocks> Open(const std::string& pci_bus_id);

  // Whether heat, or what powers it, make it slower than it is otherwise. The limit of its power,
  // which long kernels reach on every run, does not count.
  bool AreHeldBack() const;

 private:
  using Reasons = int (*)(void* device, unsigned long long* reasons);
  GpuClocks(Reasons reasons, void* device) : reasons_(reasons), device_(device) {}

  const Reasons reasons_;
  void* const device_;
};

}  // namespace mdh
