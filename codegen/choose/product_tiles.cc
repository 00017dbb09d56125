#include "codegen/choose/product_tiles.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

using Cut = BlockDesign::Cut;

bool IsReadAlong(const Buffer& input, int d) {
  for (size_t a = 0; a < input.accesses.size(); ++a) {
    if (input.Linearized(static_cast<int>(a)).coefficients[d] != 0) return true;
  }
  return false;
}

class ProductTiler {
 public:
  ProductTiler(const Expression& e, const DeviceDescription& device, int lane,
               absl::FunctionRef<void(const BlockDesign&)> visit)
      : e_(e), device_(device), lane_(lane), visit_(visit), reductions_(ReductionOrder(e)) {
    design_.cuts.assign(e.rank(), {});
    design_.copies.assign(e.inputs().size(), BlockDesign::Copy::kChunk);
    design_.lane_dimension = lane;
    ways_ = {CombineBlocks::kPartials};
    if (AtomicsObstacle(e, device, NumericsPolicy::kReassociate).empty()) {
      ways_.push_back(CombineBlocks::kAtomics);
    }
  }

  void Run() {
    if (reductions_.empty() || !IsShared(lane_)) return;
    if (!std::ranges::all_of(e_.inputs(), CanStageApart)) return;
    for (int other = 0; other < e_.rank(); ++other) {
      if (other == lane_ || !IsShared(other)) continue;
      for (const Cut& x : kAlongLanes) {
        for (const Cut& y : kAcross) {
          const int64_t results = x.vector * x.strided * y.vector * y.strided;
          if (results < kFewestResults || results > kMostResults) continue;
          design_.cuts[lane_] = x;
          design_.cuts[other] = y;
          ShowBlocks(other);
        }
      }
      design_.cuts[other] = {};
    }
  }

 private:
  // Points of a thread: neighbours, and rows of neighbours that lie apart, which banks of shared
  // memory like along the lanes.
  static constexpr Cut kAlongLanes[] = {
      {.vector = 4}, {.vector = 4, .strided = 2}, {.vector = 4, .strided = 3}};
  static constexpr Cut kAcross[] = {{.vector = 4},
                                    {.vector = 4, .strided = 2},
                                    {.vector = 4, .strided = 3},
                                    {.vector = 6},
                                    {.vector = 7},
                                    {.vector = 8}};
  static constexpr int64_t kThreadsAlongLanes[] = {8, 16, 24, 32},
                           kThreadsAcross[] = {4, 8, 12, 16, 32};
  static constexpr int64_t kFewestThreads = 64, kMostThreads = 512;  // of a block
  // A warp for each scheduler of a multiprocessor.
  static constexpr int64_t kThreadsOfSchedulers = 128;
  static constexpr int64_t kFewestResults = 32, kMostResults = 96;  // of a thread
  static constexpr int64_t kFewestAtOnce = 384;                     // threads per multiprocessor
  static constexpr int64_t kMostParts = 16;
  static constexpr int64_t kFewestChunks = 8;  // of a part
  static constexpr int64_t kMostWaves = 16;    // of blocks that have parts
  // Points of reductions between two copies, and as many stages as shared memory has room for.
  struct Chunk {
    int64_t points;
    int stages;
  };
  static constexpr Chunk kChunks[] = {{8, 4}, {16, 3}};

  int64_t size(int d) const { return e_.dimensions()[d].size; }

  // Whether it is kept, and some input is the same all along it.
  bool IsShared(int d) const {
    return e_.combine_operators()[d].is_concat() && size(d) > 1 &&
           std::ranges::any_of(e_.inputs(),
                               [&](const Buffer& input) { return !IsReadAlong(input, d); });
  }

  bool IsFilled(int d) const {
    const Cut& cut = design_.cuts[d];
    return cut.threads * cut.vector * cut.strided < 2 * size(d);
  }

