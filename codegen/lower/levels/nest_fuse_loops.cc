// Loop Fusion (paper, appendix F).
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

}  // namespace mdh
