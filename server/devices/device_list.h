// Which devices the daemon uses: what --devices names, made from what is attached.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/machine_peaks.h"
#include "server/devices/tuning_device.h"
#include "tuner/measure/find_devices.h"

namespace mdh {

// One entry of --devices.
struct WantedDevice {
  std::string selector;                    // "cpu", "opencl:0", "cuda:1"
  std::vector<int> cores;                  // of the machine, rising; empty: all
  std::string name;                        // "devices/opencl0@0-1"
  std::optional<MachinePeaks> peaks = {};  // if they are known
};

// "cpu,opencl:0@0-1,opencl:0@2-3+6": selectors, each with the cores of the machine that it is
// restricted to: numbers and ranges with '+' between them. So a device that computes on the
// machine's cores (the CPU, OpenCL for CPUs) can be there several times. Errors: InvalidArgument,
// naming the entry, also if two have the same name.
// "none" is no device.
Result<std::vector<WantedDevice>> ParseDeviceList(std::string_view text);
inline constexpr std::string_view kNoDevices = "none";

// Everything that was found, each once.
std::vector<WantedDevice> AllDevices(const DeviceSearch& found);

// The devices in the order of `wanted`. The CPU and devices on some cores are started, because
// only their runners know what they are; others are started later. `runner`: for all of them, but
// for the device, its cores, and its folder in the work directory. Errors: FailedPrecondition,
// naming what is attached, if a device is wanted that is not.
Result<std::vector<std::unique_ptr<TuningDevice>>> MakeDevices(
    const std::vector<WantedDevice>& wanted, const DeviceSearch& found, const RunnerOptions& runner,
    const StartRunner& start = &Runner::Start);

}  // namespace mdh
