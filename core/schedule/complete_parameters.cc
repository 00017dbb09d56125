#include "core/schedule/complete_parameters.h"

#include <algorithm>
#include <utility>

#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

// Takes the first value that each decision names. Where threads stand among the loops is not said,
// as it has no effect; but regions only get faster, so that not every place is right.
class Completion {
 public:
  Completion(const Schedule& schedule, const Expression& divided, NumericsPolicy numerics)
      : schedule_(schedule),
        divided_(divided),
        model_(schedule.model()),
        p_(SinglePoints(divided, model_, numerics)) {
    p_.fused = schedule.fused();
    ReadTiles();
    ReadChoices();
  }

  // The places that threads can have: behind so many loops.
  int places() const {
    const bool has_threads = model_.memory == MemoryKind::kExplicit;
    return has_threads ? static_cast<int>(Loops().size()) + 1 : 1;
  }

  TuningParameters WithThreadsBehind(int loops) {
    TuningParameters p = p_;
    p.phase = PhaseWith(loops);
    if (model_.memory != MemoryKind::kExplicit) return p;
    for (size_t b = 0; b < p.inputs.size(); ++b) {
      SetRegions(static_cast<int>(b), /*is_output=*/false, p.phase, &p.inputs[b].memory);
      SetLayouts(static_cast<int>(b), &p.inputs[b].memory);
    }
    p.outputs.resize(divided_.outputs().size());
    for (MemoryParameters& output : p.outputs) SetRegions(0, true, p.phase, &output);
    return p;
  }

 private:
  int layers() const { return static_cast<int>(model_.layers.size()); }
  bool is_core(int layer) const {
    return model_.layers[layer].memory_region.empty() &&
           model_.layers[layer].role != LayerRole::kLanes;
  }
  int64_t Parts(int l, int d) const {
    const int64_t outer = l == 0 ? divided_.dimensions()[d].size : p_.tile[l - 1][d];
    return (outer + p_.tile[l][d] - 1) / p_.tile[l][d];
  }

  static std::optional<ChoiceValue> First(const Decision& decision) {
    const std::vector<ChoiceValue> named = decision.values.Named(1);
    return named.empty() ? std::nullopt : std::optional(named[0]);
  }

  // What is not said is between equal extents.
  void ReadTiles() {
    LevelTable<int64_t> tile(layers(), std::vector<int64_t>(divided_.rank(), 0));
    for (const Decision& decision : schedule_.decisions()) {
      if (decision.kind != Kind::kTile) continue;
      if (const auto value = First(decision))
        tile[decision.layer][decision.dimension] = (*value)[0];
    }
    for (int d = 0; d < divided_.rank(); ++d) {
      int64_t inner = 1;
      for (int l = layers() - 1; l >= 0; --l) {
        if (tile[l][d] < 1) tile[l][d] = inner;
        inner = tile[l][d];
      }
    }
    p_.tile = std::move(tile);
  }

  void ReadChoices() {
    for (const Decision& decision : schedule_.decisions()) {
      const std::optional<ChoiceValue> value = First(decision);
      if (!value.has_value()) continue;
      if (decision.kind == Kind::kOption) decision.option->set(*value, &p_);
      if (decision.buffer < 0 || decision.is_output) continue;
      InputParameters& input = p_.inputs[decision.buffer];
      const auto number = value->empty() ? 0 : static_cast<int>((*value)[0]);
      if (decision.kind == Kind::kCopy) input.stage_layer = number;
      if (decision.kind == Kind::kStrips) input.strip_dimension = number;
      if (decision.kind == Kind::kPadding) input.padding = number;
      if (decision.kind == Kind::kWidth) input.copy_width = number;
      if (decision.kind == Kind::kStages) input.copy_stages = number;
      if (decision.kind == Kind::kMode) input.copy_mode = static_cast<CopyMode>(number);
      if (decision.kind == Kind::kLayout && decision.region < 0) {
        input.layout.assign(value->begin(), value->end());
      }
    }
    ReadLanes();
  }

