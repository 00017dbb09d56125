// Parts and chunks of joint groups with a streamed dimension, by rules.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// Points of the common dimensions, points of the streamed one, and threads of a block (1 on CPUs).
struct StreamShape {
  int64_t part, chunk, threads;
};

// What a search tries on such a device, the likeliest first.
absl::Span<const StreamShape> StreamShapes(const DeviceDescription& device);

// The group with a streamed dimension, in parts and chunks of about the first of StreamShapes of
// which fast memory holds what steps leave to one another, where that is worth it: memory is fast
// for so many points of the common dimensions only (`fits`) that contractions in the group use what
// they read too few times, or not even for one point; if for no shape either, of the first one. On
// CPUs also where masks leave out chunks that are not computed then, as in causal attention.
// nullopt: it is not, or there is no dimension that can be streamed (StreamedGroups).
std::optional<JointGroup> Streamed(const Pipeline& pipeline, const JointGroup& group,
                                   const DeviceDescription& device, int64_t fits);

// A streamed group with such parts and chunks at most, as many points as divide the extents; parts
// are of the dimensions along which steps use again what they have read of a chunk. Chunks
// are longer where parts are smaller than that; there are several splits where there are not enough
// parts for the device.
JointGroup WithStreamShape(const Pipeline& pipeline, JointGroup group,
                           const DeviceDescription& device, const StreamShape& shape);

}  // namespace mdh