  void ShowBlocks(int other) {
    for (const int64_t x : kThreadsAlongLanes) {
      for (const int64_t y : kThreadsAcross) {
        design_.cuts[lane_].threads = x;
        design_.cuts[other].threads = y;
        if (x * y < kFewestThreads || x * y > kMostThreads) continue;
        if (x * y > kFewestThreads && x * y % kThreadsOfSchedulers != 0) continue;
        if (!IsFilled(lane_) || !IsFilled(other)) continue;
        design_.resident_blocks = ResidentBlocks(other);
        for (const Chunk& chunk : kChunks) ShowParts(chunk);
      }
    }
  }

  // Blocks for whose results, and what these are computed from, a multiprocessor has registers;
  // four schedulers have a quarter of them each, for whole warps. 0: for one at most.
  int ResidentBlocks(int other) const {
    constexpr int64_t kOthers = 32, kSchedulers = 4, kGranularity = 8;
    const Cut &x = design_.cuts[lane_], &y = design_.cuts[other];
    const int64_t along_lanes = x.vector * x.strided, across = y.vector * y.strided;
    const int64_t registers =
        RoundUp(along_lanes * across + along_lanes + across + kOthers, kGranularity);
    const int64_t warp = device_.blocks.warp_size;
    const int64_t warps =
        device_.blocks.registers_per_block / kSchedulers / (registers * warp) * kSchedulers;
    const int64_t blocks = warps * warp / (x.threads * y.threads);
    if (blocks < 2 || !HasResidentBlocks(device_)) return 0;
    return static_cast<int>(std::min<int64_t>(blocks, kMaxResidentBlocks));
  }

  // The innermost reductions have the points of a chunk.
  void ShowParts(const Chunk& chunk) {
    int64_t left = chunk.points;
    design_.unrolled = 0;
    for (size_t n = reductions_.size(); n-- > 0;) {
      Cut& cut = design_.cuts[reductions_[n]];
      cut.vector = std::min(size(reductions_[n]), left);
      if (left > 1) ++design_.unrolled;
      left /= cut.vector;
    }
    const int longest = *std::ranges::max_element(reductions_, {}, [&](int d) { return size(d); });
    Cut& cut = design_.cuts[longest];
    const int64_t blocks = Blocks(), processors = std::max(1, device_.blocks.multiprocessors);
    const int64_t most = std::min({kMostParts, size(longest) / (kFewestChunks * cut.vector),
                                   kMostWaves * processors / std::max<int64_t>(blocks, 1)});
    double fullest = 0;
    for (cut.blocks = 1; cut.blocks <= std::max<int64_t>(most, 1); ++cut.blocks) {
      const int64_t all = blocks * cut.blocks;
      if (all * Threads() < kFewestAtOnce * processors) continue;
      const double full = static_cast<double>(all) / static_cast<double>(RoundUp(all, processors));
      if (full <= fullest) continue;
      fullest = full;
      for (const CombineBlocks way : ways_) {
        design_.combine_blocks = way;
        ShowCopies(chunk.stages);
        if (cut.blocks == 1) break;
      }
    }
    cut.blocks = 1;
  }

  void ShowCopies(int stages) {
    design_.async_stages.clear();
    visit_(design_);
    if (!HasAsyncCopies(device_)) return;
    design_.async_stages.assign(e_.inputs().size(), stages);
    visit_(design_);
  }

  int64_t Threads() const {
    int64_t threads = 1;
    for (const Cut& cut : design_.cuts) threads *= cut.threads;
    return threads;
  }

  // Of one part.
  int64_t Blocks() const {
    int64_t blocks = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      const Cut& cut = design_.cuts[d];
      if (e_.combine_operators()[d].is_concat()) {
        blocks *= CeilDivide(size(d), cut.threads * cut.vector * cut.strided);
      }
    }
    return blocks;
  }

  const Expression& e_;
  const DeviceDescription& device_;
  const int lane_;
  const absl::FunctionRef<void(const BlockDesign&)> visit_;
  const std::vector<int> reductions_;
  BlockDesign design_;
  std::vector<CombineBlocks> ways_;
};

}  // namespace

void VisitProductTiles(const Expression& expression, const DeviceDescription& device, int lane,
                       absl::FunctionRef<void(const BlockDesign&)> visit) {
  ProductTiler(expression, device, lane, visit).Run();
}

}  // namespace mdh
