// Buffer Elimination (paper, appendix F).
#include "codegen/lower/levels/nest_plan.h"

namespace mdh {

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

}  // namespace mdh
