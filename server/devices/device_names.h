// What names of devices in requests may be: of this daemon, of another one, or fingerprints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace mdh {

// "nodes/w1/devices/cuda0" of "nodes/w1" and "devices/cuda0".
std::string DeviceOfNode(std::string_view node, std::string_view device);

// Fingerprints with commas between them; they have commas themselves. Errors: InvalidArgument,
// saying where they are to be had.
Result<std::vector<std::string>> ParseFingerprints(std::string_view text);

// Of a device of this daemon ("cuda0", "devices/cuda0") or another one, or a fingerprint: the form
// that requests have. Errors: InvalidArgument if it is none of these.
Result<std::string> ParseDeviceName(std::string_view text);

}  // namespace mdh
