#include "codegen/row_layouts.h"

#include <algorithm>

#include "codegen/backends/row_uses.h"
#include "core/base/round.h"
#include "core/device/backends.h"
#include "core/pipeline/plan/row_groups.h"

namespace mdh {
namespace {

constexpr int64_t kVectorBytes = 16;
// Vectors of a row that a thread has where there are threads enough, times 1, 1/2, ...
constexpr int64_t kVectorsOfThread = 4;
constexpr double kThreadFactors[] = {1, 2, 0.5, 4};
constexpr int64_t kThreadsOfBlock[] = {128, 256, 512};
// Bytes of rows that a thread keeps in registers at most: more than there are, as steps may write a
// row where they have read another one; and from how many on other memory is tried, too.
constexpr int64_t kRegisterBytes = 800;
constexpr int64_t kManyRegisterBytes = 200;
// A row has at least so many neighbours, whose vectors are a line of a cache.
constexpr int64_t kNeighbours = 8;
// Bytes of shared memory that results of rows are exchanged in, at most.
constexpr int64_t kBytesExchanged = 2048;

class LayoutLister {
 public:
  LayoutLister(const Pipeline& pipeline, const JointGroup& group, const RowShape& shape,
               const DeviceDescription& device)
      : shape_(shape),
        limits_(device.blocks),
        uses_(pipeline, group, shape),
        vector_(VectorOf(pipeline, group)) {}

  std::vector<RowLayout> Run() {
    const int64_t usual =
        RoundDownToPowerOfTwo(std::max<int64_t>(shape_.length / (kVectorsOfThread * vector_), 1));
    // The likeliest of both first.
    constexpr size_t kFactors = std::size(kThreadFactors), kBlocks = std::size(kThreadsOfBlock);
    for (size_t sum = 0; sum < kFactors + kBlocks - 1; ++sum) {
      for (size_t n = 0; n <= sum; ++n) {
        if (n >= kFactors || sum - n >= kBlocks) continue;
        const auto threads = static_cast<int64_t>(static_cast<double>(usual) * kThreadFactors[n]);
        Add(threads, kThreadsOfBlock[sum - n]);
      }
    }
    return std::move(layouts_);
  }

 private:
  // Elements of 16 bytes of the widest type that moves along rows, as far as they divide these.
  int64_t VectorOf(const Pipeline& pipeline, const JointGroup& group) const {
    int64_t bytes = 1;
    for (const StepView& use : ViewsOf(pipeline, group.first, group.last)) {
      bytes = std::max<int64_t>(bytes, use.view->type.size_bytes());
    }
    int64_t vector = RoundDownToPowerOfTwo(std::max<int64_t>(kVectorBytes / bytes, 1));
    while (shape_.length % vector != 0) vector /= 2;
    return vector;
  }

  void Add(int64_t threads, int64_t block) {
    const int64_t most = RoundDownToPowerOfTwo(limits_.max_threads_per_block);
    const int64_t least = limits_.warp_size > 1 ? std::min(kNeighbours, most) : 1;
    threads = std::clamp(threads, std::min(least, ThreadsThatWork()), most);
    RowLayout layout{.threads = threads,
                     .rows = std::max<int64_t>(std::min(block, most) / threads, 1),
                     .vector = vector_};
    const int64_t span = RoundUp(shape_.length, threads * vector_);
    const int64_t of_thread = span / threads * uses_.KeptBytesPerPoint();
    const int64_t of_block = span * layout.rows * uses_.KeptBytesPerPoint();
    if (of_thread <= kRegisterBytes) AddNew(layout);
    if (of_thread <= kManyRegisterBytes) return;
    layout.keep = RowLayout::Keep::kShared;
    if (of_block + kBytesExchanged <= limits_.shared_bytes_per_block) AddNew(layout);
    layout.keep = RowLayout::Keep::kNothing;
    AddNew(layout);
  }

  // More of a row would have no element.
  int64_t ThreadsThatWork() const {
    const int64_t vectors = shape_.length / vector_;
    const int64_t power = RoundDownToPowerOfTwo(vectors);
    return power < vectors ? 2 * power : power;
  }

  void AddNew(const RowLayout& layout) {
    if (std::ranges::find(layouts_, layout) == layouts_.end()) layouts_.push_back(layout);
  }

  const RowShape& shape_;
  const BlockLimits& limits_;
  const RowUses uses_;
  const int64_t vector_;
  std::vector<RowLayout> layouts_;
};

}  // namespace

std::vector<RowLayout> RowLayouts(const Pipeline& pipeline, const JointGroup& group,
                                  const DeviceDescription& device) {
  if (!BackendOf(device.kind).has_blocks) return {};
  JointGroup rows = group;
  rows.part.assign(group.part.size(), 1);
  const Result<RowShape> shape = RowShapeOf(pipeline, rows);
  if (!shape.ok()) return {};
  return LayoutLister(pipeline, rows, *shape, device).Run();
}

}  // namespace mdh
