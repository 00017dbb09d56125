#include "codegen/block_moves.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/constraints.h"

namespace mdh {
namespace {

using Copy = BlockDesign::Copy;
using Cut = BlockDesign::Cut;

constexpr int64_t kMostNeighbours = 16;  // of a thread along one dimension
constexpr int64_t kMostParts = 1024;
constexpr int64_t kMostDivisor = 128;
constexpr int kUsualNeighbours = 256;  // of a design
constexpr std::array<int, 7> kResidentBlocks = {0, 1, 2, 3, 4, 6, 8};

// Powers of two, and what divides the size.
std::vector<int64_t> Ladder(int64_t size, int64_t most) {
  std::vector<int64_t> values;
  for (int64_t v = 1; v <= std::min(size, most); ++v) {
    if ((v & (v - 1)) == 0 || (size % v == 0 && v <= kMostDivisor)) values.push_back(v);
  }
  return values;
}

bool Step(const std::vector<int64_t>& ladder, int direction, int64_t* value) {
  const auto at = std::find(ladder.begin(), ladder.end(), *value);
  if (at == ladder.end()) return false;
  if (direction < 0 ? at == ladder.begin() : at + 1 == ladder.end()) return false;
  *value = *(at + direction);
  return true;
}

// 0: there are no asynchronous copies.
int AsyncStages(const BlockDesign& design) {
  const BlockDesign::List<int>& all = design.async_stages;
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

void SetAsyncStages(BlockDesign* design, int b, int stages) {
  BlockDesign::List<int>& all = design->async_stages;
  all.resize(design->copies.size(), 0);
  all[b] = stages;
  // Equal designs are equal values.
  if (std::count(all.begin(), all.end(), 0) == std::ssize(all)) all.clear();
}

}  // namespace

BlockMoves::BlockMoves(const Expression& e, const DeviceDescription& device,
                       const BlockMoveOptions& options)
    : expression_(e),
      reductions_(static_cast<int>(ReductionOrder(e).size())),
      warp_size_(device.blocks.warp_size),
      has_lane_tiles_(options.lane_tiles),
      has_async_copies_(options.async_copies && HasAsyncCopies(device)),
      has_resident_blocks_(options.resident_blocks && HasResidentBlocks(device.kind)),
      has_early_launches_(options.early_launches && HasEarlyLaunches(device.kind)) {
  constexpr NumericsPolicy kAnyOrder = NumericsPolicy::kReassociate;
  combinations_.push_back(CombineBlocks::kPartials);
  if (AtomicsObstacle(e, device.kind, kAnyOrder).empty()) {
    combinations_.push_back(CombineBlocks::kAtomics);
  }
  for (const CombineBlocks how : {CombineBlocks::kLastBlock, CombineBlocks::kCluster}) {
    const bool is_possible = CooperationObstacle(e, device, kAnyOrder, how).empty();
    if (options.cooperation && is_possible) combinations_.push_back(how);
  }
  for (const Dimension& d : e.dimensions()) {
    small_.push_back(Ladder(d.size, kMostNeighbours));
    large_.push_back(Ladder(d.size, kMostParts));
    std::vector<int64_t> slots = large_.back();
    for (const int64_t v : {device.blocks.multiprocessors, 2 * device.blocks.multiprocessors}) {
      if (v <= d.size) slots.push_back(v);
    }
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    slots_.push_back(std::move(slots));
  }
}

void BlockMoves::Add(const BlockDesign& next, std::vector<BlockDesign>* all) const {
  const bool has_both = std::any_of(next.cuts.begin(), next.cuts.end(), [](const Cut& cut) {
    return cut.strided > 1 && cut.loops > 1;
  });
  if (has_both) return;
  all->push_back(next);
  if (next.lane_tile.empty()) return;
  const std::optional<std::pair<int, int>> plane = LanePlane(expression_, next);
  SetLaneTile(expression_, plane ? next.lane_tile[plane->first] : 1,
              plane ? next.lane_tile[plane->second] : 1, &all->back());
}

const std::vector<int64_t>& BlockMoves::LadderOf(int d, Field field) const {
  if (field == &Cut::blocks) return slots_[d];
  if (field == &Cut::threads || field == &Cut::loops) return large_[d];
  return IsKept(d) ? small_[d] : large_[d];
}

std::vector<BlockMoves::Field> BlockMoves::Fields(int d) const {
  if (!IsKept(d)) return {&Cut::vector, &Cut::threads, &Cut::blocks};
  return {&Cut::threads, &Cut::vector, &Cut::strided, &Cut::loops};
}

void BlockMoves::AddSteps(const BlockDesign& design, int d, std::vector<BlockDesign>* all) const {
  BlockDesign next = design;
  // Adds the design with another step, which it takes back.
  const auto add = [&](int dimension, Field field, int direction) {
    int64_t& value = next.cuts[dimension].*field;
    const int64_t before = value;
    if (Step(LadderOf(dimension, field), direction, &value)) Add(next, all);
    value = before;
  };
  for (const Field field : Fields(d)) {
    add(d, field, 1);
    int64_t& value = next.cuts[d].*field;
    const int64_t before = value;
    if (!Step(LadderOf(d, field), -1, &value)) continue;
    Add(next, all);
    for (int other = 0; other < expression_.rank(); ++other) {
      if (size(other) == 1) continue;
      for (const Field up : Fields(other)) {
        if (other == d ? up != field : up == field) add(other, up, 1);
      }
    }
    value = before;
  }
}

void BlockMoves::AddCopies(const BlockDesign& design, std::vector<BlockDesign>* all) const {
  for (int b = 0; b < static_cast<int>(design.copies.size()); ++b) {
    if (!CanStage(expression_.inputs()[b])) continue;
    for (const Copy copy : {Copy::kNone, Copy::kChunk, Copy::kTile, Copy::kBlock}) {
      if (copy == design.copies[b]) continue;
      BlockDesign next = design;
      next.copies[b] = copy;
      SetAsyncStages(&next, b, 0);
      Add(next, all);
    }
    if (has_async_copies_ && design.copies[b] == Copy::kChunk) {
      const int stages = AsyncStages(design);
      BlockDesign next = design;
      SetAsyncStages(&next, b, design.AsyncStages(b) > 0 ? 0 : stages > 0 ? stages : 2);
      Add(next, all);
    }
  }
}

// Of all asynchronous copies: copies of one loop have as many stages as the fewest of them.
void BlockMoves::AddAsyncStages(const BlockDesign& design, std::vector<BlockDesign>* all) const {
  for (const int stages : {2, 3, 4}) {
    if (AsyncStages(design) == 0 || stages == AsyncStages(design)) continue;
    BlockDesign next = design;
    for (int& of_input : next.async_stages) of_input = of_input > 0 ? stages : 0;
    Add(next, all);
  }
}

void BlockMoves::AddLaneTiles(const BlockDesign& design, std::vector<BlockDesign>* all) const {
  const auto add = [&](int64_t x, int64_t y) {
    BlockDesign next = design;
    SetLaneTile(expression_, x, y, &next);
    const bool is_asked_for = y == 1 || !next.lane_tile.empty();
    if (is_asked_for && next.lane_tile != design.lane_tile) Add(next, all);
  };
  add(1, 1);
  for (int64_t y = 2; y <= warp_size_; y *= 2) {
    for (int64_t x = 1; x * y <= warp_size_; x *= 2) add(x, y);
  }
}

void BlockMoves::AddResidency(const BlockDesign& design, std::vector<BlockDesign>* all) const {
  const auto at = std::find(kResidentBlocks.begin(), kResidentBlocks.end(), design.resident_blocks);
  if (at == kResidentBlocks.end()) return;
  BlockDesign next = design;
  if (at + 1 != kResidentBlocks.end()) {
    next.resident_blocks = *(at + 1);
    Add(next, all);
  }
  if (at == kResidentBlocks.begin()) return;
  next.resident_blocks = *(at - 1);
  Add(next, all);
}

void BlockMoves::AddCombinations(const BlockDesign& design, std::vector<BlockDesign>* all) const {
  int64_t blocks = 1;
  for (const Cut& cut : design.cuts) blocks *= cut.blocks;
  for (const CombineBlocks how : combinations_) {
    if (how == design.combine_blocks) continue;
    if (how == CombineBlocks::kCluster && blocks > kMaxClusterBlocks) continue;
    BlockDesign next = design;
    next.combine_blocks = how;
    Add(next, all);
  }
}

void BlockMoves::AddEarlyLaunches(const BlockDesign& design, std::vector<BlockDesign>* all) const {
  using enum EarlyLaunches;
  for (const EarlyLaunches early : {kCalls, kStages, kNone}) {
    // One stage has no other one beside it.
    if (early == design.early_launches || (early == kNone && !HasSharedReduction(design))) continue;
    BlockDesign next = design;
    next.early_launches = early;
    Add(next, all);
  }
}

std::vector<BlockDesign> BlockMoves::Neighbours(const BlockDesign& design) const {
  std::vector<BlockDesign> all;
  all.reserve(kUsualNeighbours);
  for (int d = 0; d < expression_.rank(); ++d) {
    if (size(d) == 1) continue;
    AddSteps(design, d, &all);
    if (d == design.lane_dimension || design.cuts[d].threads == 1) continue;
    BlockDesign next = design;
    next.lane_dimension = d;
    Add(next, &all);
  }
  for (const int step : {1, -1}) {
    BlockDesign next = design;
    next.unrolled += step;
    if (next.unrolled >= 0 && next.unrolled <= reductions_) Add(next, &all);
  }
  AddCopies(design, &all);
  if (HasSharedReduction(design)) AddCombinations(design, &all);
  if (has_async_copies_) AddAsyncStages(design, &all);
  if (has_lane_tiles_) AddLaneTiles(design, &all);
  if (has_resident_blocks_) AddResidency(design, &all);
  if (has_early_launches_) AddEarlyLaunches(design, &all);
  return all;
}

}  // namespace mdh
