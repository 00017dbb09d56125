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

  friend bool operator==(const JointGroup&, const JointGroup&) = default;
};

}  // namespace mdh
