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
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(file.name), ".json: ", std::string(parsed.message())));
  }
  const Status valid = FromProto(device.description()).status();
  if (!valid.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(file.name), ".json: ", std::string(valid.message())));
  }
  return device;
}

}  // namespace

Result<std::vector<v1::KnownDevice>> ReadKnownDevices(const std::vector<KnownDeviceFile>& files) {
  std::vector<v1::KnownDevice> devices;
  for (const KnownDeviceFile& file : files) {
    MDH_ASSIGN_OR_RETURN(v1::KnownDevice device, ReadKnownDevice(file));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace mdh
