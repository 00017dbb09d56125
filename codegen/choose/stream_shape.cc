#include "codegen/choose/stream_shape.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/device/backends.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/plan/streamed_steps.h"

namespace mdh {
namespace {

constexpr StreamShape kShapesOfBlocks[] = {
    {128, 64, 128}, {128, 64, 256}, {64, 64, 64}, {64, 64, 128},  {64, 64, 256},
    {32, 32, 64},   {64, 32, 128},  {64, 32, 64}, {128, 32, 128}, {64, 128, 256}};
constexpr StreamShape kShapesOfCores[] = {{64, 128, 1}, {128, 128, 1}, {64, 256, 1},
                                          {32, 128, 1}, {64, 64, 1},   {256, 64, 1}};

// Of the points of the common dimensions, for contractions to use what they read often enough.
constexpr int64_t kPointsOfContractions = 64;
// Of parts and of chunks, for contractions of those that leave out what a mask does not need; the
// smaller they are, the less is computed in vain. The others are for extents that no numbers near
// to the first ones divide.
constexpr StreamShape kShapesOfMasked[] = {{64, 64, 1}, {128, 128, 1}};
constexpr int64_t kLeastPointsOfMasked = 32;
// Times that a chunk may be longer where parts are small.
constexpr int64_t kLongerChunks = 8;

int64_t LargestDivisor(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    if (d <= most) best = std::max(best, d);
    if (n / d <= most) best = std::max(best, n / d);
  }
  return best;
}

// Whether what a step reads of the streamed dimension, from outside, is the same for all points of
// this common dimension.
bool IsUsedAgain(const Pipeline& pipeline, const JointGroup& group, size_t k) {
  for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
    const size_t n = static_cast<size_t>(use.step - group.first);
    if (use.writes || group.streamed[n] < 0 || pipeline.writer(use.buffer) >= group.first) continue;
    if (use.view->DependsOn(group.streamed[n]) && !use.view->DependsOn(group.dimensions[n][k])) {
      return true;
    }
  }
  return false;
}

// Of what steps of the group leave to one another: of one part, in one chunk.
double BytesOfChunk(const Pipeline& pipeline, const JointGroup& group) {
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  const auto share = [](int64_t part, int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  double sum = 0;
  const std::vector<StepView> views = ViewsOf(pipeline, group.first, group.last);
  for (const StepView& use : views) {
    if (!use.writes || !IsWithin(views, use.buffer)) continue;
    const auto n = static_cast<size_t>(use.step - group.first);
    auto bytes = static_cast<double>(pipeline.buffers()[use.buffer].size_bytes());
    for (size_t k = 0; k < extents.size(); ++k) {
      if (use.view->DependsOn(group.dimensions[n][k])) bytes *= share(group.part[k], extents[k]);
    }
    if (n < group.streamed.size() && group.streamed[n] >= 0 &&
        use.view->DependsOn(group.streamed[n])) {
      bytes *= share(group.chunk, StreamedExtent(pipeline, group));
    }
    sum += bytes;
  }
  return sum;
}

double FastMemory(const DeviceDescription& device) {
  return static_cast<double>(
      BackendOf(device.kind).has_blocks ? device.blocks.shared_bytes_per_block : device.l2_bytes);
}

// Whether a step has dimensions besides the common ones and the streamed one.
bool HasContraction(const Pipeline& pipeline, const JointGroup& group) {
  for (int s = group.first; s <= group.last; ++s) {
    const size_t n = static_cast<size_t>(s - group.first);
    const Expression& e = pipeline.steps()[s].expression;
    const int others = e.rank() - static_cast<int>(group.dimensions[n].size()) - 1;
    if (group.streamed[n] >= 0 && e.has_reduction() && others > 0) return true;
  }
  return false;
}

// Points of a part.
int64_t PointsOf(const JointGroup& group) {
  int64_t points = 1;
  for (const int64_t part : group.part) points *= part;
  return points;
}

// Whether parts leave out chunks that a mask does not need, as those of causal attention do, and
// are large enough for contractions nevertheless.
bool LeavesOutChunks(const Pipeline& pipeline, const JointGroup& group) {
  if (std::min(PointsOf(group), group.chunk) < kLeastPointsOfMasked) return false;
  if (group.chunk == StreamedExtent(pipeline, group)) return false;
  const Result<StreamedSteps> steps = StreamedStepsOf(pipeline, group);
  return steps.ok() && !steps->bounds.empty();
}

// In parts and chunks that leave out what a mask does not need, most nearly of one of the shapes.
std::optional<JointGroup> Masked(const Pipeline& pipeline, const JointGroup& streamed,
                                 const DeviceDescription& device) {
  std::optional<JointGroup> best;
  double most = 0;
  for (const StreamShape& shape : kShapesOfMasked) {
    JointGroup shaped = WithStreamShape(pipeline, streamed, device, shape);
    const double share = std::min(static_cast<double>(PointsOf(shaped)) / shape.part,
                                  static_cast<double>(shaped.chunk) / shape.chunk);
    if (share <= most || !LeavesOutChunks(pipeline, shaped)) continue;
    best = std::move(shaped);
    most = share;
  }
  return best;
}

}  // namespace

absl::Span<const StreamShape> StreamShapes(const DeviceDescription& device) {
  if (BackendOf(device.kind).has_blocks) return kShapesOfBlocks;
  return kShapesOfCores;
}

std::optional<JointGroup> Streamed(const Pipeline& pipeline, const JointGroup& group,
                                   const DeviceDescription& device, int64_t fits) {
  const bool has_room = fits >= kPointsOfContractions;
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  if (has_room && has_blocks) return std::nullopt;
  const double most = FastMemory(device);
  const bool is_needed = BytesOfChunk(pipeline, WithPart(pipeline, group, 1)) > most;
  std::optional<JointGroup> first;
  for (const JointGroup& streamed : StreamedGroups(pipeline, group)) {
    if (!is_needed && !HasContraction(pipeline, streamed)) continue;
    if (!has_blocks) {
      if (std::optional<JointGroup> masked = Masked(pipeline, streamed, device)) return masked;
    }
    if (has_room) continue;
    for (const StreamShape& shape : StreamShapes(device)) {
      JointGroup shaped = WithStreamShape(pipeline, streamed, device, shape);
      if (BytesOfChunk(pipeline, shaped) <= most) return shaped;
      if (is_needed && !first) first = std::move(shaped);
    }
  }
  return first;
}

JointGroup WithStreamShape(const Pipeline& pipeline, JointGroup group,
                           const DeviceDescription& device, const StreamShape& shape) {
  const std::vector<int64_t> extents = CommonExtents(pipeline, group);
  int64_t points = 1;
  for (size_t k = extents.size(); k-- > 0;) {
    group.part[k] = 1;
    if (!IsUsedAgain(pipeline, group, k)) continue;
    group.part[k] = LargestDivisor(extents[k], std::max<int64_t>(shape.part / points, 1));
    points *= group.part[k];
  }
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  const int64_t wanted = has_blocks ? 2 * std::max(device.blocks.multiprocessors, 1) : device.cores;
  const int64_t extent = StreamedExtent(pipeline, group), parts = PartsOf(pipeline, group);
  const int64_t longest =
      shape.chunk * std::min(kLongerChunks, std::max<int64_t>(shape.part / points, 1));
  group.splits = 1;
  for (int64_t splits = 2; splits * shape.chunk <= extent && parts * group.splits < wanted;
       ++splits) {
    if (extent % splits == 0) group.splits = splits;
  }
  group.chunk = LargestDivisor(extent / group.splits, longest);
  return group;
}

}  // namespace mdh
