#include "core/schedule/parameters_as_decisions.h"

#include <algorithm>
#include <utility>

#include "core/schedule/facts.h"
#include "core/schedule/printer.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

class Describer {
 public:
  Describer(const TuningParameters& parameters, const ScheduleNames& names)
      : p_(parameters), names_(names), facts_(names.expression(), names.model(), parameters) {}

  std::vector<Decision> Describe() {
    AddFused();
    AddTiles();
    AddOrders();
    AddCores();
    for (int b = 0; b < std::ssize(names_.expression().inputs()); ++b) {
      names_.is_explicit() ? AddCopies(b) : AddPackedCopy(b);
    }
    if (names_.is_explicit()) AddResults();
    for (const Choice& row : Choices()) AddOption(row);
    return std::move(decisions_);
  }

 private:
  int rank() const { return names_.expression().rank(); }

  Decision& Add(Kind kind) { return decisions_.emplace_back(Decision{.kind = kind}); }
  void AddValue(Kind kind, int layer, int d, int64_t value) {
    Decision& added = Add(kind);
    added.layer = layer;
    added.dimension = d;
    added.values = ValueSet({value});
  }
  void AddOfInput(Kind kind, int b, ChoiceValue value, int region = -1) {
    Decision& added = Add(kind);
    added.buffer = b;
    added.region = region;
    added.values = ValueSet(std::move(value));
  }

  // Dimensions that extents name are separate anyway.
  void AddFused() {
    for (const std::vector<int>& group : p_.fused) Add(Kind::kFuse).dimensions = group;
    std::vector<int> separate;
    for (int d = 0; d < rank(); ++d) {
      const bool is_fused = std::ranges::any_of(
          p_.fused, [&](const auto& group) { return std::ranges::find(group, d) != group.end(); });
      if (!is_fused && names_.expression().dimensions()[d].size <= 1) separate.push_back(d);
    }
    if (!separate.empty() && rank() > 1) Add(Kind::kSeparate).dimensions = separate;
  }

  // Extents between equal ones follow from those.
  void AddTiles() {
    const int layers = static_cast<int>(names_.model().layers.size());
    for (int d = 0; d < rank(); ++d) {
      for (int l = 0; l + 1 < layers; ++l) {
        if (facts_.Outer(l, d) != facts_.Tile(l + 1, d)) {
          AddValue(Kind::kTile, l, d, facts_.Tile(l, d));
        }
      }
    }
  }

  // Of loops: of each layer with tiles of registers, whose layers are nested, else across layers.
  // Of cores: their axes.
  void AddOrders() {
    const std::vector<MdhLevel>& loops = facts_.loops();
    if (p_.lowering != Lowering::kTiles) {
      if (loops.size() > 1) Add(Kind::kOrder).before = loops;
      return;
    }
    for (int l = 0; l < std::ssize(names_.model().layers); ++l) {
      std::vector<MdhLevel> of_layer;
      for (const MdhLevel& loop : loops) {
        if (loop.layer == l) of_layer.push_back(loop);
      }
      if (of_layer.size() < 2) continue;
      Decision& order = Add(Kind::kOrder);
      order.layer = l;
      order.before = std::move(of_layer);
    }
  }

  void AddCores() {
    for (const ScheduleFacts::Core& core : facts_.cores()) {
      const auto [layer, d] = core.level;
      const auto of_layer = std::ranges::count_if(
          facts_.cores(),
          [&](const ScheduleFacts::Core& other) { return other.level.layer == core.level.layer; });
      if (of_layer > 1) AddValue(Kind::kAxis, layer, d, core.axis);
      const bool is_thread = names_.model().layers[layer].role == LayerRole::kThreads;
      const bool has_warps = names_.model().LayerWith(LayerRole::kWarps) >= 0;
      if (is_thread && !has_warps) AddValue(Kind::kLanes, layer, d, core.lanes);
    }
  }

  // ---- Buffers ----

  void AddPackedCopy(int b) {
    const InputParameters& input = p_.inputs[b];
    // Only register tiles have copies.
    if (p_.lowering != Lowering::kTiles && input.stage_layer == InputParameters::kInPlace) return;
    AddOfInput(Kind::kCopy, b, {input.stage_layer});
    if (input.stage_layer == InputParameters::kInPlace) return;
    if (input.layout.size() > 1) {
      AddOfInput(Kind::kLayout, b, ChoiceValue(input.layout.begin(), input.layout.end()));
    }
    AddOfInput(Kind::kStrips, b, {input.strip_dimension});
  }

