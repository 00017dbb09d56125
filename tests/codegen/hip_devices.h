// AMD's GPUs under HIP: one with waves of 64 threads, one with waves of 32.
#pragma once

#include "core/device/device_description.h"

namespace mdh {

// One of its two dies; as deploy/devices/mi250.json.
inline DeviceDescription Mi250() {
  DeviceDescription device;
  device.kind = DeviceKind::kHip;
  device.name = "AMD Instinct MI250";
  device.cores = 104;
  device.l2_bytes = 8 << 20;
  device.cache_line_bytes = 128;
  device.isa = "gfx90a";
  device.clock_hz = 1.7e9;
  device.blocks = {.multiprocessors = 104,
                   .max_threads_per_block = 1024,
                   .max_block = {1024, 1024, 1024},
                   .max_grid = {2147483647, 65535, 65535},
                   .warp_size = 64,
                   .shared_bytes_per_block = 64 << 10,
                   .registers_per_thread = 256,
                   .registers_per_block = 131072,
                   .memory_bytes = 68702699520};
  device.features = FeaturesOf(device);
  return device;
}

inline DeviceDescription Rx6800() {
  DeviceDescription device = Mi250();
  device.name = "AMD Radeon RX 6800";
  device.isa = "gfx1030";
  device.cores = device.blocks.multiprocessors = 60;
  device.blocks.warp_size = 32;
  device.features = FeaturesOf(device);
  return device;
}

}  // namespace mdh
