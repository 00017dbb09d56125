// Where the walk keeps inputs and results, and how it copies.
#include <cstddef>
#include <utility>

#include "core/decomposition/nest_shape.h"
#include "tests/random_parameter_walk.h"

namespace mdh {

size_t ParameterWalk::RandomPlace() {
  const NestShape shape(e_, m_, p_);
  std::vector<size_t> inside;
  for (int n = 0; n + 1 < shape.count(); ++n) {
    if (!shape.is_parallel(n) && shape.levels()[n].parts > 1) inside.push_back(n + 1);
  }
  return inside.empty() || OneIn(2) ? static_cast<size_t>(Below(rng_, shape.count()))
                                    : AnyOf(rng_, inside);
}

LevelTable<int> ParameterWalk::RandomRegions() {
  LevelTable<int> regions(layers_, std::vector<int>(e_.rank(), 0));
  const std::vector<MdhLevel>& order = p_.phase.order;
  for (int region = 1; region < regions_; ++region) {
    if (OneIn(3)) continue;
    const size_t begin = RandomPlace();
    for (size_t n = begin; n < order.size(); ++n) {
      regions[order[n].layer][order[n].dimension] = region;
    }
  }
  return regions;
}

LevelTable<std::vector<int>> ParameterWalk::RandomLayouts(const LevelTable<int>& regions,
                                                          size_t rank) {
  std::vector<std::vector<int>> of_region(regions_, Identity(rank));
  for (int region = 1; region < regions_; ++region) Shuffle(rng_, of_region[region]);
  LevelTable<std::vector<int>> layouts(layers_, std::vector<std::vector<int>>(e_.rank()));
  for (int l = 0; l < layers_; ++l) {
    for (int d = 0; d < e_.rank(); ++d) layouts[l][d] = of_region[regions[l][d]];
  }
  return layouts;
}

void ParameterWalk::ChooseMemory() {
  for (size_t b = 0; b < e_.inputs().size(); ++b) {
    if (OneIn(4)) continue;
    TrySome(6, [&](TuningParameters& p) { p.inputs[b].memory.regions = RandomRegions(); });
    if (p_.inputs[b].memory.regions.empty()) continue;
    ChooseCopy(b);
  }
  if (p_.outputs.empty() ? !OneIn(5) : OneIn(4)) {
    TrySome(6, [&](TuningParameters& p) {
      p.outputs.assign(e_.outputs().size(), {RandomRegions(), {}});
    });
  }
  if (!p_.outputs.empty() && OneIn(4)) {
    Try([&](TuningParameters& p) {
      for (size_t b = 0; b < e_.outputs().size(); ++b) {
        p.outputs[b].layouts = RandomLayouts(p.outputs[b].regions, e_.outputs()[b].extents.size());
      }
    });
  }
}

void ParameterWalk::ChooseCopy(size_t b) {
  if (OneIn(2)) {
    Try([&](TuningParameters& p) {
      MemoryParameters& memory = p.inputs[b].memory;
      memory.layouts = RandomLayouts(memory.regions, e_.inputs()[b].extents.size());
    });
  }
  if (OneIn(2)) {
    Try([&](TuningParameters& p) { p.inputs[b].padding = 1 + static_cast<int>(Below(rng_, 5)); });
  }
  if (OneIn(2)) {
    TrySome(3, [&](TuningParameters& p) { p.inputs[b].copy_width = 2 << Below(rng_, 3); });
  }
  if (!OneIn(3)) Try([&](TuningParameters& p) { p.inputs[b].copy_stages = 2; });
  if (!OneIn(3)) TrySome(3, [&](TuningParameters& p) { MakeAsynchronous(p, b); });
}

void ParameterWalk::MakeAsynchronous(TuningParameters& p, size_t b) {
  InputParameters& input = p.inputs[b];
  input.copy_mode = CopyMode::kAsynchronous;
  input.copy_stages = 2 + static_cast<int>(Below(rng_, InputParameters::kMaxAsyncStages - 1));
  if (OneIn(3)) return;
  input.memory.layouts.clear();
  input.copy_width = 1 << Below(rng_, 4);
  input.padding = input.copy_width * static_cast<int>(Below(rng_, 3));
}

}  // namespace mdh
