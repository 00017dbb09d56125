#include "codegen/joint_moves.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "codegen/choose/part_design.h"
#include "codegen/joint_parameters.h"
#include "codegen/plane_layouts.h"
#include "core/device/backends.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/row_groups.h"
#include "core/pipeline/plan/streamed_steps.h"

namespace mdh {
namespace {

constexpr size_t kDesignsOfStep = 8, kTilesOfStep = 6;
constexpr int64_t kMostNeighbours = 16;
constexpr int64_t kMostLanesOfRow = 32;

// The next divisors of n above and below; those that there are.
std::vector<int64_t> NextDivisors(int64_t n, int64_t divisor) {
  std::optional<int64_t> above, below;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    for (const int64_t one : {d, n / d}) {
      if (one > divisor) above = std::min(above.value_or(one), one);
      if (one < divisor) below = std::max(below.value_or(one), one);
    }
  }
  std::vector<int64_t> next;
  if (above) next.push_back(*above);
  if (below) next.push_back(*below);
  return next;
}

class JointMover {
 public:
  JointMover(const Partition& partition, const PipelineParameters& from, const SystemModel& model,
             const DeviceDescription& device, NumericsPolicy numerics)
      : pipeline_(partition.pipeline),
        from_(from),
        model_(model),
        device_(device),
        numerics_(numerics),
        has_blocks_(BackendOf(device.kind).has_blocks) {}

  std::vector<PipelineParameters> Run() {
    const Result<ComputedPipeline> computed = ComputedPipelineOf(pipeline_, from_.groups);
    if (!computed.ok()) return {};
    for (size_t g = 0; g < from_.groups.size(); ++g) {
      const JointGroup& group = from_.groups[g];
      const int64_t threads = has_blocks_ ? ThreadsOf(*computed, computed->groups[g]) : 1;
      if (group.rows) {
        MoveRows(g);
        continue;
      }
      if (group.planes) {
        for (const JointGroup& next : WithOtherPlanes(group)) AddSteps(g, next, {});
        for (const JointGroup& next : Others(group)) AddSteps(g, next, {});
        continue;
      }
      for (const JointGroup& next : Others(group)) Add(g, next, threads);
      if (!has_blocks_) {
        MoveSteps(*computed, computed->groups[g], threads);
        continue;
      }
      for (const int64_t other : {2 * threads, threads / 2}) Add(g, group, other);
      for (int64_t lanes = 2; lanes <= kMostLanesOfRow; lanes *= 2) {
        AddSteps(g, group, {threads, /*aligns=*/true, lanes});
      }
      MoveSteps(*computed, computed->groups[g], threads);
    }
    return std::move(moves_);
  }

 private:
  // Of the block that computes a part.
  int64_t ThreadsOf(const ComputedPipeline& computed, const JointSteps& joint) const {
    int64_t threads = 1;
    for (size_t n = 0; n < joint.part.steps.size(); ++n) {
      const int given = computed.given[joint.group.first + n];
      if (given < 0) continue;
      threads = std::max(threads, ThreadsOfPart(joint.part.steps[n].expression, model_, device_,
                                                from_.steps[given]));
    }
    return threads;
  }

  // Other parts, chunks and splits.
  std::vector<JointGroup> Others(const JointGroup& group) const {
    std::vector<JointGroup> others;
    const std::vector<int64_t> extents = CommonExtents(pipeline_, group);
    for (size_t k = 0; k < extents.size(); ++k) {
      for (const int64_t part : NextDivisors(extents[k], group.part[k])) {
        others.push_back(group);
        others.back().part[k] = part;
      }
    }
    if (!group.is_streamed()) return others;
    const int64_t extent = StreamedExtent(pipeline_, group);
    for (const int64_t chunk : NextDivisors(extent / group.splits, group.chunk)) {
      others.push_back(group);
      others.back().chunk = chunk;
    }
    for (const int64_t splits : NextDivisors(extent, group.splits)) {
      if (extent / splits % group.chunk != 0) continue;
      others.push_back(group);
      others.back().splits = splits;
    }
    return others;
  }

