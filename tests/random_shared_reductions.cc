// Reductions of the walk that threads or blocks share, which chance alone finds rarely.
#include <algorithm>
#include <array>
#include <utility>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/nest_shape.h"
#include "tests/random_parameter_walk.h"

namespace mdh {

void ParameterWalk::ShareReduction(TuningParameters& p) {
  const int threads = m_.LayerWith(LayerRole::kThreads);
  std::vector<int> reduced;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) reduced.push_back(d);
  }
  const int d = AnyOf(rng_, reduced);
  std::vector<int64_t> parts(layers_, 1);
  for (int64_t& count : parts) count = AnyOf(rng_, std::vector<int64_t>{1, 1, 2, 3, 4});
  parts[threads] = OneIn(4) ? AnyOf(rng_, kParts) : 2 << Below(rng_, 5);
  SetTiles(&p, d, parts, OneIn(4) ? 0 : 1);
  if (OneIn(2)) {
    for (AsmLevel& level : p.phase.assignment[threads]) {
      if (level.dimension == 0) std::swap(level, p.phase.assignment[threads][d]);
    }
  }
  const int first = static_cast<int>(Below(rng_, regions_));
  LevelTable<int> regions(layers_, std::vector<int>(e_.rank(), 0));
  for (int l = threads; l < layers_; ++l) {
    regions[l].assign(e_.rank(), l == threads || OneIn(2) ? first : regions[l - 1][0]);
  }
  if (OneIn(2)) regions.back().assign(e_.rank(), regions_ - 1);
  p.outputs.assign(e_.outputs().size(), {regions, {}});
}

void ParameterWalk::ShuffleReduction(TuningParameters& p) {
  const int threads = m_.LayerWith(LayerRole::kThreads);
  std::vector<int> reduced, others;
  for (int d = 0; d < e_.rank(); ++d) (e_.is_reduction(d) ? reduced : others).push_back(d);
  const int along = AnyOf(rng_, reduced);
  int64_t shuffled = int64_t{2} << Below(rng_, 5);
  while (shuffled > std::max<int64_t>(size(along), 2)) shuffled /= 2;
  const int beside = others.empty() ? -1 : AnyOf(rng_, others);
  for (int d = 0; d < e_.rank(); ++d) {
    std::vector<int64_t> parts(layers_, 1);
    if (d == along) parts[threads] = shuffled;
    if (d == beside) parts[threads] = std::max<int64_t>(1, 32 / shuffled);
    if (d != along && OneIn(4)) parts.back() = 2;
    SetTiles(&p, d, parts, d == along ? 1 : 0);
  }
  for (AsmLevel& level : p.phase.assignment[threads]) {
    if (level.dimension == 0) std::swap(level, p.phase.assignment[threads][along]);
  }
  LevelTable<int> regions(layers_, std::vector<int>(e_.rank(), 0));
  for (int l = 1; l < layers_; ++l) {
    if (l >= threads || OneIn(2)) regions[l].assign(e_.rank(), regions_ - 1);
    if (regions[l - 1][0] > 0) regions[l] = regions[l - 1];
  }
  p.outputs.assign(e_.outputs().size(), {regions, {}});
}

void ParameterWalk::CombineInBlocks(TuningParameters& p, CombineBlocks how) {
  p.combine_blocks = how;
  if (NestShape(e_, m_, p).Slots() > 1) return;
  std::vector<int> reduced;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) reduced.push_back(d);
  }
  const int d = AnyOf(rng_, reduced), cores = m_.LayerWith(LayerRole::kCores);
  const int64_t inside = p.tile[cores + 1][d];
  const int64_t blocks = 2 + Below(rng_, 4);
  p.tile[cores][d] = std::min(size(d), RoundUp(CeilDivide(size(d), blocks), inside));
}

void ParameterWalk::Cooperate(TuningParameters& p) {
  const int cores = m_.LayerWith(LayerRole::kCores);
  const auto depth = [&](const MdhLevel& level) {
    const LayerRole role = m_.layers[level.layer].role;
    if (role == LayerRole::kCores) return 0;
    return role == LayerRole::kThreads || role == LayerRole::kWarps ? 1 : 2;
  };
  std::vector<MdhLevel>& order = p.phase.order;
  std::stable_sort(order.begin(), order.end(), [&](const MdhLevel& a, const MdhLevel& b) {
    if (depth(a) != 0 || depth(b) != 0) return depth(a) < depth(b);
    return e_.is_reduction(a.dimension) && !e_.is_reduction(b.dimension);
  });
  p.phase.assignment = PlainAssignment(order);
  p.scalar_phase = p.recomposition_phase = std::nullopt;
  p.lanes.clear();
  for (InputParameters& input : p.inputs) {  // copies that suited another order
    if (OneIn(2)) input = {.layout = Identity(input.layout.size())};
  }
  LevelTable<int> regions(layers_, std::vector<int>(e_.rank(), 0));
  for (const MdhLevel& level : order) {
    regions[level.layer][level.dimension] =
        std::array{0, regions_ - 2, regions_ - 1}.at(static_cast<size_t>(depth(level)));
  }
  p.outputs.assign(e_.outputs().size(), {regions, {}});
  if (p.combine_blocks != CombineBlocks::kCluster) return;
  for (int d = 0; d < e_.rank(); ++d) {
    const int64_t tile = p.tile[cores][d];
    if (e_.is_reduction(d) && CeilDivide(size(d), tile) > kMaxClusterBlocks) {
      p.tile[cores][d] = std::min(size(d), RoundUp(CeilDivide(size(d), 4), p.tile[cores + 1][d]));
    }
  }
}

}  // namespace mdh
