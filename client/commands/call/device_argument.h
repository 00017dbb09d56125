// Devices as the command line names them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/base/status.h"
#include "mdh/v1/device.pb.h"

namespace mdh {

// "cuda0" -> "devices/cuda0"; names with a '/' stay as they are, and fingerprints.
std::string DeviceNameFromArgument(const std::string& text);

struct DeviceArgument {
  std::string text;               // as given; empty: not given
  v1::DeviceSelection selection;  // what it means
  bool is_attached = true;        // or known by its description only
};

// What `text` means: a name as "cuda0", "devices/cuda0" or "nodes/w1/devices/cuda0", or a
// fingerprint, an attached device, another name as
// "h100" or "knownDevices/h100" one that is known, a file with a description in JSON that one.
// Errors: InvalidArgument, naming the file, if it is none.
Result<DeviceArgument> ParseDeviceArgument(const std::string& text);

// --device TEXT: sets `argument`.
void AddDeviceOption(CLI::App& command, DeviceArgument& argument);

}  // namespace mdh
