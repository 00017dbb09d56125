// The four optimisations of nest plans (paper, appendix F).
#include <algorithm>
#include <utility>

#include "codegen/lower/levels/nest_plan.h"

namespace mdh {

NestPlan FuseLoops(NestPlan plan) {
  std::vector<Nest> fused;
  for (Nest& nest : plan.nests) {
    if (!fused.empty() && fused.back().parameters == nest.parameters) {
      fused.back().phases.insert(fused.back().phases.end(), nest.phases.begin(), nest.phases.end());
    } else {
      fused.push_back(std::move(nest));
    }
  }
  plan.nests = std::move(fused);
  return plan;
}

NestPlan EliminateBuffers(NestPlan plan) {
  std::vector<NestCopy> kept;
  for (NestCopy& copy : plan.copies) {
    const bool is_same = !kept.empty() && kept.back().input == copy.input &&
                         kept.back().region == copy.region && kept.back().layout == copy.layout;
    if (!is_same) kept.push_back(std::move(copy));
  }
  plan.copies = std::move(kept);
  return plan;
}

NestPlan ReduceBufferSizes(const LowLevelExpression& low, NestPlan plan) {
  for (NestCopy& copy : plan.copies) {
    const NestShape::Box box = low.shape().CopyBox(copy.input, copy.place, copy.is_shared);
    copy.extents = box.extents;
    copy.steps = box.steps;
  }
  return plan;
}

NestPlan MinimizeMemoryOperations(const LowLevelExpression& low, NestPlan plan) {
  for (NestCopy& copy : plan.copies) {
    const Buffer& buffer = low.expression().inputs()[copy.input];
    std::erase_if(copy.iterated, [&](int d) { return !buffer.DependsOn(d); });
    copy.uses_all_threads = copy.is_shared;
  }
  return plan;
}

}  // namespace mdh
