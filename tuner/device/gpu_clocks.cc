#include "tuner/device/gpu_clocks.h"

#include "tuner/device/shared_library.h"

namespace mdh {
namespace {

// Of nvmlClocksThrottleReasons: HwSlowdown, SwThermalSlowdown, HwThermalSlowdown,
// HwPowerBrakeSlowdown.
constexpr unsigned long long kHeldBack = 0x8 | 0x20 | 0x40 | 0x80;

}  // namespace

std::unique_ptr<GpuClocks> GpuClocks::Open(const std::string& pci_bus_id) {
  const Result<SharedLibrary> library = SharedLibrary::Open({"libnvidia-ml.so.1"});
  if (!library.ok()) return nullptr;
  int (*init)() = nullptr;
  int (*by_bus_id)(const char*, void**) = nullptr;
  Reasons reasons = nullptr;
  library->LoadIfPresent("nvmlInit_v2", &init);
  library->LoadIfPresent("nvmlDeviceGetHandleByPciBusId_v2", &by_bus_id);
  // The newer name of the second one came with driver 535.
  library->LoadIfPresent("nvmlDeviceGetCurrentClocksEventReasons", &reasons);
  if (reasons == nullptr) {
    library->LoadIfPresent("nvmlDeviceGetCurrentClocksThrottleReasons", &reasons);
  }
  void* device = nullptr;
  const bool is_there = init != nullptr && by_bus_id != nullptr && reasons != nullptr &&
                        init() == 0 && by_bus_id(pci_bus_id.c_str(), &device) == 0;
  return is_there ? std::unique_ptr<GpuClocks>(new GpuClocks(reasons, device)) : nullptr;
}

bool GpuClocks::AreHeldBack() const {
  unsigned long long reasons = 0;
  return reasons_(device_, &reasons) == 0 && (reasons & kHeldBack) != 0;
}

}  // namespace mdh
