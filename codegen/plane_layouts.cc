#include "codegen/plane_layouts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codegen/backends/planes/plane_memory.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_uses.h"
#include "core/pipeline/plan/plane_groups.h"

namespace mdh {
namespace {

constexpr int64_t kColumns[] = {1, 2, 4, 8};
// Extents of parts: below that halos are most of them, above it a block has too many threads.
constexpr int64_t kShortest = 8, kLongest = 512;
// Of which each is the best with its columns, or with its places of a plane.
constexpr size_t kMostGroups = 12, kMostAlike = 2;
// Points of all steps between two barriers that hide how long threads wait there; with fewer it
// gets slower by the square root. Measured on an H200.
constexpr double kManyPoints = 8000;
// Registers of a thread beside what it keeps, and what compilers can do with less.
constexpr double kOtherRegisters = 31, kFewerRegisters = 0.85;
constexpr int64_t kBytesOfRegister = 4;

struct RankedGroup {
  JointGroup group;
  double cost = 0;
};

class PlaneLister {
 public:
  // `shape`: of parts of one point.
  PlaneLister(const Pipeline& pipeline, const JointGroup& group, PlaneShape shape,
              const DeviceDescription& device)
      : pipeline_(pipeline),
        group_(group),
        shape_(std::move(shape)),
        device_(device),
        extents_(CommonExtents(pipeline, group)) {
    for (const PlaneShape::Kept& kept : shape_.kept) {
      bytes_of_place_ += pipeline.buffers()[kept.buffer].type.size_bytes();
    }
  }

  std::vector<JointGroup> Run() {
    JointGroup group = group_;
    ForParts(0, group);
    std::ranges::stable_sort(ranked_, {}, &RankedGroup::cost);
    std::vector<JointGroup> best;
    for (const RankedGroup& one : ranked_) {
      const auto is_alike = [&](const JointGroup& other) {
        return other.planes->column == one.group.planes->column ||
               std::equal(other.part.begin() + 1, other.part.end(), one.group.part.begin() + 1);
      };
      if (best.size() == kMostGroups) break;
      if (static_cast<size_t>(std::ranges::count_if(best, is_alike)) >= kMostAlike) continue;
      best.push_back(one.group);
    }
    return best;
  }

 private:
  void ForParts(size_t k, JointGroup& group) {
    if (k == extents_.size()) return ForColumns(group);
    for (int64_t part = 1; part <= std::min(extents_[k], kLongest); ++part) {
      const bool is_long = part >= std::min(kShortest, extents_[k]);
      if (extents_[k] % part != 0 || !is_long) continue;
      group.part[k] = part;
      ForParts(k + 1, group);
    }
  }

  void ForColumns(JointGroup& group) {
    PlaneShape shape = shape_;
    for (size_t k = 0; k < extents_.size(); ++k) shape.places[k] += group.part[k] - 1;
    const int64_t rows = shape.places.size() == 3 ? shape.places[1] : 1;
    for (const int64_t column : kColumns) {
      if (column > rows) break;
      group.planes = PlaneLayout{.column = column};
      if (SetResident(shape, group)) ranked_.push_back({group, CostOf(shape, group)});
    }
  }

  // As many blocks as a multiprocessor has room for; false: for none.
  bool SetResident(const PlaneShape& shape, JointGroup& group) {
    const BlockLimits& limits = device_.blocks;
    PlaneLayout& layout = *group.planes;
    const int64_t threads = ThreadsOf(shape, layout);
    const int64_t shared = SharedBytesOf(pipeline_, group, shape, layout);
    if (threads > limits.max_threads_per_block || shared > limits.shared_bytes_per_block) {
      return false;
    }
    const double kept =
        static_cast<double>(shape.planes * layout.column * bytes_of_place_) / kBytesOfRegister;
    const double registers = kFewerRegisters * (kOtherRegisters + kept);
    if (limits.registers_per_thread > 0 && registers > limits.registers_per_thread) return false;
    blocks_ = kMaxThreads / RoundUp(threads, std::max(limits.warp_size, 1));
    blocks_ = std::min(blocks_, (limits.shared_bytes_per_block + kReservedSharedBytes) /
                                    (shared + kReservedSharedBytes));
    if (limits.registers_per_block > 0) {
      // Warps come by fours, registers by eights.
      const int64_t warps = RoundUp(threads, 4 * std::max(limits.warp_size, 1));
      const double of_block = std::ceil(registers / 8) * 8 * static_cast<double>(warps);
      blocks_ = std::min(blocks_, static_cast<int64_t>(limits.registers_per_block / of_block));
    }
    if (blocks_ < 1) return false;
    blocks_ = std::min<int64_t>(blocks_, kMaxResidentBlocks);
    if (HasResidentBlocks(device_)) layout.resident = blocks_;
    return true;
  }

  // Points that a multiprocessor computes, as if it always had enough of them. Columns save what
  // is read of threads above and below.
  double CostOf(const PlaneShape& shape, const JointGroup& group) const {
    constexpr double kOfPoint = 4, kOfNeighbours = 2.5;
    const auto column = static_cast<double>(group.planes->column);
    const int64_t warp = std::max(device_.blocks.warp_size, 1);
    const int64_t threads = RoundUp(ThreadsOf(shape, *group.planes), warp);
    const int64_t parts = PartsOf(pipeline_, group);
    const int64_t of_processor = CeilDivide(parts, std::max(device_.blocks.multiprocessors, 1));
    const auto active = static_cast<double>(threads * std::min(blocks_, of_processor)) * column *
                        static_cast<double>(shape.steps.size());
    const double points = static_cast<double>(of_processor * threads) * column *
                          static_cast<double>(RoundUp(shape.places[0], shape.planes));
    const double waits = std::sqrt(std::min(1.0, active / kManyPoints));
    return points * (kOfPoint + kOfNeighbours / column) / waits;
  }

  static constexpr int64_t kMaxThreads = 2048;  // of a multiprocessor

  const Pipeline& pipeline_;
  const JointGroup& group_;
  const PlaneShape shape_;
  const DeviceDescription& device_;
  const std::vector<int64_t> extents_;
  int64_t bytes_of_place_ = 0;  // of everything that is kept
  int64_t blocks_ = 1;          // of a multiprocessor
  std::vector<RankedGroup> ranked_;
};

}  // namespace

std::vector<JointGroup> PlaneGroups(const Pipeline& pipeline, const JointGroup& group,
                                    const DeviceDescription& device) {
  if (RunsOnHost(device) || group.is_streamed()) return {};
  JointGroup smallest = group;
  smallest.rows = std::nullopt;
  smallest.part.assign(group.part.size(), 1);
  Result<PlaneShape> shape = PlaneShapeOf(pipeline, smallest);
  if (!shape.ok()) return {};
  return PlaneLister(pipeline, smallest, *std::move(shape), device).Run();
}

std::vector<JointGroup> WithOtherPlanes(const JointGroup& group) {
  std::vector<JointGroup> others;
  const int64_t own = group.planes->column;
  for (const int64_t column : {own * 2, own / 2, own + 1, own - 1}) {
    if (column < 1) continue;
    others.push_back(group);
    others.back().planes->column = column;
  }
  for (const int64_t change : {1, -1}) {
    if (group.planes->resident + change < 0) continue;
    others.push_back(group);
    others.back().planes->resident += change;
  }
  return others;
}

}  // namespace mdh
