// Steps of a pipeline that run together, part after part.
#pragma once

#include <cstdint>
#include <vector>

namespace mdh {

// Adjacent steps of a partition that run together: all of them on one part of the dimensions that
// they have in common, then on the next part. Parts are computed in parallel (blocks of a GPU,
// threads of a CPU); what a step of the group writes for another one lies in memory of the part.
struct JointGroup {
  int first = 0, last = 0;  // steps of the partition's pipeline
  // Per step of the group the numbers of its common dimensions, all in one order.
  std::vector<std::vector<int>> dimensions;
  // Points of a part per common dimension; they divide the dimension's extent.
  std::vector<int64_t> part;

  // A streamed dimension: of every part the steps run on one chunk of it after the other, and what
  // they reduce along it is carried from chunk to chunk; scaled_sums.h says which sums can be. So
  // what is between the steps is as small as a chunk. Per step its number there, or -1: the step
  // runs once, behind all chunks. Empty: nothing is streamed.
  std::vector<int> streamed = {};
  int64_t chunk = 0;   // its points; they divide the extent of what one split has
  int64_t splits = 1;  // of the streamed dimension, which run in parallel and are then combined

  bool is_streamed() const { return !streamed.empty(); }

  friend bool operator==(const JointGroup&, const JointGroup&) = default;
};

}  // namespace mdh
