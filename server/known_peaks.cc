#include "server/known_peaks.h"

#include <google/protobuf/util/json_util.h>

#include <cstdint>

#include "server/operate/file_content.h"
#include "tuner/measure/results/runner_messages.h"

namespace mdh {
namespace {

constexpr int64_t kMaxKnownPeaksBytes = int64_t{1} << 20;

}  // namespace

Result<KnownPeaks> ReadKnownPeaks(const std::string& path, const TrustedUsers& trusted) {
  KnownPeaks known;
  if (path.empty()) return known;
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFileContent(path, kMaxKnownPeaksBytes, trusted));
  v1::ListDevicesResponse list;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;  // of other versions
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &list, lenient);
  if (!parsed.ok()) {
    return InvalidArgument("--known-peaks: ", path, " is not what mdh devices --json prints: ",
                           std::string(parsed.message()));
  }
  for (const v1::Device& device : list.devices()) {
    if (device.has_peaks()) known.emplace(device.name(), device);
  }
  if (known.empty()) return InvalidArgument("--known-peaks: ", path, " has no peaks of a device");
  return known;
}

void SetPeaks(const KnownPeaks& known, std::vector<WantedDevice>& wanted) {
  for (WantedDevice& device : wanted) {
    const auto found = known.find(device.name);
    if (found != known.end()) device.peaks = FromMessage(found->second.peaks());
  }
}

Status CheckPeaksAreOf(const KnownPeaks& known, const TuningDevice& device) {
  const auto found = known.find(device.name());
  if (found == known.end() || found->second.fingerprint() == device.fingerprint()) {
    return absl::OkStatus();
  }
  return FailedPrecondition("--known-peaks: ", device.name(), " is '", device.fingerprint(),
                            "', and peaks are known of '", found->second.fingerprint(), "'");
}

}  // namespace mdh
