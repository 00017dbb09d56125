// The walk: tiles, orders, code and phases.
#include "tests/random_parameters.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/decomposition/constraints.h"
#include "core/decomposition/keyed_form.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/nest_shape.h"
#include "core/expression/dependences.h"
#include "tests/random_parameter_walk.h"

namespace mdh {
ParameterWalk::ParameterWalk(Rng& rng, const Expression& expression, const SystemModel& model,
                             const DeviceDescription& device)
    : rng_(rng),
      e_(expression),
      m_(model),
      device_(device),
      layers_(static_cast<int>(model.layers.size())),
      regions_(static_cast<int>(model.memory_regions().size())) {}

std::vector<int> ParameterWalk::Identity(size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

bool ParameterWalk::IsValid(const TuningParameters& p) const {
  return Validate(e_, m_, device_, p).ok();
}

bool ParameterWalk::Try(const std::function<void(TuningParameters&)>& change) {
  TuningParameters changed = p_;
  change(changed);
  if (!IsValid(changed)) return false;
  p_ = std::move(changed);
  return true;
}

void ParameterWalk::TrySome(int tries, const std::function<void(TuningParameters&)>& change) {
  for (int n = 0; n < tries && !Try(change); ++n) {
  }
}

std::optional<TuningParameters> ParameterWalk::Run(NumericsPolicy numerics) {
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

bool ParameterWalk::Start(NumericsPolicy numerics) {
  p_.numerics = numerics;
  p_.system_model = m_.name;
  p_.phase.order =
      NestedOrder(std::vector<std::vector<int>>(layers_, Identity(static_cast<size_t>(e_.rank()))));
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

void ParameterWalk::KeepResultsInRegisters() {
  LevelTable<int> regions(layers_, std::vector<int>(e_.rank(), regions_ - 1));
  for (int l = 0; l < layers_ && m_.layers[l].memory_region.empty(); ++l) {
    regions[l].assign(e_.rank(), 0);
  }
  p_.outputs.assign(e_.outputs().size(), {regions, {}});
}

void ParameterWalk::ChooseResults() {
  p_.outputs.clear();
  if (m_.memory != MemoryKind::kExplicit || p_.numerics == NumericsPolicy::kReassociate) return;
  if (!OneIn(4)) KeepResultsInRegisters();
}

void ParameterWalk::SetTiles(TuningParameters* p, int d, const std::vector<int64_t>& parts,
                             int rest) const {
  int64_t extent = 1;
  for (int l = layers_ - 1; l >= 0; --l) {
    p->tile[l][d] = extent;
    extent = l == rest ? size(d) : std::min(size(d), extent * parts[l]);
  }
}

void ParameterWalk::ChooseTiles(int d, bool plainly) {
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

void ParameterWalk::PlainTiles(int d) {
  const bool is_concat = e_.combine_operators()[d].is_concat();
  const int64_t part = is_concat ? 1 : OrderedPart(e_, p_.numerics, d);
  for (int l = 0; l < layers_; ++l) p_.tile[l][d] = 1;
  for (int l = 0; l < layers_ && m_.layers[l].memory_region.empty(); ++l) p_.tile[l][d] = part;
}

LevelTable<AsmLevel> ParameterWalk::PlainAssignment(const std::vector<MdhLevel>& order) const {
  LevelTable<AsmLevel> assignment(layers_, std::vector<AsmLevel>(e_.rank()));
  std::vector<int> next(layers_, 0);
  for (const MdhLevel& level : order) {
    assignment[level.layer][level.dimension] = {level.layer, next[level.layer]++};
  }
  return assignment;
}

std::vector<MdhLevel> ParameterWalk::RandomOrder() {
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

void ParameterWalk::ChooseOrders() {
  if (OneIn(5)) return;
  TrySome(4, [&](TuningParameters& p) { p.phase.order = RandomOrder(); });
}

LevelTable<AsmLevel> ParameterWalk::RandomAssignment(LevelTable<AsmLevel> assignment) {
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

void ParameterWalk::ChooseAssignment() {
  if (OneIn(3)) return;
  TrySome(4,
          [&](TuningParameters& p) { p.phase.assignment = RandomAssignment(p.phase.assignment); });
}

void ParameterWalk::SwizzleBlocks(TuningParameters& p) {
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.combine_operators()[d].is_concat()) continue;
    std::vector<int64_t> parts(layers_, 1);
    parts[Below(rng_, layers_)] = AnyOf(rng_, kParts);
    SetTiles(&p, d, parts, 0);
  }
  p.swizzle = 2 << Below(rng_, 3);
}

void ParameterWalk::ChooseCode() {
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
  if (!ExchangeableDimensions(e_).empty() && OneIn(2)) {
    Try([](TuningParameters& p) { p.mirrors = true; });
  }
  if (HasAsyncCopies(device_) && !OneIn(4)) {
    Try([&](TuningParameters& p) {
      p.copy_overlap = OneIn(3) ? CopyOverlap::kCopies : CopyOverlap::kValues;
      p.unroll = 300;  // else loops that copies could be among are few
    });
  }
  if (HasEarlyLaunches(device_) && OneIn(2)) {
    p_.early_launches = OneIn(4)   ? EarlyLaunches::kNone
                        : OneIn(3) ? EarlyLaunches::kPrefetches
                                   : EarlyLaunches::kCalls;
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

void ParameterWalk::ArrangeLanes(TuningParameters& p) {
  const NestShape shape(e_, m_, p);
  p.lanes.assign(e_.rank(), 1);
  for (int n = 0; n < shape.count(); ++n) {
    if (!shape.is_thread(n)) continue;
    const NestShape::Level& level = shape.levels()[n];
    const int64_t lanes = shape.IsShuffled(n) ? level.parts : int64_t{1} << Below(rng_, 4);
    p.lanes[level.assigned.dimension] = std::gcd(level.parts, lanes);
  }
}

ScalarMemory ParameterWalk::RandomScalar(const Buffer& buffer) {
  std::vector<int> layout = Identity(buffer.extents.size());
  Shuffle(rng_, layout);
  return {static_cast<int>(Below(rng_, regions_)), std::move(layout)};
}

void ParameterWalk::ChoosePhases() {
  TrySome(4, [&](TuningParameters& p) {
    if (OneIn(2)) p.scalar_phase = RandomPhase();
    if (!p.scalar_phase || OneIn(2)) p.recomposition_phase = RandomPhase();
  });
}

PhaseParameters ParameterWalk::RandomPhase() {
  PhaseParameters phase;
  phase.order = RandomOrder();
  phase.assignment = PlainAssignment(phase.order);
  if (OneIn(2)) phase.assignment = RandomAssignment(std::move(phase.assignment));
  return phase;
}

std::optional<TuningParameters> RandomNestParameters(Rng& rng, const Expression& expression,
                                                     const SystemModel& model,
                                                     const DeviceDescription& device,
                                                     NumericsPolicy numerics) {
  return ParameterWalk(rng, expression, model, device).Run(PolicyFor(expression, numerics));
}

}  // namespace mdh
