#include "tests/property/pair_parameters.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/nest_shape.h"
#include "core/decomposition/unit_plan.h"
#include "core/expression/unreached_elements.h"
#include "core/text/printer.h"
#include "tests/random_parameters.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh {

namespace {

// What of matrix units is exercised.
void AddFeaturesOfUnit(const Expression& expression, const TuningParameters& p,
                       std::set<std::string>* features) {
  if (p.unit.rows == 0) return;
  const UnitPlan plan = CutForUnit(p.unit, p.combine_blocks, *PlanUnit(expression, p.numerics));
  const auto add = [&](bool has, const std::string& name) {
    if (has) features->insert("units: " + name);
  };
  add(true, "all");
  add(p.unit.parts > 1, "parts");
  add(plan.sharers > 1, "clusters");
  add(p.unit.groups > 1, "groups");
  add(p.unit.has_warps(), absl::StrCat("warps, m = ", p.unit.warps.m, ", k = ", p.unit.warps.k));
  add(true, absl::StrCat(Name(plan.a.held), " by ", Name(plan.b.held)));
  add(plan.is_converted(), absl::StrCat("products of ", Name(p.numerics)));
  add(plan.batches > 1, "batches");
  add(plan.form.factor.has_value(), "factors");
  add(plan.form.k.size() > 1, "several k");
  add(plan.form.m.size() > 1, "several m");
  add(plan.is_staged, "results of 16 bits");
  add(plan.ahead == plan.part_stages, "all stages at once");
  add(!p.unit.has_warps() && !plan.is_behind, "stages one after the other");
  add(plan.tiles_m * plan.tiles_n > 1, "several tiles");
  add(p.unit.producer == UnitProducer::kWarp, "a warp that copies");
  add(p.unit.producer == UnitProducer::kGroup, "a group that copies");
  add(p.unit.cluster_m > 1, "clusters along m");
  add(p.unit.cluster_n > 1, "clusters along n");
  for (const UnitOperandPlan* operand : {&plan.a, &plan.b}) {
    add(operand->is_across, "rows across k");
    add(operand->packed_row > 0, "packed");
    add(operand->is_tensor, "tensor copies");
    add(operand->is_tensor && operand->packed_row > 0, "tensor copies of what is packed");
    add(operand->is_computed, "computed");
    add(operand->is_made && operand->packed_row > 0, "packed of what is computed");
    add(true, absl::StrCat("copies of ", operand->width));
    const int buffer = expression.input_access(operand->parameter).buffer;
    add(expression.inputs()[buffer].boundary.kind != Boundary::Kind::kNone, "boundaries");
  }
}

}  // namespace

