// Partitions and groups of pipelines, for people.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

// How steps can be fused, the cheapest first.
std::string DescribePartitions(const Pipeline& pipeline);

// Which steps run together, on which parts.
std::string DescribeGroups(const Pipeline& pipeline, absl::Span<const JointGroup> groups);

}  // namespace mdh
