#include "codegen/part_parameters.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/backends/invariant_copies.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/part_design.h"
#include "core/base/round.h"
#include "core/device/backends.h"
#include "core/pipeline/plan/joint_groups.h"

namespace mdh {
namespace {

// Per input: parts that a thread computes in turn with the same copy.
std::vector<int64_t> PartsPerCopy(const Pipeline& pipeline, const JointSteps& joint, size_t n,
                                  const DeviceDescription& device) {
  const JointGroup& group = joint.group;
  std::vector<int64_t> counts = CommonExtents(pipeline, group);
  int64_t all = group.splits;
  for (size_t k = 0; k < counts.size(); ++k) all *= counts[k] /= group.part[k];
  const bool is_of_chunks = group.is_streamed() && static_cast<int>(n) < joint.body;
  const int64_t chunks = is_of_chunks ? StreamedExtent(pipeline, group) / group.chunk : 1;
  if (group.is_streamed()) counts.insert(counts.end(), {1, group.splits});
  const int64_t in_turn = CeilDivide(all, std::max<int64_t>(device.cores, 1));
  const JointPart::Step& step = joint.part.steps[n];
  std::vector<int64_t> runs;
  for (size_t i = 0; i < step.expression.inputs().size(); ++i) {
    const PartBuffer& place = step.inputs[i];
    const bool is_constant =
        place.kind == PartBuffer::Kind::kWhole && pipeline.writer(place.buffer) < group.first;
    const bool has_room =
        chunks == 1 || step.expression.inputs()[i].size_bytes() * chunks <= MostBytesKept(device);
    runs.push_back(is_constant && has_room ? std::min(in_turn, PartsAlike(place, counts)) : 1);
  }
  return runs;
}

}  // namespace

TuningParameters ParametersOfPart(const Pipeline& pipeline, const JointSteps& joint, size_t n,
                                  const SystemModel& model, const DeviceDescription& device,
                                  NumericsPolicy numerics, int64_t threads) {
  const JointPart::Step& step = joint.part.steps[n];
  const DeviceDescription one = OnePart(device, threads);
  if (!BackendOf(device.kind).has_blocks) {
    TuningParameters p = DefaultParameters(step.expression, model, one, numerics,
                                           PartsPerCopy(pipeline, joint, n, device));
    p.mirrors = false;  // without effect on a part
    return p;
  }
  std::vector<bool> in_part;
  for (const PartBuffer& input : step.inputs) {
    in_part.push_back(input.kind == PartBuffer::Kind::kPart);
  }
  std::optional<TuningParameters> designed;
  if (Reassociates(numerics)) {
    designed = DesignPart(step.expression, model, one, threads, in_part);
  }
  if (!designed) return DefaultParameters(step.expression, model, one, numerics);
  designed->numerics = numerics;
  return *designed;
}

}  // namespace mdh
