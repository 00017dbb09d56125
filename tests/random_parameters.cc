// A walk from a plain decomposition: random changes, of which those that leave it valid are kept.
#include "tests/random_parameters.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/keyed_form.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/nest_shape.h"

namespace mdh {
namespace {

std::vector<int> Identity(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

class Walk {
 public:
  Walk(Rng& rng, const Expression& expression, const SystemModel& model,
       const DeviceDescription& device)
      : rng_(rng),
        e_(expression),
        m_(model),
        device_(device),
        layers_(static_cast<int>(model.layers.size())),
        regions_(static_cast<int>(model.memory_regions().size())) {}

  std::optional<TuningParameters> Run(NumericsPolicy numerics) {
    if (!Start(numerics)) return std::nullopt;
    if (m_.memory == MemoryKind::kExplicit && e_.has_reduction() && OneIn(2)) {
      const bool may_shuffle = HasShuffles(device_);
      if (may_shuffle && OneIn(2)) {
        TrySome(30, [&](TuningParameters& p) { ShuffleReduction(p); });
      } else {
        TrySome(8, [&](TuningParameters& p) { ShareReduction(p); });
      }
    }
    ChooseOrders();
    ChooseAssignment();
    if (m_.memory == MemoryKind::kExplicit) ChooseMemory();
    ChooseCode();
    if (OneIn(10)) ChoosePhases();
    return p_;
  }

 private:
  bool OneIn(int64_t n) { return Below(rng_, n) == 0; }
  bool IsValid(const TuningParameters& p) const { return Validate(e_, m_, device_, p).ok(); }
  // Makes the change if the result is valid.
  bool Try(const std::function<void(TuningParameters&)>& change) {
    TuningParameters changed = p_;
    change(changed);
    if (!IsValid(changed)) return false;
    p_ = std::move(changed);
    return true;
  }
  // One of several random changes, unless all are invalid.
  void TrySome(int tries, const std::function<void(TuningParameters&)>& change) {
    for (int n = 0; n < tries && !Try(change); ++n) {
    }
  }

  // ---- Tiles ----

  bool Start(NumericsPolicy numerics) {
    p_.numerics = numerics;
    p_.system_model = m_.name;
    p_.phase.order = NestedOrder(
        std::vector<std::vector<int>>(layers_, Identity(static_cast<size_t>(e_.rank()))));
    p_.phase.assignment = PlainAssignment(p_.phase.order);
    for (const Buffer& buffer : e_.inputs()) {
      p_.inputs.push_back({.layout = Identity(buffer.extents.size())});
    }
    p_.tile.assign(layers_, std::vector<int64_t>(e_.rank(), 1));
    constexpr int kTries = 60;
    for (int n = 0; n < kTries; ++n) {
      // Later tries use fewer levels: they are valid more often.
      for (int d = 0; d < e_.rank(); ++d) ChooseTiles(d, n >= kTries / 2);
      ChooseResults();
      if (IsValid(p_)) return true;
    }
    for (int d = 0; d < e_.rank(); ++d) PlainTiles(d);
    if (IsValid(p_)) return true;
    // Loops of reductions around results in registers, which the order of values may ask for.
    KeepResultsInRegisters();
    return IsValid(p_);
  }

  void KeepResultsInRegisters() {
    LevelTable<int> regions(layers_, std::vector<int>(e_.rank(), regions_ - 1));
    for (int l = 0; l < layers_ && m_.layers[l].memory_region.empty(); ++l) {
      regions[l].assign(e_.rank(), 0);
    }
    p_.outputs.assign(e_.outputs().size(), {regions, {}});
  }

  // Policies that keep the order of values are rarely valid with results in device memory.
  void ChooseResults() {
    p_.outputs.clear();
    if (m_.memory != MemoryKind::kExplicit || p_.numerics == NumericsPolicy::kReassociate) return;
    if (!OneIn(4)) KeepResultsInRegisters();
  }

  // Extents of parts from part counts, the innermost layer's first; `rest` is the layer that takes
  // what is left.
  void SetTiles(TuningParameters* p, int d, const std::vector<int64_t>& parts, int rest) const {
    int64_t extent = 1;
    for (int l = layers_ - 1; l >= 0; --l) {
      p->tile[l][d] = extent;
      extent = l == rest ? size(d) : std::min(size(d), extent * parts[l]);
    }
  }

  void ChooseTiles(int d, bool plainly) {
    const bool is_ordered =
        p_.numerics != NumericsPolicy::kReassociate && !e_.combine_operators()[d].is_concat();
    if (is_ordered && (plainly || OneIn(2))) return PlainTiles(d);
    std::vector<int64_t> parts(layers_);
    for (int l = 0; l < layers_; ++l) {
      const bool is_parallel = m_.layers[l].memory_region.empty();
      // Reductions are mostly loops.
      const bool is_one = e_.is_reduction(d) && is_parallel ? !OneIn(3) : OneIn(3);
      parts[l] = is_one || (plainly && OneIn(2)) ? 1 : AnyOf(rng_, kParts);
    }
    SetTiles(&p_, d, parts, static_cast<int>(Below(rng_, layers_)));
  }

  // Points of the result in blocks, the others in the loops of the outermost memory layer; parts of
  // the cores as the policy says.
  void PlainTiles(int d) {
    const bool is_concat = e_.combine_operators()[d].is_concat();
    const int64_t part = is_concat ? 1 : OrderedPart(e_, p_.numerics, d);
    for (int l = 0; l < layers_; ++l) p_.tile[l][d] = 1;
    for (int l = 0; l < layers_ && m_.layers[l].memory_region.empty(); ++l) p_.tile[l][d] = part;
  }

  // Threads along a reduced dimension, which combine in device memory, shared memory or by
  // shuffles: chance alone finds these rarely.
  void ShareReduction(TuningParameters& p) {
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

  // Neighbouring threads of whole warps along a reduced dimension, which combine by shuffles.
  void ShuffleReduction(TuningParameters& p) {
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

  // ---- Orders and assignments ----

  LevelTable<AsmLevel> PlainAssignment(const std::vector<MdhLevel>& order) const {
    LevelTable<AsmLevel> assignment(layers_, std::vector<AsmLevel>(e_.rank()));
    std::vector<int> next(layers_, 0);
    for (const MdhLevel& level : order) {
      assignment[level.layer][level.dimension] = {level.layer, next[level.layer]++};
    }
    return assignment;
  }

  std::vector<MdhLevel> RandomOrder() {
    std::vector<MdhLevel> order = p_.phase.order;
    const int64_t kind = Below(rng_, 4);
    if (kind < 2) {  // nested: every layer's dimensions in an order of their own
      std::vector<std::vector<int>> orders;
      for (int l = 0; l < layers_; ++l) {
        orders.push_back(Identity(static_cast<size_t>(e_.rank())));
        Shuffle(rng_, orders.back());
      }
      return NestedOrder(orders);
    }
    if (kind == 2) {
      Shuffle(rng_, order);
      return order;
    }
    // Some neighbours swapped.
    for (int64_t n = 1 + Below(rng_, 2 * layers_); n > 0; --n) {
      const int64_t at = Below(rng_, static_cast<int64_t>(order.size()) - 1);
      std::swap(order[at], order[at + 1]);
    }
    return order;
  }

  void ChooseOrders() {
    if (OneIn(5)) return;
    TrySome(4, [&](TuningParameters& p) { p.phase.order = RandomOrder(); });
  }

  LevelTable<AsmLevel> RandomAssignment(LevelTable<AsmLevel> assignment) {
    for (std::vector<AsmLevel>& layer : assignment) {
      if (OneIn(2)) continue;
      std::vector<int> dimensions;
      for (const AsmLevel& level : layer) dimensions.push_back(level.dimension);
      Shuffle(rng_, dimensions);
      for (size_t d = 0; d < layer.size(); ++d) layer[d].dimension = dimensions[d];
    }
    for (int64_t n = Below(rng_, 3); n > 0; --n) {  // layers swapped within a dimension
      const int64_t d = Below(rng_, e_.rank());
      std::swap(assignment[Below(rng_, layers_)][d], assignment[Below(rng_, layers_)][d]);
    }
    return assignment;
  }

  void ChooseAssignment() {
    if (OneIn(3)) return;
    TrySome(
        4, [&](TuningParameters& p) { p.phase.assignment = RandomAssignment(p.phase.assignment); });
  }

  // ---- Memory ----

  // Any place, or one right inside of a loop: there, copies can be double-buffered.
  size_t RandomPlace() {
    const NestShape shape(e_, m_, p_);
    std::vector<size_t> inside;
    for (int n = 0; n + 1 < shape.count(); ++n) {
      if (!shape.is_parallel(n) && shape.levels()[n].parts > 1) inside.push_back(n + 1);
    }
    return inside.empty() || OneIn(2) ? static_cast<size_t>(Below(rng_, shape.count()))
                                      : AnyOf(rng_, inside);
  }

  // Regions that get faster, going inwards: each begins at a random place, or nowhere.
  LevelTable<int> RandomRegions() {
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

  // A layout of its own for every region but the outermost.
  LevelTable<std::vector<int>> RandomLayouts(const LevelTable<int>& regions, size_t rank) {
    std::vector<std::vector<int>> of_region(regions_, Identity(rank));
    for (int region = 1; region < regions_; ++region) Shuffle(rng_, of_region[region]);
    LevelTable<std::vector<int>> layouts(layers_, std::vector<std::vector<int>>(e_.rank()));
    for (int l = 0; l < layers_; ++l) {
      for (int d = 0; d < e_.rank(); ++d) layouts[l][d] = of_region[regions[l][d]];
    }
    return layouts;
  }

  void ChooseMemory() {
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
          p.outputs[b].layouts =
              RandomLayouts(p.outputs[b].regions, e_.outputs()[b].extents.size());
        }
      });
    }
  }

  void ChooseCopy(size_t b) {
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

  // With a width, padding and layout that asynchronous copies may have.
  void MakeAsynchronous(TuningParameters& p, size_t b) {
    InputParameters& input = p.inputs[b];
    input.copy_mode = CopyMode::kAsynchronous;
    input.copy_stages = 2 + static_cast<int>(Below(rng_, InputParameters::kMaxAsyncStages - 1));
    if (OneIn(3)) return;
    input.memory.layouts.clear();
    input.copy_width = 1 << Below(rng_, 4);
    input.padding = input.copy_width * static_cast<int>(Below(rng_, 3));
  }

  // Blocks along all dimensions that results are kept along: chance alone rarely gives the grid
  // several rows.
  void SwizzleBlocks(TuningParameters& p) {
    for (int d = 0; d < e_.rank(); ++d) {
      if (!e_.combine_operators()[d].is_concat()) continue;
      std::vector<int64_t> parts(layers_, 1);
      parts[Below(rng_, layers_)] = AnyOf(rng_, kParts);
      SetTiles(&p, d, parts, 0);
    }
    p.swizzle = 2 << Below(rng_, 3);
  }

  void ChooseCode() {
    // The usual assignment, given or not: levels are a lowering of their own.
    if (m_.memory == MemoryKind::kCaches && OneIn(3)) {
      Try([](TuningParameters& p) { p.phase.assignment.clear(); });
    }
    if (m_.memory == MemoryKind::kCaches && OneIn(2)) {
      p_.threads = 1 + static_cast<int>(Below(rng_, 3));
    }
    Try([&](TuningParameters& p) { p.unroll = AnyOf(rng_, std::vector{1, 2, 8, 64, 300}); });
    if (m_.memory == MemoryKind::kExplicit && e_.has_prefix_sum() && !OneIn(3)) {
      TrySome(4, [&](TuningParameters& p) {
        p.scan = {.threads = 32 << Below(rng_, 4),
                  .rounds = 1 << Below(rng_, 4),
                  .run = 1 << Below(rng_, 4)};
      });
    }
    if (m_.memory == MemoryKind::kExplicit && FindKeyedForm(e_).ok() && !OneIn(8)) {
      TrySome(6, [&](TuningParameters& p) {
        p.keyed = {.threads = 4 << Below(rng_, 8),
                   .rounds = 1 << Below(rng_, 3),
                   .run = 1 << Below(rng_, 4),
                   .tiles = 1 + static_cast<int>(Below(rng_, 3)),
                   .copies = 1 << Below(rng_, 4)};
      });
    }
    if (OneIn(4)) {
      Try([&](TuningParameters& p) {
        for (const Buffer& buffer : e_.inputs()) p.scalar_inputs.push_back(RandomScalar(buffer));
        for (const Buffer& buffer : e_.outputs()) p.scalar_outputs.push_back(RandomScalar(buffer));
      });
    }
    if (m_.memory == MemoryKind::kExplicit && !OneIn(3)) {
      TrySome(6, [&](TuningParameters& p) { ArrangeLanes(p); });
    }
    if (HasResidentBlocks(device_) && OneIn(2)) {
      TrySome(3, [&](TuningParameters& p) {
        p.resident_blocks = 1 + static_cast<int>(Below(rng_, kMaxResidentBlocks));
      });
    }
    if (m_.memory == MemoryKind::kExplicit && OneIn(2)) {
      TrySome(6, [&](TuningParameters& p) { SwizzleBlocks(p); });
    }
    if (HasEarlyLaunches(device_) && OneIn(2)) {
      p_.early_launches = OneIn(4) ? EarlyLaunches::kNone : EarlyLaunches::kCalls;
    }
    for (const CombineBlocks how : {CombineBlocks::kLastBlock, CombineBlocks::kCluster}) {
      if (!CooperationObstacle(e_, device_, p_.numerics, how).empty() || !OneIn(3)) continue;
      TrySome(8, [&](TuningParameters& p) {
        CombineInBlocks(p, how);
        Cooperate(p);
      });
      if (p_.combine_blocks == how) return;
    }
    if (AtomicsObstacle(e_, device_, p_.numerics).empty() && !OneIn(4)) {
      TrySome(8, [&](TuningParameters& p) { CombineInBlocks(p, CombineBlocks::kAtomics); });
    }
  }

  // Tiles of lanes that divide the threads of a block.
  void ArrangeLanes(TuningParameters& p) {
    const NestShape shape(e_, m_, p);
    p.lanes.assign(e_.rank(), 1);
    for (int n = 0; n < shape.count(); ++n) {
      if (!shape.is_thread(n)) continue;
      const NestShape::Level& level = shape.levels()[n];
      const int64_t lanes = shape.IsShuffled(n) ? level.parts : int64_t{1} << Below(rng_, 4);
      p.lanes[level.assigned.dimension] = std::gcd(level.parts, lanes);
    }
  }

  // Blocks that combine so; if need be, there are more of them along a reduced dimension.
  void CombineInBlocks(TuningParameters& p, CombineBlocks how) {
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

  // Blocks outside of threads, these outside of loops, around which results are in registers;
  // blocks along reductions have axes of their own, and are few where they are clusters.
  void Cooperate(TuningParameters& p) {
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

  ScalarMemory RandomScalar(const Buffer& buffer) {
    std::vector<int> layout = Identity(buffer.extents.size());
    Shuffle(rng_, layout);
    return {static_cast<int>(Below(rng_, regions_)), std::move(layout)};
  }

  // ---- Phases ----

  void ChoosePhases() {
    TrySome(4, [&](TuningParameters& p) {
      if (OneIn(2)) p.scalar_phase = RandomPhase();
      if (!p.scalar_phase || OneIn(2)) p.recomposition_phase = RandomPhase();
    });
  }

  PhaseParameters RandomPhase() {
    PhaseParameters phase;
    phase.order = RandomOrder();
    phase.assignment = PlainAssignment(phase.order);
    if (OneIn(2)) phase.assignment = RandomAssignment(std::move(phase.assignment));
    return phase;
  }

  int64_t size(int d) const { return e_.dimensions()[d].size; }

  const std::vector<int64_t> kParts = {2, 2, 2, 3, 4, 4, 5, 7, 8, 16, 32};

  Rng& rng_;
  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const int layers_, regions_;
  TuningParameters p_;
};

}  // namespace

std::optional<TuningParameters> RandomNestParameters(Rng& rng, const Expression& expression,
                                                     const SystemModel& model,
                                                     const DeviceDescription& device,
                                                     NumericsPolicy numerics) {
  return Walk(rng, expression, model, device).Run(PolicyFor(expression, numerics));
}

}  // namespace mdh