  MdhLevel LoopFrom(int around) const {
    return around < std::ssize(facts_.loops()) ? facts_.loops()[around] : RegionStep::kInside;
  }

  void AddCopies(int b) {
    const InputParameters& input = p_.inputs[b];
    std::vector<RegionStep> steps;
    for (const ScheduleFacts::Copy& copy : facts_.copies(b)) {
      steps.push_back({copy.region, LoopFrom(copy.around)});
    }
    Decision& regions = Add(Kind::kRegions);
    regions.buffer = b;
    regions.steps = std::move(steps);
    bool is_shared = false;
    for (const ScheduleFacts::Copy& copy : facts_.copies(b)) {
      is_shared = is_shared || copy.region == names_.SharedRegion();
      const bool is_usual = std::ranges::is_sorted(copy.layout);
      if (copy.layout.size() < 2 || (is_usual && copy.region != names_.SharedRegion())) continue;
      AddOfInput(Kind::kLayout, b, ChoiceValue(copy.layout.begin(), copy.layout.end()),
                 copy.region);
    }
    const InputParameters usual;
    if (is_shared || input.padding != usual.padding) AddOfInput(Kind::kPadding, b, {input.padding});
    if (is_shared || input.copy_width != usual.copy_width) {
      AddOfInput(Kind::kWidth, b, {input.copy_width});
    }
    if (is_shared || input.copy_stages != usual.copy_stages) {
      AddOfInput(Kind::kStages, b, {input.copy_stages});
    }
    if (is_shared || input.copy_mode != usual.copy_mode) {
      AddOfInput(Kind::kMode, b, {static_cast<int64_t>(input.copy_mode)});
    }
  }

  // All outputs are where the first one is.
  void AddResults() {
    std::vector<RegionStep> steps;
    const std::vector<int>& regions = facts_.loop_regions();
    for (size_t n = 0; n < regions.size(); ++n) {
      const int before = n == 0 ? 0 : regions[n - 1];
      if (regions[n] > before) steps.push_back({regions[n], facts_.loops()[n]});
    }
    const bool begins_shared = !steps.empty() && steps.front().region == names_.SharedRegion();
    if (facts_.accumulates_in_shared() && !begins_shared) {
      steps.insert(steps.begin(), {names_.SharedRegion(), RegionStep::kInside});
    }
    Decision& results = Add(Kind::kRegions);
    results.buffer = 0;
    results.is_output = true;
    results.steps = std::move(steps);
    for (const ScheduleFacts::Core& core : facts_.cores()) {
      if (!names_.expression().is_reduction(core.level.dimension)) continue;
      Decision& combined = Add(Kind::kCombine);
      combined.buffer = 0;
      combined.is_output = true;
      combined.layer = core.level.layer;
      combined.dimension = core.level.dimension;
      combined.values = ValueSet({core.region});
    }
  }

  // ---- Options ----

  // Whether other values than the default are possible for such an expression.
  bool HasAlternatives(const Choice& row) const {
    if (row.may_differ != nullptr) return row.may_differ(names_.expression(), p_);
    const LoweringTarget target = LoweringTargetOf(names_.model(), p_);
    return (row.lowerings & static_cast<uint8_t>(target)) != 0;
  }

  void AddOption(const Choice& row) {
    if (!names_.HasOption(row)) return;
    if (row.is_default(p_) && !HasAlternatives(row)) return;
    Decision& added = Add(Kind::kOption);
    added.option = &row;
    added.values = ValueSet(row.get(p_));
  }

  const TuningParameters& p_;
  const ScheduleNames& names_;
  const ScheduleFacts facts_;
  std::vector<Decision> decisions_;
};

}  // namespace

std::vector<Decision> AsDecisions(const TuningParameters& parameters, const ScheduleNames& names) {
  return Describer(parameters, names).Describe();
}

std::string ScheduleText(const TuningParameters& parameters, const Expression& divided,
                         const SystemModel& model) {
  if (!HasFusedPhases(parameters) || divided.is_empty()) return "";
  if (ScheduleFacts(divided, model, parameters).has_exchanged_layers()) return "";
  const ScheduleNames names(divided, model);
  return LinesText(AsDecisions(parameters, names), names);
}

}  // namespace mdh
