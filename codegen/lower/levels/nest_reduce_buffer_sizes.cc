// Buffer Size Reduction (paper, appendix F).
#include "codegen/lower/levels/nest_plan.h"

namespace mdh {

NestPlan ReduceBufferSizes(const LowLevelExpression& low, NestPlan plan) {
  const NestShape shape(low.expression(), low.model(), low.parameters());
  for (NestCopy& copy : plan.copies) {
    const NestShape::Box box = shape.CopyBox(copy.input, copy.place, copy.is_shared);
    copy.extents = box.extents;
    copy.steps = box.steps;
  }
  return plan;
}

}  // namespace mdh
