// What threads of a device can do beyond computing: fields of its description, where lowering,
// search and printers look a capability up instead of asking what kind of device it is.
#pragma once

#include "absl/types/span.h"
#include "core/base/status.h"

namespace mdh {

struct DeviceDescription;

// Plain data: one field, one row of FeatureNames.
struct DeviceFeatures {
  bool shuffles_down = false;     // threads of a warp read registers of those above them
  bool shuffles_up = false;       // of those below: prefix sums
  bool async_copies = false;      // threads copy to shared memory asynchronously
  bool atomic_additions = false;  // to elements of 4 and 8 bytes in device memory, also to floats
  bool atomics_32 = false;       // threads combine elements of 4 bytes atomically, by any operation
  bool atomics_64 = false;       // of 8 bytes
  bool resident_blocks = false;  // compilers can be told how many blocks a multiprocessor holds
  bool last_block = false;       // the last block of several sees what the others have written
  bool clusters = false;         // blocks read each other's shared memory
  bool group_units = false;      // matrix units that groups of 128 threads feed from shared memory
  bool dot_products = false;     // vectors whose lanes add up products of neighbours: of CPUs
  bool early_launches = false;   // a launch may begin before what is in front of it has ended
  // Barriers may be in branches that all threads of a block take. OpenCL allows them, too, but PoCL
  // 3.1 compiles two such branches wrongly.
  bool branches_around_barriers = false;
  bool private_registers = false;  // private arrays are registers: loops over them are unrolled

  friend bool operator==(const DeviceFeatures&, const DeviceFeatures&) = default;
};

struct FeatureName {
  const char* name;  // as in descriptions
  bool DeviceFeatures::*field;
};
absl::Span<const FeatureName> FeatureNames();

// Those of the device's architecture for which its language (core/device/backends.h) has words:
// what a description means that says nothing of them. Reads `kind`, `isa` and `blocks`.
DeviceFeatures FeaturesOf(const DeviceDescription& device);

// A description may leave out what the architecture has, but not claim what it has not. Errors:
// InvalidArgument, naming the feature and the field that contradicts it.
Status ValidateFeatures(const DeviceDescription& device);

}  // namespace mdh
