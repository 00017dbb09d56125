#include "core/decomposition/nest_shape.h"

#include <algorithm>
#include <numeric>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

// Sequential arrays of results that a thread of a CPU may keep on its stack.
constexpr int64_t kMaxStackAccumulators = 4096;

// What a result takes where it is computed with.
int64_t ResultBytes(ScalarType result) { return SizeBytes(Info(result).computed); }

}  // namespace

NestShape::NestShape(const Expression& expression, const SystemModel& model,
                     const TuningParameters& parameters)
    : expression_(&expression),
      model_(&model),
      parameters_(&parameters),
      shared_region_(model.num_memory_layers() - 2) {
  const PhaseParameters& phase = parameters.phase;
  std::vector<int> next(model.layers.size(), 0);  // dimension of a layer in its own order
  for (const MdhLevel& level : phase.order) {
    const int d = level.dimension;
    const AsmLevel assigned = phase.assignment.empty() ? AsmLevel{level.layer, next[level.layer]++}
                                                       : phase.assignment[level.layer][d];
    const int64_t outer =
        level.layer == 0 ? expression.dimensions()[d].size : parameters.tile[level.layer - 1][d];
    const int64_t tile = parameters.tile[level.layer][d];
    levels_.push_back(
        {level, assigned, model.layers[assigned.layer].role, CeilDivide(outer, tile), tile});
  }
}

bool NestShape::is_thread(int n) const {
  return levels_[n].role == LayerRole::kThreads || levels_[n].role == LayerRole::kWarps;
}

bool NestShape::is_parallel(int n) const {
  return is_thread(n) || is_core(n) || levels_[n].role == LayerRole::kDevices;
}

int64_t NestShape::CorePart(int d) const {
  int64_t part = expression_->dimensions()[d].size;
  for (int n = 0; n < count(); ++n) {
    if (is_core(n) && levels_[n].level.dimension == d) part = std::min(part, levels_[n].tile);
  }
  return part;
}

bool NestShape::IsGuarded(int d) const {
  return std::ranges::any_of(parameters_->tile, [&](const auto& tile) {
    return expression_->dimensions()[d].size % tile[d] != 0;
  });
}

bool NestShape::MayBeEmpty(int n) const {
  const int d = levels_[n].level.dimension;
  int64_t last = 0;  // first point of the last part
  for (int m = 0; m < count(); ++m) {
    if (levels_[m].level.dimension != d) continue;
    // Threads combine their results in every iteration of the loops around these.
    const bool is_outside = is_thread(n) && (is_thread(m) || m < AccumulatorPlace());
    if (is_outside || (is_parallel(m) && !is_thread(m))) {
      last += (levels_[m].parts - 1) * levels_[m].tile;
    }
  }
  return last >= expression_->dimensions()[d].size;
}

bool NestShape::NeedsPresence() const {
  if (!expression_->has_reduction() || expression_->reduction().identity()) return false;
  if (parameters_->lowering == Lowering::kTiles && parameters_->independent_accumulators) {
    return true;
  }
  for (int n = 0; n < count(); ++n) {
    if (levels_[n].parts == 1 || !is_reduced(n)) continue;
    if (levels_[n].role == LayerRole::kLanes || (is_parallel(n) && MayBeEmpty(n))) return true;
  }
  return false;
}

std::vector<ScalarType> NestShape::PartialTypes() const {
  std::vector<ScalarType> types;
  for (const TypedName& result : expression_->function().results()) types.push_back(result.type);
  if (NeedsPresence()) types.push_back(ScalarType::kBool);
  return types;
}

int NestShape::InputRegion(int buffer, int n) const {
  const LevelTable<int>& regions = parameters_->inputs[buffer].memory.regions;
  if (!is_explicit() || regions.empty()) return 0;
  return regions[levels_[n].level.layer][levels_[n].level.dimension];
}

int NestShape::OutputRegion(int buffer, int n) const {
  if (!is_explicit() || parameters_->outputs.empty()) return 0;
  const LevelTable<int>& regions = parameters_->outputs[buffer].regions;
  if (regions.empty()) return 0;
  return regions[levels_[n].level.layer][levels_[n].level.dimension];
}

