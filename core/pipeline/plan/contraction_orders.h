// Pipelines that a plan starts from: sums of products as they are, and in other orders.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/plan.h"

namespace mdh {

// A pipeline that means the same as the one that is planned.
struct PlannedPipeline {
  Pipeline pipeline;
  // Per step the steps of the pipeline that is planned which it computes, or a part of which.
  std::vector<std::vector<int>> origins;
  std::vector<PlannedEdge> decided;  // of kinds kContraction and kSplit
};

// The pipeline itself; with steps split, as far as their types and the policy allow it, if there
// are such steps; and with contractions merged before that, if that is cheaper than both.
std::vector<PlannedPipeline> ContractionOrders(const Pipeline& pipeline,
                                               const PlanOptions& options);

// Whether sums of this step may be reordered.
bool MayReorder(const Expression& expression, const PlanOptions& options);

}  // namespace mdh
