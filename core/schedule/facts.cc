#include "core/schedule/facts.h"

#include <algorithm>

#include "core/decomposition/constraints.h"

namespace mdh {

ScheduleFacts::ScheduleFacts(const Expression& divided, const SystemModel& model,
                             const TuningParameters& parameters)
    : divided_(divided), model_(model), parameters_(parameters), copies_(divided.inputs().size()) {
  const NestShape nest(divided, model, parameters);
  AddLevels(nest);
  registers_ = model.memory == MemoryKind::kExplicit ? PrivateWords(nest, nest) : WordsOfTile();
  if (model.memory != MemoryKind::kExplicit) return;
  AddCopies(nest);
  accumulates_in_shared_ = nest.AccumulatesInSharedMemory();
}

void ScheduleFacts::AddLevels(const NestShape& nest) {
  const bool has_regions = model_.memory == MemoryKind::kExplicit;
  for (int n = 0; n < nest.count(); ++n) {
    const NestShape::Level& level = nest.levels()[n];
    if (level.parts == 1) continue;
    if (level.assigned.layer != level.level.layer) has_exchanged_layers_ = true;
    const int region = has_regions ? nest.OutputRegion(0, n) : 0;
    if (!nest.is_parallel(n)) {
      loops_.push_back(level.level);
      loop_regions_.push_back(region);
      continue;
    }
    const auto is_before = [&](const NestShape::Level& other) {
      return other.role == level.role && other.parts > 1 &&
             other.assigned.dimension < level.assigned.dimension;
    };
    const auto axis = std::ranges::count_if(nest.levels(), is_before);
    cores_.push_back({level.level, static_cast<int>(axis), nest.is_thread(n) ? nest.Lanes(n) : 1,
                      nest.is_reduced(n) ? region : 0});
  }
  std::ranges::sort(cores_, {}, &Core::level);
}

void ScheduleFacts::AddCopies(const NestShape& nest) {
  for (size_t b = 0; b < copies_.size(); ++b) {
    for (const int place : nest.CopyPlaces(static_cast<int>(b))) {
      int around = 0;
      for (int n = 0; n < place; ++n) {
        around += nest.levels()[n].parts > 1 && !nest.is_parallel(n) ? 1 : 0;
      }
      copies_[b].push_back({around, nest.InputRegion(static_cast<int>(b), place),
                            nest.LayoutAt(static_cast<int>(b), place)});
    }
  }
}

// Of the results of a tile of registers; each lane of a reduction has a result of its own, and so
// has, of independent accumulators, each point.
int64_t ScheduleFacts::WordsOfTile() const {
  const std::vector<int64_t>& tile = parameters_.tile[InnermostMemoryLayer(model_)];
  const int lanes = model_.LayerWith(LayerRole::kLanes);
  int64_t words = 0;
  for (const TypedName& result : divided_.function().results()) {
    words += Words(SizeBytes(result.type));
  }
  for (int d = 0; d < divided_.rank(); ++d) {
    const bool is_one = divided_.is_reduction(d) && !parameters_.independent_accumulators;
    words *= !is_one ? tile[d] : lanes > 0 ? parameters_.tile[lanes - 1][d] : 1;
  }
  return words;
}

int ScheduleFacts::LoopOf(MdhLevel level) const {
  const auto at = std::ranges::find(loops_, level);
  return at == loops_.end() ? -1 : static_cast<int>(at - loops_.begin());
}

const ScheduleFacts::Core* ScheduleFacts::CoreAt(MdhLevel level) const {
  const auto at = std::ranges::find(cores_, level, &Core::level);
  return at == cores_.end() ? nullptr : &*at;
}

std::optional<bool> ScheduleFacts::IsOutside(MdhLevel level, MdhLevel other) const {
  const int loop = LoopOf(level), other_loop = LoopOf(other);
  if (loop >= 0 && other_loop >= 0) return loop < other_loop;
  const Core *const core = CoreAt(level), *const other_core = CoreAt(other);
  if (core == nullptr || other_core == nullptr || level.layer != other.layer) return std::nullopt;
  return core->axis < other_core->axis;
}

int64_t ScheduleFacts::Parts(int layer, int d) const {
  return (Outer(layer, d) + Tile(layer, d) - 1) / Tile(layer, d);
}

int64_t ScheduleFacts::Bytes(int buffer, bool is_output, int layer) const {
  const Buffer& b = is_output ? divided_.outputs()[buffer] : divided_.inputs()[buffer];
  int64_t bytes = b.type.size_bytes();
  for (int x = 0; x < std::ssize(b.extents); ++x) {
    bytes *= std::min(b.extents[x], Footprint(b, x, parameters_.tile[layer]));
  }
  return bytes;
}

int64_t ScheduleFacts::Threads() const {
  int64_t threads = 1;
  for (const Core& core : cores_) {
    const LayerRole role = model_.layers[core.level.layer].role;
    const bool counts = model_.memory == MemoryKind::kExplicit
                            ? role == LayerRole::kThreads || role == LayerRole::kWarps
                            : role == LayerRole::kCores;
    if (counts) threads *= Parts(core.level.layer, core.level.dimension);
  }
  return threads;
}

}  // namespace mdh
