// What a thread of a CPU needs for its next part, on its way while it computes this one.
#pragma once

#include "absl/types/span.h"
#include "codegen/backends/build_program.h"
#include "core/device/device_description.h"
#include "core/pipeline/plan/joint_part.h"

namespace mdh {

// A group's parts in the order in which a thread computes them, the last dimension fastest.
struct PartsInTurn {
  const JointPart& part;
  absl::Span<const int64_t> extents;  // of the common dimensions
  absl::Span<const int64_t> points;   // of a part
};

// Adds requests for what the next part reads to the programs of a part's steps: where several of
// them read the same elements of a buffer, as those of a soft-max do, the first one waits for
// memory, and memory for the others, which find them in a cache. Of these the one that computes
// most for an element it loads also requests the element at the same place of the next part. And
// where lines come from memory before they are written, which is where stores do not go past
// caches, whoever stores also requests the line at that place. So for buffers larger than the
// caches of a core of which parts that follow each other access, by vectors, what is at least a few
// cache lines and of which a few fit into the second level. Requests past the end of a buffer do
// nothing. `programs`: for threads of a CPU, one per step.
void RequestNextPart(absl::Span<KernelProgram> programs, const PartsInTurn& parts,
                     const DeviceDescription& device);

}  // namespace mdh
