#include "tuner/measure/compile/attached_device.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/device_conversion.h"
#include "tuner/process/clock.h"
#include "tuner/process/helper_process.h"
#include "tuner/process/message_stream.h"

namespace mdh {
namespace {

using Devices = DeviceDriver::Devices;

constexpr int64_t kLookLimit = 60'000'000'000;

// PoCL reads these when it is loaded.
void SetUpDrivers(const DriverOptions& options) {
  if (!options.directory.empty()) {
    setenv("POCL_CACHE_DIR", PoclDirectory(options).c_str(), 1);
    setenv("TMPDIR", options.directory.c_str(), 1);
    // Programs' binaries are PTX under NVIDIA's OpenCL: the machine code that a worker made of one
    // is found here by the process that measures, which would compile it again. The rest of the
    // cache makes a device open in a sixth of the time.
    setenv("CUDA_CACHE_PATH", (options.directory + "/cuda_cache").c_str(), 1);
    setenv("CUDA_CACHE_MAXSIZE", "268435456", 1);
    setenv("CUDA_CACHE_DISABLE", "0", 1);
  }
  setenv("POCL_KERNEL_CACHE", "0", 1);
  // Launches run the versions for their own sizes (PoclAnySize).
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "1", 1);
  if (options.cores > 0) setenv("POCL_MAX_PTHREAD_COUNT", absl::StrCat(options.cores).c_str(), 1);
}

Result<Devices> Open(DeviceKind kind, std::optional<int> number, const DriverOptions& options) {
  SetUpDrivers(options);
  return DriverOf(kind).open(number, options);
}

v1::RunnerAttachedDevice Describe(const ComputeDevice& device, const DeviceSelector& selector) {
  v1::RunnerAttachedDevice attached;
  attached.set_selector(ToText(selector));
  *attached.mutable_description() = ToProto(device.description());
  attached.set_platform(device.platform());
  attached.set_driver(device.driver());
  return attached;
}

// In the child: sends the list, or why there is none.
int Look(DeviceKind kind, std::optional<int> number, const DriverOptions& options) {
  v1::RunnerResponse response;
  v1::RunnerDeviceList& list = *response.mutable_devices();
  const Result<Devices> devices = Open(kind, number, options);
  response.set_status_code(static_cast<int>(devices.status().code()));
  response.set_status_message(std::string(devices.status().message()));
  if (devices.ok()) {
    for (size_t d = 0; d < devices->size(); ++d) {
      const DeviceSelector selector = {kind, number.value_or(static_cast<int>(d))};
      *list.add_devices() = Describe(*(*devices)[d], selector);
    }
  }
  return SendMessage(kChildSocket, response).ok() ? 0 : 1;
}

Result<v1::RunnerDeviceList> LookInChild(DeviceKind kind, std::optional<int> number,
                                         const DriverOptions& options, Supervisor& supervisor) {
  MDH_ASSIGN_OR_RETURN(HelperProcess helper, HelperProcess::Start({.name = "mdh-look"}, [&] {
                         return Look(kind, number, options);
                       }));
  v1::RunnerResponse response;
  const int64_t deadline_ns = NowNs() + kLookLimit;
  MDH_RETURN_IF_ERROR(helper.Await(
      response, [=] { return deadline_ns; }, supervisor, "looking for devices"));
  if (response.status_code() == 0) return response.devices();
  return Status(static_cast<absl::StatusCode>(response.status_code()), response.status_message());
}

}  // namespace

Result<std::unique_ptr<ComputeDevice>> OpenAttachedDevice(const DeviceSelector& selector,
                                                          const DriverOptions& options) {
  MDH_ASSIGN_OR_RETURN(Devices devices, Open(selector.kind, selector.number, options));
  return std::move(devices[0]);
}

Result<v1::RunnerDeviceList> LookForDevices(DeviceKind kind, const DriverOptions& options,
                                            Supervisor& supervisor) {
  return LookInChild(kind, std::nullopt, options, supervisor);
}

Result<v1::RunnerAttachedDevice> LookForDevice(const DeviceSelector& selector,
                                               const DriverOptions& options,
                                               Supervisor& supervisor) {
  MDH_ASSIGN_OR_RETURN(const v1::RunnerDeviceList list,
                       LookInChild(selector.kind, selector.number, options, supervisor));
  return list.devices(0);
}

}  // namespace mdh
