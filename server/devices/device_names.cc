#include "server/devices/device_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/device/fingerprint.h"

namespace mdh {
namespace {

constexpr std::string_view kOwnDevices = "devices/";
constexpr std::string_view kNodes = "nodes/";
constexpr std::string_view kFingerprintEnd = "; compiler unknown";

std::string_view Stripped(std::string_view text) {
  const absl::string_view stripped =
      absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return {stripped.data(), stripped.size()};
}

}  // namespace

std::string DeviceOfNode(std::string_view node, std::string_view device) {
  return absl::StrCat(std::string(node), "/", std::string(device));
}

Result<std::vector<std::string>> ParseFingerprints(std::string_view text) {
  std::vector<std::string> fingerprints;
  for (std::string_view rest = Stripped(text); !rest.empty() || fingerprints.empty();) {
    const size_t end = rest.find(kFingerprintEnd);
    const size_t size = end == std::string_view::npos ? 0 : end + kFingerprintEnd.size();
    const bool is_last = size == rest.size();
    if (size == 0 || !IsFingerprint(rest) || (!is_last && rest[size] != ',')) {
      return InvalidArgument(
          "'", std::string(rest),
          "' is no fingerprint of a device; mdh devices prints them: ", "cpu 'MODEL'; ...",
          std::string(kFingerprintEnd), ", with commas between several");
    }
    fingerprints.emplace_back(rest.substr(0, size));
    rest = is_last ? std::string_view() : Stripped(rest.substr(size + 1));
  }
  return fingerprints;
}

Result<std::string> ParseDeviceName(std::string_view text) {
  if (IsFingerprint(text)) {
    MDH_ASSIGN_OR_RETURN(const std::vector<std::string> one, ParseFingerprints(text));
    if (one.size() == 1) return one.front();
  }
  if (text.starts_with(kOwnDevices)) return std::string(text);
  const bool is_of_node =
      text.starts_with(kNodes) && text.find("/devices/") != std::string_view::npos;
  if (is_of_node) return std::string(text);
  if (!text.empty() && text.find('/') == std::string_view::npos && !IsFingerprint(text)) {
    return absl::StrCat(std::string(kOwnDevices), std::string(text));
  }
  return InvalidArgument("'", std::string(text),
                         "' is no device such as cuda0 or nodes/w1/devices/cuda0,"
                         " nor the fingerprint of one");
}

}  // namespace mdh
