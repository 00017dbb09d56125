// Descriptions of well-known devices, which come with the daemon: deploy/devices/*.json.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "mdh/v1/device.pb.h"

namespace mdh {

struct KnownDeviceFile {
  std::string_view name;  // "h100"
  std::string_view json;  // a mdh.v1.DeviceDescription
};

// The files as they were when the daemon was built, by name.
std::vector<KnownDeviceFile> KnownDeviceFiles();

// The devices that the files describe, called "knownDevices/{name}". Errors: InvalidArgument,
// naming the file, if it is no JSON of a description or ValidateDevice refuses it.
Result<std::vector<v1::KnownDevice>> ReadKnownDevices(const std::vector<KnownDeviceFile>& files);

// The description with what the specification of a known device of the same model says in `limits`
// (of processors: of a model that is part of the name), where the device itself does not say it.
DeviceDescription WithLimits(DeviceDescription device, const std::vector<v1::KnownDevice>& known);

}  // namespace mdh
