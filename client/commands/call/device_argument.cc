#include "client/commands/call/device_argument.h"

#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "absl/strings/str_cat.h"
#include "core/device/backends.h"
#include "core/device/fingerprint.h"
#include "proto/device_conversion.h"

namespace mdh {
namespace {

constexpr const char* kDevices = "devices/";
constexpr const char* kKnownDevices = "knownDevices/";
constexpr const char* kNodes = "nodes/";

bool IsAttachedName(const std::string& text) {
  static const auto* pattern = new std::regex([] {
    std::string kinds;
    for (const BackendInfo& backend : Backends()) {
      if (backend.is_attached) absl::StrAppend(&kinds, kinds.empty() ? "" : "|", backend.name);
    }
    return absl::StrCat("(", kinds, ")[0-9]*(@.*)?");
  }());
  if (text.starts_with(kDevices) || text.starts_with(kNodes) || IsFingerprint(text)) return true;
  return std::regex_match(text, *pattern);
}

Result<v1::DeviceDescription> ReadDescription(const std::string& path) {
  std::ifstream stream(path);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.good() && !stream.eof()) return InvalidArgument("cannot read ", path);
  v1::DeviceDescription description;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &description);
  if (!parsed.ok()) return InvalidArgument(path, ": ", std::string(parsed.message()));
  if (const Status valid = FromProto(description).status(); !valid.ok()) {
    return InvalidArgument(path, ": ", std::string(valid.message()));
  }
  return description;
}

}  // namespace

std::string DeviceNameFromArgument(const std::string& text) {
  const bool is_whole = text.find('/') != std::string::npos || IsFingerprint(text);
  return is_whole ? text : kDevices + text;
}

Result<DeviceArgument> ParseDeviceArgument(const std::string& text) {
  DeviceArgument argument = {.text = text, .selection = {}, .is_attached = false};
  if (IsAttachedName(text)) {
    argument.is_attached = true;
    argument.selection.set_name(DeviceNameFromArgument(text));
  } else if (text.starts_with(kKnownDevices)) {
    argument.selection.set_name(text);
  } else if (text.find('/') != std::string::npos || text.ends_with(".json") ||
             std::filesystem::is_regular_file(text)) {
    MDH_ASSIGN_OR_RETURN(*argument.selection.mutable_description(), ReadDescription(text));
  } else {
    argument.selection.set_name(kKnownDevices + text);
  }
  return argument;
}

void AddDeviceOption(CLI::App& command, DeviceArgument& argument) {
  command
      .add_option_function<std::string>(
          "--device",
          [&argument](const std::string& text) {
            Result<DeviceArgument> parsed = ParseDeviceArgument(text);
            if (!parsed.ok()) {
              throw CLI::ValidationError("--device", std::string(parsed.status().message()));
            }
            argument = *std::move(parsed);
          },
          "what it is for [cpu]: an attached device (mdh devices), e.g. cuda0, or "
          "nodes/w1/devices/cuda0 of another daemon, or its fingerprint; a known one (mdh "
          "devices --known), e.g. h100; or a file that describes one, as mdh devices --known "
          "--json prints them")
      ->type_name("DEVICE");
}

}  // namespace mdh