  void ReadLanes() {
    bool is_tiled = false;
    std::vector<int64_t> lanes(divided_.rank(), 1);
    for (const Decision& decision : schedule_.decisions()) {
      const std::optional<ChoiceValue> value = First(decision);
      if (decision.kind != Kind::kLanes || !value.has_value()) continue;
      is_tiled = is_tiled || (*value)[0] != Parts(decision.layer, decision.dimension);
      const int axis = AxisOf({decision.layer, decision.dimension}).value_or(0);
      lanes[static_cast<size_t>(axis)] = (*value)[0];
    }
    if (is_tiled) p_.lanes = std::move(lanes);
  }

  std::optional<int> AxisOf(MdhLevel level) const {
    for (const Decision& decision : schedule_.decisions()) {
      if (decision.kind != Kind::kAxis || decision.layer != level.layer) continue;
      if (decision.dimension != level.dimension) continue;
      if (const auto value = First(decision)) return static_cast<int>((*value)[0]);
    }
    return std::nullopt;
  }

  // Loops with several parts in the order that is said, within layers or across them.
  std::vector<MdhLevel> Loops() const {
    std::vector<MdhLevel> loops;
    for (int l = 0; l < layers(); ++l) {
      if (is_core(l)) continue;
      for (int d = 0; d < divided_.rank(); ++d) {
        if (Parts(l, d) > 1) loops.push_back({l, d});
      }
    }
    for (const Decision& decision : schedule_.decisions()) {
      if (decision.kind != Kind::kOrder) continue;
      const auto place = [&](const MdhLevel& level) {
        return std::ranges::find(decision.before, level) - decision.before.begin();
      };
      const auto is_said = [&](const MdhLevel& level) {
        return place(level) < std::ssize(decision.before);
      };
      std::vector<MdhLevel> said;
      std::ranges::copy_if(loops, std::back_inserter(said), is_said);
      std::ranges::sort(said,
                        [&](const MdhLevel& a, const MdhLevel& b) { return place(a) < place(b); });
      auto next = said.begin();
      for (MdhLevel& loop : loops) {
        if (is_said(loop)) loop = *next++;
      }
    }
    return loops;
  }

  // The dimensions of a layer of cores along its axes, those with several parts first.
  std::vector<int> Axes(int layer) const {
    std::vector<int> axes(divided_.rank());
    for (int d = 0; d < divided_.rank(); ++d) axes[d] = d;
    std::ranges::stable_sort(axes, [&](int a, int b) {
      const bool has_a = Parts(layer, a) > 1, has_b = Parts(layer, b) > 1;
      if (has_a != has_b) return has_a;
      return AxisOf({layer, a}).value_or(0) < AxisOf({layer, b}).value_or(0);
    });
    return axes;
  }

  PhaseParameters PhaseWith(int loops_before) const {
    const std::vector<MdhLevel> loops = Loops();
    PhaseParameters phase;
    const bool is_explicit = model_.memory == MemoryKind::kExplicit;
    const auto add_cores = [&](int l) {
      for (const int d : Axes(l)) phase.order.push_back({l, d});
    };
    if (!is_explicit) return {CacheOrder(loops), {}};
    add_cores(0);
    for (int n = 0; n <= std::ssize(loops); ++n) {
      for (int l = 1; n == loops_before && l < layers(); ++l) {
        if (is_core(l)) add_cores(l);
      }
      if (n < std::ssize(loops)) phase.order.push_back(loops[n]);
    }
    phase.assignment.assign(layers(), std::vector<AsmLevel>(divided_.rank()));
    for (int l = 0; l < layers(); ++l) {
      const std::vector<int> axes = Axes(l);
      for (int n = 0; n < divided_.rank(); ++n) {
        const int d = is_core(l) ? axes[n] : n;
        phase.assignment[l][d] = {l, n};
        const MdhLevel level = {l, d};
        const bool is_known = std::ranges::find(phase.order, level) != phase.order.end();
        if (!is_known) phase.order.push_back(level);
      }
    }
    return phase;
  }

