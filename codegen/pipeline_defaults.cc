#include "codegen/pipeline_defaults.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "core/device/backends.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/plan/step_cost.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// How many operations take as long as a byte of memory: of CPUs as the plan says, which asks no
// device.
constexpr double kOperationsPerByteOfBlocks = 16;
// Bytes that caches deliver while memory delivers one.
constexpr double kCacheFactor = 2;
// And while a launch begins and ends, or threads of a CPU wait for each other.
constexpr double kBytesOfLaunch = 8e6, kBytesOfBarrier = 2e5;

// Work of chains of stencils on blocks with halos, as many times as without.
constexpr double kMostWorkRepeated = 1.75;

double OperationsPerByte(const DeviceDescription& device) {
  return BackendOf(device.kind).has_blocks ? kOperationsPerByteOfBlocks
                                           : PlanOptions().operations_per_byte;
}

// Of what several steps of the group use: all but the first reading of an input, but the writing of
// a result that others need, and everything of what only they use.
double BytesKept(const Pipeline& pipeline, const JointGroup& group) {
  std::map<int, int64_t> uses;  // by buffer; what a step reads by two of its inputs it reads once
  std::vector<std::pair<int, int>> counted;
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    const std::pair<int, int> of_step(use.step, use.buffer);
    if (std::ranges::find(counted, of_step) != counted.end()) continue;
    counted.push_back(of_step);
    ++uses[use.buffer];
  }
  double bytes = 0;
  for (const auto& [buffer, count] : uses) {
    const int64_t left = IsOfPart(pipeline, group, buffer) ? 0 : 1;
    bytes += static_cast<double>((count - left) * pipeline.buffers()[buffer].size_bytes());
  }
  return bytes;
}

// What a step whose sums have an operand that stays where a common dimension moves reads of it
// again: steps by themselves would use it for many points at a time.
double BytesOfOperands(const Pipeline& pipeline, const JointGroup& group) {
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  double bytes = 0;
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    const Expression& e = pipeline.steps()[use.step].expression;
    if (use.writes || IsOfPart(pipeline, group, use.buffer)) continue;
    bool is_reduced = false;
    for (int d = 0; d < e.rank(); ++d) is_reduced |= e.is_reduction(d) && use.view->DependsOn(d);
    if (!is_reduced) continue;
    double times = 1;
    for (size_t k = 0; k < extents.size(); ++k) {
      const bool stays = !use.view->DependsOn(group.dimensions[use.step - group.first][k]);
      if (stays) times *= static_cast<double>(extents[k] / group.part[k]);
    }
    bytes += (times - 1) * static_cast<double>(pipeline.buffers()[use.buffer].size_bytes());
  }
  return bytes;
}

// What the steps of a group take longer as it has fewer parts than the device has multiprocessors
// or cores, over the launches or barriers that it saves.
double BytesOfIdleness(const Pipeline& pipeline, const JointGroup& group,
                       const DeviceDescription& device) {
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  const double processors = has_blocks ? device.blocks.multiprocessors : device.cores;
  auto parts = static_cast<double>(group.splits);
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  for (size_t k = 0; k < extents.size(); ++k) {
    parts *= static_cast<double>(extents[k] / group.part[k]);
  }
  const double idle = processors / parts - 1;
  if (idle <= 0) return 0;
  double bytes = 0;
  for (int n = group.first; n <= group.last; ++n) {
    bytes += CostOf(pipeline.steps()[n].expression, OperationsPerByte(device));
  }
  return std::max(0.0, idle * bytes - (group.last - group.first) *
                                          (has_blocks ? kBytesOfLaunch : kBytesOfBarrier));
}

struct RankedChoice {
  size_t partition;
  std::vector<JointGroup> groups;
  double cost;
};

std::vector<JointGroup> GroupsThatPay(const Pipeline& pipeline, const DeviceDescription& device,
                                      NumericsPolicy numerics) {
  std::vector<JointGroup> groups = DefaultJointGroups(pipeline, device, numerics);
  if (!BackendOf(device.kind).has_blocks) return groups;
  std::erase_if(groups, [&](const JointGroup& group) {
    const double repeated = WorkRepeated(pipeline, group) / (group.last - group.first + 1);
    return HasHalo(pipeline, group) && (!group.planes || repeated > kMostWorkRepeated);
  });
  return groups;
}

}  // namespace

double CostWithGroups(const Pipeline& pipeline, absl::Span<const JointGroup> groups,
                      const DeviceDescription& device) {
  double cost = CostOf(pipeline, OperationsPerByte(device));
  for (const JointGroup& group : groups) {
    cost += BytesOfOperands(pipeline, group) / kCacheFactor - BytesKept(pipeline, group) +
            BytesOfIdleness(pipeline, group, device);
  }
  return cost;
}

PipelineDefaults DefaultPipelineParameters(absl::Span<const Partition> partitions,
                                           const SystemModel& model,
                                           const DeviceDescription& device,
                                           NumericsPolicy numerics) {
  std::vector<RankedChoice> choices;
  for (size_t p = 0; p < partitions.size(); ++p) {
    const Pipeline& pipeline = partitions[p].pipeline;
    choices.push_back({p, {}, CostWithGroups(pipeline, {}, device)});
    std::vector<JointGroup> groups = GroupsThatPay(pipeline, device, numerics);
    if (groups.empty()) continue;
    const double cost = CostWithGroups(pipeline, groups, device);
    choices.push_back({p, std::move(groups), cost});
  }
  std::ranges::stable_sort(choices, {}, &RankedChoice::cost);
  for (RankedChoice& choice : choices) {
    const auto& [edges, pipeline, bytes, operations] = partitions[choice.partition];
    Result<std::vector<TuningParameters>> steps =
        choice.groups.empty() ? DefaultParameters(pipeline, model, device, numerics)
                              : DefaultParameters(pipeline, choice.groups, model, device, numerics);
    if (!steps.ok() ||
        (!choice.groups.empty() &&
         !PipelineProgramOf(pipeline, model, device, *steps, ProgramForm::kOptimized, choice.groups)
              .ok())) {
      continue;
    }
    return {choice.partition, {edges, std::move(choice.groups), *std::move(steps)}};
  }
  return {0,
          {partitions[0].edges,
           {},
           DefaultParameters(partitions[0].pipeline, model, device, numerics)}};
}

}  // namespace mdh