std::set<std::string> FeaturesOf(const Expression& separate, const SystemModel& model,
                                 const TuningParameters& p) {
  if (separate.is_empty()) return {"empty dimensions"};
  if (p.lowering == Lowering::kTiles) return {"register tiles"};
  const Expression expression = *WithFusedDimensions(separate, p);
  const NestShape shape(expression, model, p);
  std::set<std::string> features;
  const auto add = [&](bool has, const char* name) {
    if (has) features.insert(name);
  };
  add(!p.fused.empty(), "fused dimensions");
  for (int b = 0; b < static_cast<int>(separate.outputs().size()); ++b) {
    const UnreachedElements unreached = FindUnreached(separate, b);
    const bool is_kept = separate.outputs()[b].keeps_unreached;
    add(is_kept, "kept elements");
    add(!is_kept && !unreached.runs.empty(), "unreached elements");
    add(!is_kept && !unreached.is_exact, "unreached elements without a form");
  }
  add(!IsNested(p.phase), "interleaved");
  add(p.scalar_phase.has_value() || p.recomposition_phase.has_value(), "phases");
  for (int d = 0; d < expression.rank(); ++d) add(shape.IsGuarded(d), "guards");
  if (model.memory != MemoryKind::kExplicit) return features;
  add(p.scan.threads > 0, "scans in registers");
  add(p.keyed.threads > 0, "results by key");
  AddFeaturesOfUnit(expression, p, &features);
  add(shape.Slots() > 1, "slots");
  add(p.combine_blocks == CombineBlocks::kAtomics, "atomics");
  add(p.combine_blocks == CombineBlocks::kLastBlock, "last blocks");
  add(p.combine_blocks == CombineBlocks::kCluster, "clusters");
  add(p.resident_blocks > 0, "resident blocks");
  add(p.early_launches == EarlyLaunches::kCalls, "early calls");
  add(p.early_launches == EarlyLaunches::kPrefetches, "prefetches");
  add(p.copy_overlap == CopyOverlap::kCopies, "copies among points");
  add(p.copy_overlap == CopyOverlap::kValues, "values ahead");
  add(p.mirrors, "mirrored results");
  add(!p.lanes.empty(), "tiles of lanes");
  add(p.swizzle > 1 && shape.Grid()[1] % 2 == 0, "swizzled blocks");
  add(expression.store() != nullptr, "store functions");
  add(shape.SharedReductionThreads() > 1, "shared reduction");
  add(shape.NeedsPresence(), "results of no point");
  add(HasSeparateCopies(shape), "separate copies");
  add(shape.ShuffledThreads() > 1, "shuffles");
  add(shape.AccumulatorPlace() < shape.count(), "accumulators");
  add(shape.AccumulatesInSharedMemory(), "accumulators in shared memory");
  add(shape.ThreadsPerBlock() > 1, "threads");
  for (int n = 0; n < shape.count(); ++n) {
    const bool has_parts = shape.levels()[n].parts > 1;
    add(has_parts && shape.is_parallel(n) &&
            expression.is_prefix_sum(shape.levels()[n].level.dimension),
        "parallel prefix sums");
    add(shape.levels()[n].assigned.layer != shape.levels()[n].level.layer, "swapped layers");
  }
  for (const Buffer& input : expression.inputs()) {
    add(input.boundary.kind != Boundary::Kind::kNone, "borders");
  }
  for (int b = 0; b < static_cast<int>(p.inputs.size()); ++b) {
    for (const int place : shape.CopyPlaces(b)) {
      const bool is_shared = shape.InputRegion(b, place) == shape.shared_region();
      add(is_shared, "shared copies");
      add(!is_shared, "private copies");
      const bool is_asynchronous = p.inputs[b].copy_mode == CopyMode::kAsynchronous;
      add(is_shared && !is_asynchronous && p.inputs[b].copy_stages > 1, "double buffering");
      add(is_shared && is_asynchronous, "asynchronous copies");
      add(is_shared && p.inputs[b].copy_width > 1, "wide copies");
      const bool has_border = expression.inputs()[b].boundary.kind != Boundary::Kind::kNone;
      add(has_border && is_shared, "shared copies with borders");
      add(has_border && !is_shared, "private copies with borders");
    }
  }
  return features;
}

NumericsPolicy RandomNumerics(Rng& rng) {
  const uint64_t choice = Below(rng, 8);
  return choice == 0   ? NumericsPolicy::kExactOrder
         : choice == 1 ? NumericsPolicy::kFixedTree
                       : NumericsPolicy::kReassociate;
}

namespace {

// A sample of the search space; nullopt if there is no valid configuration. Errors: why there is no
// space, with everything to reproduce it.
Result<std::optional<TuningParameters>> SampleOfSpace(Rng& rng, const Expression& expression,
                                                      const SystemModel& model,
                                                      const DeviceDescription& device,
                                                      NumericsPolicy numerics) {
  const Result<MdhSpace> space = MdhSpace::Create(expression, model, device, numerics);
  if (space.ok()) return space->Decode(space->space().Sample(rng));
  // An empty space is right only where a walk finds nothing either.
  const bool is_empty = absl::IsFailedPrecondition(space.status());
  if (is_empty && !RandomNestParameters(rng, expression, model, device, numerics)) {
    return std::nullopt;
  }
  return absl::InternalError(
      absl::StrCat("no search space: ", space.status().message(), "\n", ToText(expression), "\n",
                   model.name, " numerics=", Name(numerics), "\n", device.Fingerprint()));
}

}  // namespace

Result<std::optional<TuningParameters>> RandomPairParameters(Rng& rng, const Expression& expression,
                                                             const SystemModel& model,
                                                             const DeviceDescription& device,
                                                             NumericsPolicy numerics,
                                                             const PairChoices& choices) {
  std::optional<TuningParameters> parameters;
  FusedDimensions groups;
  if (choices.fuses_dimensions) {
    const bool reductions = numerics == NumericsPolicy::kReassociate;
    groups = ContiguousDimensions(expression, /*plain=*/false, reductions);
  }
  MDH_ASSIGN_OR_RETURN(const Expression fused, FuseDimensions(expression, groups));
  if (choices.is_of_space) {
    MDH_ASSIGN_OR_RETURN(parameters, SampleOfSpace(rng, fused, model, device, numerics));
  } else {
    parameters = RandomNestParameters(rng, fused, model, device, numerics);
  }
  if (parameters) parameters->fused = std::move(groups);
  return parameters;
}

}  // namespace mdh