  void MoveRows(size_t g) {
    const auto with = [&](const auto& change) {
      JointGroup group = from_.groups[g];
      change(*group.rows);
      AddSteps(g, group, {});
    };
    const RowLayout& rows = *from_.groups[g].rows;
    for (const int64_t threads : {2 * rows.threads, rows.threads / 2}) {
      if (threads < 1) continue;
      with([&](RowLayout& layout) { layout.threads = threads; });
      // As many threads of a block.
      if (rows.threads * rows.rows % threads != 0) continue;
      with([&](RowLayout& layout) {
        layout.rows = rows.threads * rows.rows / threads;
        layout.threads = threads;
      });
    }
    for (const int64_t count : {2 * rows.rows, rows.rows / 2}) {
      if (count >= 1) with([&](RowLayout& layout) { layout.rows = count; });
    }
    for (const int64_t vector : {2 * rows.vector, rows.vector / 2}) {
      if (vector < 1 || vector > kMostNeighbours) continue;
      with([&](RowLayout& layout) { layout.vector = vector; });
    }
    for (const RowLayout::Keep keep :
         {RowLayout::Keep::kRegisters, RowLayout::Keep::kShared, RowLayout::Keep::kNothing}) {
      with([&](RowLayout& layout) { layout.keep = keep; });
    }
  }

  // One step is computed in another way.
  void MoveSteps(const ComputedPipeline& computed, const JointSteps& joint, int64_t threads) {
    for (size_t n = 0; n < joint.part.steps.size(); ++n) {
      const int given = computed.given[joint.group.first + n];
      if (given < 0) continue;
      std::vector<bool> in_part;
      for (const PartBuffer& input : joint.part.steps[n].inputs) {
        in_part.push_back(input.kind == PartBuffer::Kind::kPart);
      }
      const Expression& part = joint.part.steps[n].expression;
      for (TuningParameters& other :
           has_blocks_ ? OtherDesigns(part, model_, device_, threads, in_part, kDesignsOfStep)
                       : OtherTiles(part, from_.steps[given])) {
        PipelineParameters moved = from_;
        other.numerics = moved.steps[given].numerics;
        other.threads = moved.steps[given].threads;
        moved.steps[given] = std::move(other);
        AddNew(std::move(moved));
      }
    }
  }

  // Register tiles of one core that counting holds to be good, for the compiler that the kernel
  // has, and results that pass the caches or stay there as they do.
  std::vector<TuningParameters> OtherTiles(const Expression& part,
                                           const TuningParameters& step) const {
    std::vector<TuningParameters> others;
    for (TuningParameters& tiles : StartingParameters(part, model_, OnePart(device_, /*threads=*/1),
                                                      PolicyFor(part, numerics_), kTilesOfStep)) {
      if (tiles.compiler != step.compiler) continue;
      tiles.streams_results = step.streams_results;
      if (Validate(part, model_, device_, tiles).ok()) others.push_back(std::move(tiles));
    }
    return others;
  }

  // In both ways to compute the steps.
  void Add(size_t g, const JointGroup& group, int64_t threads) {
    if (threads < 1 || threads > std::max(device_.blocks.max_threads_per_block, 1)) return;
    for (const bool aligns : {true, false}) {
      if (has_blocks_ || !aligns) AddSteps(g, group, {threads, aligns});
    }
  }

  void AddSteps(size_t g, const JointGroup& group, const PartThreads& how) {
    PipelineParameters moved = from_;
    moved.groups[g] = group;
    if (!CheckJointGroup(pipeline_, group).ok()) return;
    auto steps = ParametersOfSteps(pipeline_, moved.groups, model_, device_, numerics_, how);
    if (!steps.ok()) return;
    for (int s = group.first; s <= group.last; ++s) moved.steps[s] = std::move((*steps)[s]);
    AddNew(std::move(moved));
  }

  void AddNew(PipelineParameters moved) {
    if (moved == from_ || std::ranges::find(moves_, moved) != moves_.end()) return;
    moves_.push_back(std::move(moved));
  }

  const Pipeline& pipeline_;
  const PipelineParameters& from_;
  const SystemModel& model_;
  const DeviceDescription& device_;
  const NumericsPolicy numerics_;
  const bool has_blocks_;
  std::vector<PipelineParameters> moves_;
};

}  // namespace

std::vector<PipelineParameters> JointMoves(const Partition& partition,
                                           const PipelineParameters& from, const SystemModel& model,
                                           const DeviceDescription& device,
                                           NumericsPolicy numerics) {
  return JointMover(partition, from, model, device, numerics).Run();
}

}  // namespace mdh
