// Devices for people.
#pragma once

#include <string>

#include "mdh/v1/device.pb.h"

namespace mdh {

// Several lines: model, limits, caches, peaks, compiler, health, load.
std::string FormatDevice(const v1::Device& device);
// One of the daemons that share a database, in one line.
std::string FormatNode(const v1::Node& node);
// One line: "knownDevices/h100: NVIDIA H100 80GB HBM3 (sm_90, 132 multiprocessors)".
std::string FormatKnownDevice(const v1::KnownDevice& device);

}  // namespace mdh
