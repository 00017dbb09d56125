// Descriptions of devices between the wire and core.
#pragma once

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/device/machine_peaks.h"
#include "mdh/v1/device.pb.h"

namespace mdh {

v1::DeviceDescription ToProto(const DeviceDescription& device);

// Caches that are not given are not there; other fields are as in the default of core; of devices
// with blocks, `cores` is the number of multiprocessors. Errors: InvalidArgument, naming the field,
// if a number is beyond anything that is built, a text is too long, or ValidateDevice refuses it.
Result<DeviceDescription> FromProto(const v1::DeviceDescription& proto);

v1::MatrixUnitPeaks ToProto(const UnitPeaks& peaks);
UnitPeaks FromProto(const v1::MatrixUnitPeaks& proto);

}  // namespace mdh
