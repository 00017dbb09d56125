// Copies of a problem's buffers that calls use in turns, so that none finds its data in a cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/device/device_description.h"
#include "tuner/device/compute_device.h"
#include "tuner/measure/trial/candidate_run.h"

namespace mdh {

// How many sets of `set_bytes` each are to be used in turns on a device: so many that together they
// are three times as large as its largest cache, and at least two; but at most 1,500, and no more
// than an eighth of its memory holds. 1 if there is no room for two.
int64_t SetsBeyondCaches(int64_t set_bytes, const DeviceDescription& device);

// How many calls are timed together, of which one on its own took `call_ns`: on all of `sets` in
// turn, each time in the same way or, where that took too long, on some of them. Only a kernel that
// is as long as a batch is timed on its own: what a short one takes is the launch as much as the
// kernel, and a search that times some kernels with it and some without cannot compare them.
// `on_host`: whether the threads of this process are the device.
int64_t CallsTimedTogether(double call_ns, int64_t sets, bool on_host);

// The sets beside the first one: inputs with the contents of the problem's, then outputs.
class BufferSets {
 public:
  // `count`: sets, the first one included, which is the caller's own. Errors: ResourceExhausted if
  // the device's memory does not suffice, else Internal.
  static Result<BufferSets> Create(ComputeDevice& device, absl::Span<const InputBuffer> inputs,
                                   absl::Span<const OutputBuffer> outputs, int64_t count);

  // Of the sets beside the first one, without scratch memory.
  const std::vector<DeviceArguments>& others() const { return others_; }

 private:
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<DeviceArguments> others_;
};

}  // namespace mdh