  // Layers are nested unless loops are not.
  std::vector<MdhLevel> CacheOrder(const std::vector<MdhLevel>& loops) const {
    std::vector<MdhLevel> order;
    const auto has = [&](MdhLevel level) { return std::ranges::find(order, level) != order.end(); };
    const bool is_nested = std::ranges::is_sorted(loops, {}, &MdhLevel::layer);
    for (const int d : Axes(0)) order.push_back({0, d});
    if (!is_nested) order.insert(order.end(), loops.begin(), loops.end());
    for (int l = 0; l < layers(); ++l) {
      for (const MdhLevel& loop : loops) {
        if (loop.layer == l && !has(loop)) order.push_back(loop);
      }
      for (int d = 0; d < divided_.rank(); ++d) {
        if (!has({l, d})) order.push_back({l, d});
      }
    }
    return order;
  }

  // From each loop that is named inwards, all levels are in its region.
  void SetRegions(int buffer, bool is_output, const PhaseParameters& phase,
                  MemoryParameters* memory) const {
    memory->regions.assign(layers(), std::vector<int>(divided_.rank(), 0));
    const size_t last_loop = LastLoop(phase);
    int region = 0;
    for (size_t n = 0; n < phase.order.size(); ++n) {
      const MdhLevel& level = phase.order[n];
      for (const Decision& decision : schedule_.decisions()) {
        if (decision.buffer != buffer || decision.is_output != is_output) continue;
        for (const RegionStep& step : decision.steps) {
          const bool is_from =
              step.from == RegionStep::kInside ? n > last_loop : step.from == level;
          if (is_from) region = std::max(region, step.region);
        }
        if (decision.kind != Kind::kCombine || decision.layer != level.layer) continue;
        const std::optional<ChoiceValue> value = First(decision);
        if (decision.dimension == level.dimension && value.has_value()) {
          region = std::max(region, static_cast<int>((*value)[0]));
        }
      }
      memory->regions[level.layer][level.dimension] = region;
    }
  }

  size_t LastLoop(const PhaseParameters& phase) const {
    size_t last = 0;
    for (size_t n = 0; n < phase.order.size(); ++n) {
      const auto [l, d] = phase.order[n];
      if (l == 0 || Parts(l, d) > 1) last = n;
    }
    return last;
  }

  void SetLayouts(int buffer, MemoryParameters* memory) const {
    for (const Decision& decision : schedule_.decisions()) {
      if (decision.kind != Kind::kLayout || decision.buffer != buffer) continue;
      const std::optional<ChoiceValue> value = First(decision);
      if (!value.has_value() || std::ranges::is_sorted(*value)) continue;
      if (memory->layouts.empty()) {
        memory->layouts.assign(layers(), std::vector<std::vector<int>>(
                                             divided_.rank(), RowMajor(divided_.inputs()[buffer])));
      }
      for (int l = 0; l < layers(); ++l) {
        for (int d = 0; d < divided_.rank(); ++d) {
          if (memory->regions[l][d] != decision.region) continue;
          memory->layouts[l][d].assign(value->begin(), value->end());
        }
      }
    }
  }

  const Schedule& schedule_;
  const Expression& divided_;
  const SystemModel& model_;
  TuningParameters p_;
};

}  // namespace

std::vector<TuningParameters> SaidParameters(const Schedule& schedule, const Expression& divided,
                                             NumericsPolicy numerics) {
  Completion completion(schedule, divided, PolicyFor(schedule.expression(), numerics));
  const std::string text = schedule.CanonicalText();
  std::vector<TuningParameters> said;
  for (int place = 0; place < completion.places(); ++place) {
    TuningParameters p = completion.WithThreadsBehind(place);
    const bool is_decomposition = ValidateShapes(divided, schedule.model(), p).ok() &&
                                  ValidateExtents(divided, schedule.model(), p).ok();
    if (!is_decomposition) continue;
    const Schedule whole = Schedule::Of(p, schedule.expression(), schedule.model());
    if (whole.CanonicalText() == text) said.push_back(std::move(p));
  }
  return said;
}

std::optional<TuningParameters> CompleteParameters(const Schedule& schedule,
                                                   const DeviceDescription& device,
                                                   NumericsPolicy numerics) {
  const Result<Expression> divided = FuseDimensions(schedule.expression(), schedule.fused());
  if (!divided.ok() || divided->is_empty()) return std::nullopt;
  for (TuningParameters& p : SaidParameters(schedule, *divided, numerics)) {
    if (Validate(schedule.expression(), schedule.model(), device, p).ok()) return std::move(p);
  }
  return std::nullopt;
}

}  // namespace mdh