std::vector<int> NestShape::CopyPlaces(int buffer) const {
  std::vector<int> places;
  for (int n = 0; n < count(); ++n) {
    const int region = InputRegion(buffer, n);
    if (region == 0) continue;
    const bool is_same = n > 0 && InputRegion(buffer, n - 1) == region &&
                         LayoutAt(buffer, n - 1) == LayoutAt(buffer, n);
    if (!is_same) places.push_back(n);
  }
  return places;
}

int NestShape::AccumulatorPlace() const {
  if (!is_explicit()) {  // as far outside as the stack allows
    int64_t elements = 1;
    int n = count();
    while (n > 0) {
      if (!is_parallel(n - 1) && !is_reduced(n - 1)) elements *= levels_[n - 1].parts;
      if (elements > kMaxStackAccumulators) break;
      --n;
    }
    return n;
  }
  for (int n = 0; n < count(); ++n) {
    if (!is_parallel(n) && OutputRegion(0, n) > 0) return n;
  }
  return count();
}

int64_t NestShape::AccumulatorElements() const {
  const std::vector<int64_t> tile = AccumulatorTile();
  return std::accumulate(tile.begin(), tile.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> NestShape::AccumulatorTile() const {
  std::vector<int64_t> tile(static_cast<size_t>(expression_->rank()), 1);
  for (int n = AccumulatorPlace(); n < count(); ++n) {
    if (is_parallel(n) || is_reduced(n)) continue;
    tile[static_cast<size_t>(levels_[n].level.dimension)] *= levels_[n].parts;
  }
  return tile;
}

int64_t NestShape::Box::elements() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

bool NestShape::IsInBox(int m, int n, bool shared) const {
  return is_parallel(m) ? shared && is_thread(m) : m >= n;
}

NestShape::Box NestShape::CopyBox(int buffer, int n, bool shared) const {
  const Buffer& b = expression_->inputs()[buffer];
  Box box;
  for (int x = 0; x < static_cast<int>(b.extents.size()); ++x) {
    const ConstantRange constants = ConstantsOf(b, x);
    int64_t last = constants.high - constants.low, step = 0;
    for (const IndexFunction& access : b.accesses) {
      step = std::gcd(step, access.indices[x].constant - constants.low);
    }
    const std::vector<int64_t>& coefficients = b.accesses[0].indices[x].coefficients;
    for (int m = 0; m < count(); ++m) {
      const int64_t stride = coefficients[levels_[m].level.dimension] * levels_[m].tile;
      if (levels_[m].parts == 1 || stride == 0 || !IsInBox(m, n, shared)) continue;
      last += stride * (levels_[m].parts - 1);
      step = std::gcd(step, stride);
    }
    step = std::max<int64_t>(step, 1);
    const bool is_wide = shared && x + 1 == static_cast<int>(b.extents.size());
    box.extents.push_back(
        RoundUp(last / step + 1, is_wide ? parameters_->inputs[buffer].copy_width : 1));
    box.steps.push_back(step);
  }
  return box;
}

std::array<int64_t, 3> NestShape::Grid() const {
  std::array<int64_t, 3> grid = {1, 1, 1};
  for (const Level& level : levels_) {
    if (level.role == LayerRole::kCores) grid[std::min(level.assigned.dimension, 2)] *= level.parts;
  }
  return grid;
}

std::array<int64_t, 3> NestShape::Cluster() const {
  std::array<int64_t, 3> cluster = {1, 1, 1};
  for (int n = 0; n < count(); ++n) {
    if (!is_core(n) || !is_reduced(n)) continue;
    cluster[std::min(levels_[n].assigned.dimension, 2)] *= levels_[n].parts;
  }
  return cluster;
}

std::array<int64_t, 3> NestShape::Block() const {
  std::array<int64_t, 3> block = {1, 1, 1};
  const bool has_warps = model_->LayerWith(LayerRole::kWarps) >= 0;
  for (int n = 0; n < count(); ++n) {
    if (!is_thread(n)) continue;
    const int axis = !has_warps ? std::min(levels_[n].assigned.dimension, 2)
                     : levels_[n].role == LayerRole::kWarps ? 1
                                                            : 0;
    block[axis] *= levels_[n].parts;
  }
  return block;
}

int64_t NestShape::ThreadsPerBlock() const {
  const std::array<int64_t, 3> block = Block();
  return block[0] * block[1] * block[2];
}

int64_t NestShape::Lanes(int n) const {
  return parameters_->lanes.empty() ? levels_[n].parts
                                    : parameters_->lanes[levels_[n].assigned.dimension];
}

int64_t NestShape::PartsOf(bool (NestShape::*has)(int n) const) const {
  int64_t parts = 1;
  for (int n = 0; n < count(); ++n) {
    if ((this->*has)(n)) parts *= levels_[n].parts;
  }
  return parts;
}

bool NestShape::IsSlot(int n) const {
  return is_reduced(n) && is_parallel(n) && (!is_thread(n) || OutputRegion(0, n) < shared_region());
}

std::vector<int> NestShape::SlotPlaces() const {
  std::vector<int> places;
  for (int n = 0; n < count(); ++n) {
    if (IsSlot(n) && levels_[n].parts > 1) places.push_back(n);
  }
  std::ranges::stable_sort(places, [&](int a, int b) {
    const Level &first = levels_[a], &second = levels_[b];
    return std::pair(first.level.dimension, -first.tile) <
           std::pair(second.level.dimension, -second.tile);
  });
  return places;
}

bool NestShape::IsSharedReduction(int n) const {
  return is_reduced(n) && is_thread(n) && OutputRegion(0, n) == shared_region();
}

bool NestShape::IsShuffled(int n) const {
  return is_reduced(n) && is_thread(n) && OutputRegion(0, n) > shared_region();
}

int64_t NestShape::ExchangedResults() const {
  int64_t bytes = 0;
  for (const ScalarType type : PartialTypes()) bytes += ResultBytes(type);
  const int64_t elements = AccumulatorElements();
  int64_t exchanged = std::clamp<int64_t>(
      kExchangeBytes / std::max<int64_t>(1, bytes * ThreadsPerBlock()), 1, elements);
  while (elements % exchanged != 0) --exchanged;
  return exchanged;
}

bool NestShape::AccumulatesInSharedMemory() const {
  const int n = AccumulatorPlace();
  return n < count() && is_explicit() && OutputRegion(0, n) == shared_region();
}

int64_t NestShape::SharedBytes() const {
  if (!is_explicit()) return 0;
  int64_t bytes = 0;
  for (int b = 0; b < static_cast<int>(expression_->inputs().size()); ++b) {
    const InputParameters& input = parameters_->inputs[b];
    for (const int place : CopyPlaces(b)) {
      if (InputRegion(b, place) != shared_region()) continue;
      const Box box = CopyBox(b, place, /*shared=*/true);
      const int64_t row = box.extents[LayoutAt(b, place).back()];
      const int64_t elements = box.elements() / row * (row + input.padding);
      bytes +=
          RoundUp(elements * input.copy_stages * expression_->inputs()[b].type.size_bytes(), 16);
    }
  }
  int64_t arrays = SharedReductionThreads() > 1 ? ThreadsPerBlock() * ExchangedResults() : 0;
  if (AccumulatesInSharedMemory()) arrays += AccumulatorElements() * ThreadsPerBlock();
  // Matrix units show sums where their operands were.
  if (parameters_->combine_blocks == CombineBlocks::kCluster && parameters_->unit.rows == 0) {
    arrays += AccumulatorElements() * ThreadsPerBlock();
  }
  if (parameters_->combine_blocks == CombineBlocks::kLastBlock) arrays += ThreadsPerBlock();
  for (const ScalarType type : PartialTypes()) bytes += RoundUp(arrays * ResultBytes(type), 16);
  return bytes;
}

std::vector<int> NestShape::LayoutAt(int buffer, int n) const {
  const LevelTable<std::vector<int>>& layouts = parameters_->inputs[buffer].memory.layouts;
  if (layouts.empty()) return RowMajor(expression_->inputs()[buffer]);
  return layouts[levels_[n].level.layer][levels_[n].level.dimension];
}

}  // namespace mdh
