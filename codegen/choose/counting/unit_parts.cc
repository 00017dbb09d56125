#include "codegen/choose/counting/unit_parts.h"

#include <algorithm>

#include "core/base/round.h"

namespace mdh {

int WholeParts(const UnitPlan& plan, int64_t parts) {
  const int64_t stages = CeilDivide(plan.k, plan.depth());
  return static_cast<int>(CeilDivide(stages, CeilDivide(stages, parts)));
}

std::vector<int> UnitPartsFor(const UnitPlan& plan, int rows, int columns,
                              const DeviceDescription& device) {
  std::vector<int> parts = {1, 2, 3, 4, 8, 16, 32};
  const int64_t tiles = plan.batches * CeilDivide(plan.m, rows) * CeilDivide(plan.n, columns);
  for (const int64_t blocks : {1, 2, 3}) {
    const int64_t most = blocks * device.blocks.multiprocessors / tiles;
    const int whole = WholeParts(plan, std::clamp<int64_t>(most, 1, kMostUnitParts));
    if (std::ranges::find(parts, whole) == parts.end()) parts.push_back(whole);
  }
  return parts;
}

}  // namespace mdh
