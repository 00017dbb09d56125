// What devices have reached before, as `mdh devices --json` says it (--known-peaks): it need not be
// measured again by a daemon that is new.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "mdh/v1/device.pb.h"
#include "server/devices/device_list.h"
#include "server/devices/tuning_device.h"

namespace mdh {

// By the names of devices.
using KnownPeaks = std::map<std::string, v1::Device>;

// Those of the file that have peaks; none if `path` is empty. Errors: InvalidArgument, naming the
// file, if it cannot be read, is no such list, or has none; PermissionDenied as ReadFileContent.
Result<KnownPeaks> ReadKnownPeaks(const std::string& path, const TrustedUsers& trusted);

// Gives devices of these names their peaks.
void SetPeaks(const KnownPeaks& known, std::vector<WantedDevice>& wanted);

// Errors: FailedPrecondition with both fingerprints if the device of that name was another one.
Status CheckPeaksAreOf(const KnownPeaks& known, const TuningDevice& device);

}  // namespace mdh
