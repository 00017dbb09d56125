#include "server/devices/known_devices.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/device_conversion.h"

namespace mdh {
namespace {

Result<v1::KnownDevice> ReadKnownDevice(const KnownDeviceFile& file) {
  v1::KnownDevice device;
  device.set_name(absl::StrCat("knownDevices/", std::string(file.name)));
  const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(file.json),
                                                                  device.mutable_description());
  if (!parsed.ok()) {
    return InvalidArgument(std::string(file.name), ".json: ", std::string(parsed.message()));
  }
  const Status valid = FromProto(device.description()).status();
  if (!valid.ok()) {
    return InvalidArgument(std::string(file.name), ".json: ", std::string(valid.message()));
  }
  return device;
}

}  // namespace

DeviceDescription WithLimits(DeviceDescription device, const std::vector<v1::KnownDevice>& known) {
  const bool is_host = RunsOnHost(device);
  for (const v1::KnownDevice& one : known) {
    const v1::DeviceDescription& description = one.description();
    const bool is_cpu = description.kind() == v1::DEVICE_KIND_CPU;
    const bool is_model = is_cpu ? device.name.find(description.model()) != std::string::npos
                                 : device.name == description.model();
    if (is_cpu != is_host || !is_model) continue;
    const auto take = [](auto& field, auto value) {
      if (field == 0) field = value;
    };
    take(device.limits.clock_hz, description.limits().clock_hz());
    take(device.limits.memory_bytes_per_s, description.limits().memory_bytes_per_s());
    take(device.limits.cache_bytes, description.limits().cache_bytes());
    take(device.limits.unit_bytes, description.limits().unit_bytes());
  }
  return device;
}

Result<std::vector<v1::KnownDevice>> ReadKnownDevices(const std::vector<KnownDeviceFile>& files) {
  std::vector<v1::KnownDevice> devices;
  for (const KnownDeviceFile& file : files) {
    MDH_ASSIGN_OR_RETURN(v1::KnownDevice device, ReadKnownDevice(file));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace mdh
