// Fingerprints of devices (DeviceDescription::Fingerprint) as texts.
#pragma once

#include <string_view>

namespace mdh {

// Whether it begins as fingerprints do, e.g. "cpu 'AMD EPYC'; ...": no name of a device does.
bool IsFingerprint(std::string_view text);

}  // namespace mdh
