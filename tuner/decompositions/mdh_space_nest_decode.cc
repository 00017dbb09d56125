// From configurations to tables of tuning parameters and back.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/decomposition/nest_shape.h"
#include "tuner/decompositions/mdh_space_nest.h"

namespace mdh {

TuningParameters NestDecompositions::Decode(Codes c) const {
  TuningParameters p = SinglePoints(e_, p_.model, p_.numerics);
  p.lowering = Lowering::kLevels;
  for (int d = 0; d < p_.rank(); ++d) {
    const std::vector<int64_t> extents = dimensions_.at(d).Extents(c, 1);
    for (int l = 0; l + 1 < layers_; ++l) p.tile[l][d] = extents[LevelOf(l) - 1];
  }
  p.phase.order = DecodeOrder(c, p);
  DecodeChoices(c, &p);
  if (!is_explicit()) {
    // Caches copy by themselves; regions say what is in which.
    LevelTable<int> regions(layers_, std::vector<int>(p_.rank(), 0));
    for (int l = outer_ + 1; l < layers_; ++l) regions[l].assign(p_.rank(), l - outer_);
    for (InputParameters& input : p.inputs) input.memory.regions = regions;
    p.outputs.assign(e_.outputs().size(), {regions, {}});
    return p;
  }
  DecodeAssignment(c, p);
  DecodeLanes(c, p);
  DecodeResults(c, p);
  for (int b = 0; b < std::ssize(inputs_); ++b) DecodeInput(c, b, p);
  return p;
}

// ---- Order ----

std::vector<MdhLevel> NestDecompositions::DecodeOrder(Codes c, const TuningParameters& p) const {
  std::vector<MdhLevel> order;
  const auto add = [&](int layer, bool kept, bool reduced, bool scanned) {
    if (layer < 0) return;
    const std::vector<int> dimensions =
        orders_[layer].empty() ? Identity(p_.rank())
                               : orders_[layer].Order(c, p_.HasParts(p, layer), p_.rank());
    for (const int d : dimensions) {
      if (IsKept(d) ? kept : p_.is_reduced(d) ? reduced : scanned) order.push_back({layer, d});
    }
  };
  const auto add_all = [&](int layer) { add(layer, true, true, true); };
  if (!is_explicit()) {
    for (int l = 0; l < layers_; ++l) add_all(l);
    return order;
  }
  const int64_t place = c[place_];
  add_all(0);
  if (place == kNested) add_all(outer_);
  if (place == kResultsInnermost || place == kThreadsInside) add(outer_, false, false, true);
  if (place == kThreadsInside) add(outer_, true, false, false);
  add_all(warps_);
  add_all(threads_);
  if (place == kThreadsFirst) add_all(outer_);
  if (place == kResultsInnermost || place == kThreadsInside) add(outer_, false, true, false);
  add_all(inner_);
  add_all(registers_);
  if (place == kResultsInnermost) add(outer_, true, false, false);
  return order;
}

int64_t NestDecompositions::PlaceOf(const TuningParameters& p) const {
  const NestShape shape(e_, p_.model, p);
  int threads = -1;            // first place
  int outer = -1, inner = -1;  // last places of loops of the outermost memory layer, and further in
  int kept = -1, reduced = -1, scanned = -1;  // of the outermost memory layer's, by their dimension
  int loops_before = 0, loops = 0;
  for (int n = 0; n < shape.count(); ++n) {
    const NestShape::Level& level = shape.levels()[n];
    if (shape.is_thread(n) && threads < 0) threads = n;
    if (shape.is_parallel(n)) continue;
    if (level.level.layer != outer_) {
      inner = n;
      continue;
    }
    const int d = level.level.dimension;
    outer = n;
    (IsKept(d) ? kept : p_.is_reduced(d) ? reduced : scanned) = n;
    ++loops;
    if (threads < 0) ++loops_before;
  }
  if (kept > inner) return kResultsInnermost;
  if (loops_before == loops) return kNested;
  if (reduced > threads && kept < reduced && kept < threads && scanned < threads) {
    return innermost_ >= 0 ? kThreadsInside : kResultsInnermost;
  }
  return outer > threads ? kThreadsFirst : kNested;
}

// ---- Assignment ----

// The dimensions of a layer of blocks or threads as they run along x, y, z and further ones, which
// are folded into z: those with several parts first, x and y as asked for, or, where that exceeds
// limits of the device, those with most parts.
std::vector<int> NestDecompositions::AxesOf(const TuningParameters& p, int layer, int x,
                                            int y) const {
  const auto parts = [&](int d) {
    const int64_t outer = layer == 0 ? p_.size(d) : p.tile[layer - 1][d];
    return (outer + p.tile[layer][d] - 1) / p.tile[layer][d];
  };
  const std::array<int64_t, 3>& limits =
      layer == 0 ? p_.device.blocks.max_grid : p_.device.blocks.max_block;
  const auto fits = [&](const std::vector<int>& axes) {
    std::array<double, 3> counts = {1, 1, 1};
    for (int n = 0; n < std::ssize(axes); ++n) {
      counts[std::min(n, 2)] *= static_cast<double>(parts(axes[n]));
    }
    return counts[0] <= static_cast<double>(limits[0]) &&
           counts[1] <= static_cast<double>(limits[1]) &&
           counts[2] <= static_cast<double>(limits[2]);
  };
  std::vector<int> sorted = Identity(p_.rank());
  std::ranges::stable_sort(sorted, [&](int a, int b) { return parts(a) > parts(b); });
  std::vector<int> axes = sorted;
  for (const int first : {y, x}) {
    const auto at = std::ranges::find(axes, first);
    if (at == axes.end() || parts(first) == 1) continue;
    axes.erase(at);
    axes.insert(axes.begin(), first);
    if (fits(axes) || (has_warps() && layer == threads_)) sorted = axes;
  }
  return sorted;
}

void NestDecompositions::DecodeAssignment(Codes c, TuningParameters& p) const {
  p.phase.assignment.assign(layers_, std::vector<AsmLevel>(p_.rank()));
  for (int l = 0; l < layers_; ++l) {
    std::vector<int> axes = Identity(p_.rank());
    if (l == 0) axes = AxesOf(p, l, Axis(c, grid_x_), Axis(c, grid_y_));
    if (is_thread(l)) axes = AxesOf(p, l, Axis(c, block_x_), Axis(c, block_y_));
    for (int n = 0; n < p_.rank(); ++n) p.phase.assignment[l][axes[n]] = {l, n};
  }
}

// Whether the dimensions with several parts would run along the axes as they do.
bool NestDecompositions::AreAxes(const TuningParameters& p, const NestShape& shape, int layer,
                                 int x, int y) const {
  const std::vector<int> axes = AxesOf(p, layer, x, y);
  std::vector<std::pair<int, int>> active;  // axes and dimensions
  for (const NestShape::Level& level : shape.levels()) {
    if (level.level.layer != layer || level.parts == 1) continue;
    active.push_back({level.assigned.dimension, level.level.dimension});
  }
  std::ranges::sort(active);
  auto at = axes.begin();
  for (const std::pair<int, int>& next : active) {
    at = std::find(at, axes.end(), next.second);
    if (at == axes.end()) return false;
  }
  return true;
}

void NestDecompositions::ReadAssignment(const TuningParameters& p, Configuration& c) const {
  if (grid_x_ < 0) return;
  const NestShape shape(e_, p_.model, p);
  const auto read = [&](const std::vector<int>& layers, int x, int y) {
    std::vector<std::pair<int, int>> active;
    for (const NestShape::Level& level : shape.levels()) {
      if (level.level.layer == layers[0] && level.parts > 1) {
        active.push_back({level.assigned.dimension, level.level.dimension});
      }
    }
    std::ranges::sort(active);
    c[x] = active.empty() ? 0 : active[0].second;
    c[y] = active.size() < 2 ? (c[x] == 0 ? 1 : 0) : active[1].second;
    const auto fit = [&](int a, int b) {
      return std::ranges::all_of(
          layers, [&](int layer) { return layer < 0 || AreAxes(p, shape, layer, a, b); });
    };
    if (fit(static_cast<int>(c[x]), static_cast<int>(c[y]))) return;
    for (int n = 0; n < p_.rank() * p_.rank(); ++n) {
      // That of the threads first: those that shuffle are along it.
      const int a = (static_cast<int>(c[x]) + n / p_.rank()) % p_.rank(), b = n % p_.rank();
      if (a == b || !fit(a, b)) continue;
      c[x] = a;
      c[y] = b;
      return;
    }
  };
  read({0}, grid_x_, grid_y_);
  read({threads_, warps_}, block_x_, block_y_);
}

void NestDecompositions::DecodeLanes(Codes c, TuningParameters& p) const {
  const int64_t number = Code(c, lanes_, 0);
  if (number == 0) return;
  p.lanes.assign(p_.rank(), 1);
  std::tie(p.lanes[0], p.lanes[1]) = tiles_[number - 1];
}

void NestDecompositions::ReadLanes(const TuningParameters& p, Configuration& c) const {
  if (!has(lanes_) || p.lanes.size() != static_cast<size_t>(p_.rank())) return;
  const NestShape shape(e_, p_.model, p);
  std::vector<std::pair<int, int64_t>> active;  // axes and lanes
  for (int n = 0; n < shape.count(); ++n) {
    const NestShape::Level& level = shape.levels()[n];
    if (shape.is_thread(n) && level.parts > 1) {
      active.push_back({level.assigned.dimension, shape.Lanes(n)});
    }
  }
  std::ranges::sort(active);
  if (active.size() < 2) return;
  const auto at = std::ranges::find(tiles_, std::pair(active[0].second, active[1].second));
  c[lanes_] = at == tiles_.end() ? 0 : at - tiles_.begin() + 1;
}

// ---- Results ----

void NestDecompositions::DecodeResults(Codes c, TuningParameters& p) const {
  const int64_t results = c[results_], combine = c[combine_], place = c[place_];
  if (results == kInDevice) return;
  const bool is_around = results == kRegistersAround || results == kSharedAround;
  const bool is_shared = results >= kSharedInside;
  const int region = is_shared ? regions_ - 2 : regions_ - 1;
  LevelTable<int> regions(layers_, std::vector<int>(p_.rank(), 0));
  for (int l = inner_; l < layers_; ++l) {
    if (!is_core(l)) regions[l].assign(p_.rank(), region);
  }
  for (int d = 0; d < p_.rank(); ++d) {
    if (IsKept(d) && place == kResultsInnermost) regions[outer_][d] = region;
    if (p_.is_reduced(d) && is_around) regions[outer_][d] = region;
  }
  const auto of_threads = static_cast<int>(combine == kShuffle           ? regions_ - 1
                                           : combine == kCombineInShared ? regions_ - 2
                                                                         : 0);
  regions[threads_].assign(p_.rank(), of_threads);
  if (has_warps()) regions[warps_].assign(p_.rank(), std::min(of_threads, regions_ - 2));
  p.outputs.assign(e_.outputs().size(), {regions, {}});
}

void NestDecompositions::ReadResults(const TuningParameters& p, int64_t place,
                                     Configuration& c) const {
  c[results_] = kInDevice;
  c[combine_] = kCombineInDevice;
  const NestShape shape(e_, p_.model, p);
  int of_threads = 0, around = 0, inside = 0;
  for (int n = 0; n < shape.count(); ++n) {
    const NestShape::Level& level = shape.levels()[n];
    const int region = std::min(shape.OutputRegion(0, n), regions_ - 1);
    if (level.level.layer == threads_ && p_.is_reduced(level.level.dimension) && level.parts > 1) {
      of_threads = std::max(of_threads, region);
    }
    if (shape.is_parallel(n)) continue;
    const bool is_outer = level.level.layer == outer_;
    if (is_outer && p_.is_reduced(level.level.dimension) && level.parts > 1) {
      around = std::max(around, region);
    }
    inside = std::max(inside, region);
  }
  if (inside == 0) return;
  const bool is_shared = inside == regions_ - 2;
  bool has_outer = false;  // loops of reductions that tell whether results are around them
  for (int d = 0; d < p_.rank(); ++d) {
    has_outer = has_outer || (p_.is_reduced(d) && p.tile[outer_][d] < p.tile[outer_ - 1][d]);
  }
  const bool may_be_around = place == kResultsInnermost || place == kThreadsInside;
  const bool is_around = may_be_around && (has_outer ? around > 0 : true);
  c[results_] = is_shared ? (is_around ? kSharedAround : kSharedInside)
                          : (is_around ? kRegistersAround : kRegistersInside);
  c[combine_] = of_threads == 0              ? kCombineInDevice
                : of_threads == regions_ - 1 ? kShuffle
                                             : kCombineInShared;
}

// ---- Inputs ----

void NestDecompositions::DecodeInput(Codes c, int b, TuningParameters& p) const {
  const InputChoices& choices = inputs_[b];
  const int64_t copy = Code(c, choices.copy, kNoCopy);
  if (copy == kNoCopy) return;
  const bool is_shared = copy != kPrivate, is_private = copy >= kPrivate;
  const int of_inner = is_shared ? regions_ - 2 : 0;
  const int of_registers = is_private ? regions_ - 1 : of_inner;
  InputParameters& input = p.inputs[b];
  LevelTable<int>& regions = input.memory.regions;
  regions.assign(layers_, std::vector<int>(p_.rank(), 0));
  regions[inner_].assign(p_.rank(), of_inner);
  regions[registers_].assign(p_.rank(), of_registers);
  for (int d = 0; d < p_.rank(); ++d) {
    if (IsKept(d) && c[place_] == kResultsInnermost) regions[outer_][d] = of_registers;
  }
  if (!is_shared) return;
  const std::vector<int> layout = choices.layout.Permutation(c);
  if (!std::ranges::is_sorted(layout)) {
    input.memory.layouts.assign(layers_,
                                std::vector<std::vector<int>>(p_.rank(), Identity(layout.size())));
    for (int l = 0; l < layers_; ++l) {
      for (int d = 0; d < p_.rank(); ++d) {
        if (regions[l][d] == regions_ - 2) input.memory.layouts[l][d] = layout;
      }
    }
  }
  input.padding = static_cast<int>(Code(c, choices.padding, 0));
  input.copy_width = static_cast<int>(Code(c, choices.width, 1));
  input.copy_stages = static_cast<int>(Code(c, choices.stages, 1));
  if (has(choices.mode)) input.copy_mode = static_cast<CopyMode>(c[choices.mode]);
}

void NestDecompositions::ReadInput(const TuningParameters& p, int b, Configuration& c) const {
  const InputChoices& choices = inputs_[b];
  if (!has(choices.copy)) return;
  const InputParameters& input = p.inputs[b];
  const NestShape shape(e_, p_.model, p);
  bool is_shared = false, is_private = false;
  for (const int place : shape.CopyPlaces(b)) {
    const int region = shape.InputRegion(b, place);
    if (region == regions_ - 2 && !is_shared) {
      is_shared = true;
      choices.layout.Read(shape.LayoutAt(b, place), c);
    }
    is_private = is_private || region > regions_ - 2;
  }
  c[choices.copy] =
      is_shared ? (is_private ? kSharedAndPrivate : kShared) : (is_private ? kPrivate : kNoCopy);
  c[choices.padding] = is_shared ? input.padding : 0;
  if (has(choices.width)) c[choices.width] = is_shared ? input.copy_width : 1;
  c[choices.stages] = is_shared ? input.copy_stages : 1;
  if (has(choices.mode)) {
    c[choices.mode] =
        static_cast<int64_t>(is_shared ? input.copy_mode : CopyMode::kThroughRegisters);
  }
}

// ---- Reading ----

Configuration NestDecompositions::Read(const TuningParameters& p) const {
  Configuration c(builder_.parameters().size(), 0);
  for (int d = 0; d < p_.rank(); ++d) {
    std::vector<int64_t> extents;
    for (int l = layers_ - 2; l >= 0; --l) extents.push_back(p.tile[l][d]);
    dimensions_.at(d).Read(extents, 1, c);
  }
  for (int l = 0; l < layers_; ++l) orders_[l].Read(OrderOfLayer(p.phase, l), p_.HasParts(p, l), c);
  ReadChoices(p, c);
  if (is_explicit()) {
    ReadExplicit(p, c);
  } else {
    ReadThreads(p, c);
  }
  return c;
}

void NestDecompositions::ReadExplicit(const TuningParameters& p, Configuration& c) const {
  const int64_t place = PlaceOf(p);
  c[place_] = place;
  if (innermost_ >= 0) c[innermost_] = place == kResultsInnermost ? 1 : 0;
  ReadResults(p, place, c);
  ReadAssignment(p, c);
  ReadLanes(p, c);
  for (int b = 0; b < std::ssize(inputs_); ++b) ReadInput(p, b, c);
}

}  // namespace mdh
