// Memory Operation Minimization (paper, appendix F).
#include <algorithm>

#include "codegen/lower/levels/nest_plan.h"

namespace mdh {

NestPlan MinimizeMemoryOperations(const LowLevelExpression& low, NestPlan plan) {
  for (NestCopy& copy : plan.copies) {
    const Buffer& buffer = low.expression().inputs()[copy.input];
    std::erase_if(copy.iterated, [&](int d) { return !buffer.DependsOn(d); });
    copy.uses_all_threads = copy.is_shared;
  }
  return plan;
}

}  // namespace mdh
