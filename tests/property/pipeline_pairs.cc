#include "tests/property/pipeline_pairs.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/choose/aligned_parts.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/touched_elements.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_halo.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/plan/plane_groups.h"
#include "core/pipeline/plan/row_groups.h"
#include "core/text/pipeline_printer.h"
#include "tests/core/pipeline/interpreted_pipeline.h"
#include "tests/property/pair_parameters.h"
#include "tests/random_contraction.h"
#include "tests/random_joint.h"
#include "tests/random_pipeline.h"
#include "tests/random_rows.h"
#include "tests/random_scaled.h"
#include "tests/random_stencils.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// Some buffers are called as steps call something of their own.
Pipeline WithNamesOfSteps(Rng& rng, const Pipeline& pipeline) {
  std::vector<std::string> names = {
      "i1",       "i2",     "in1",      "in2",   "out1", "out2",    "tid",     "i1_thr",
      "i1_blk",   "in1_sm", "t",        "item",  "run",  "word",    "in1_f32", "result",
      "in1_0",    "empty",  "slot",     "round", "gap",  "x1",      "y1",      "r1",
      "out1_acc", "flag",   "i1_begin", "part",  "lane", "out1_i32"};
  for (size_t n = names.size(); n > 1; --n) std::swap(names[n - 1], names[Below(rng, n)]);
  PipelineSpec spec = pipeline.spec();
  for (size_t b = 0; b < std::min(spec.buffers.size(), names.size()); ++b) {
    if (Below(rng, 4) != 0) spec.buffers[b].name = names[b];
  }
  Result<Pipeline> renamed = Pipeline::Create(std::move(spec));
  return renamed.ok() ? *std::move(renamed) : pipeline;
}

struct PartitionedPipeline {
  Pipeline given;
  Partition partition;
};

PartitionedPipeline Unfused(const Pipeline& pipeline) {
  return {pipeline, *PartitionWith(pipeline, EdgesOf(pipeline))};
}

// Every third has nan, infinities and other special values in its inputs.
bool HasSpecialInputs(uint64_t seed) { return seed % 3 == 1; }

// Every fourth has sums that are scaled by a maximum.
bool HasScaledSums(uint64_t seed) { return seed % 4 == 2; }

std::vector<int> AllAccesses(const Buffer& buffer) {
  std::vector<int> accesses(buffer.accesses.size());
  std::iota(accesses.begin(), accesses.end(), 0);
  return accesses;
}

// As it is, or fused in one of the ways that a plan has, which few random pipelines can be.
PartitionedPipeline RandomPartition(Rng& rng, Rng& names, uint64_t seed) {
  const bool has_special_values = HasSpecialInputs(seed);
  if (HasScaledSums(seed)) {
    const int64_t points = Below(rng, 3) == 0 ? 1 : 0;  // enough for threads to share, or few
    const Pipeline pipeline = WithNamesOfSteps(
        names, RandomScaledPipeline(rng, /*may_mask=*/!has_special_values, points));
    return {pipeline,
            AnyOf(rng, PlanPartitions(pipeline, {.max_partitions = 8, .may_reassociate = false}))};
  }
  RandomPipelineOptions options;
  options.keyed_one_in = 8;
  options.expression.special_values = has_special_values;
  options.expression.max_points = 1024;
  options.expression.max_rank = 4;
  options.expression.empty_one_in = 40;
  if (!has_special_values && Below(rng, 6) == 0) {
    // Of one step, in the orders that a plan has.
    constexpr RandomProductOptions kProducts[] = {{.most_factors = 3, .type = "fp32"},
                                                  {.most_factors = 5, .type = "fp64"},
                                                  {.most_factors = 5, .type = "int32"}};
    const Pipeline product =
        WithNamesOfSteps(names, RandomProduct(rng, kProducts[Below(rng, std::size(kProducts))]));
    return {product, AnyOf(rng, PlanPartitions(product, {.max_partitions = 8}))};
  }
  if (const int64_t kind = Below(rng, 8); kind < 3) {
    Pipeline special =
        WithNamesOfSteps(names, kind == 0 ? RandomStencilChain(rng) : RandomRowPipeline(rng));
    if (Below(rng, 2) == 0) return Unfused(special);
    std::vector<Partition> partitions =
        PlanPartitions(special, {.max_partitions = 16, .may_reassociate = !has_special_values});
    return {special, AnyOf(rng, partitions)};
  }
  if (Below(rng, 2) == 0) {
    options.expression.max_points = 256;
    options.expression.max_rank = 3;
    constexpr int64_t kPoints[] = {1, 2, 3, 4, 6, 7, 8, 12};
    const int64_t points = kPoints[Below(rng, std::size(kPoints))];
    Pipeline many =
        WithNamesOfSteps(names, WithCommonDimension(rng, RandomPipeline(rng, options), points));
    std::vector<Partition> partitions =
        PlanPartitions(many, {.max_partitions = 16, .may_reassociate = !has_special_values});
    return {many, AnyOf(rng, partitions)};
  }
  Pipeline pipeline = WithNamesOfSteps(names, RandomPipeline(rng, options));
  if (Below(rng, 3) == 0) return Unfused(pipeline);
  constexpr int kMostPartitions = 16, kMostPipelines = 30;
  std::vector<Partition> partitions;
  for (int n = 0; n < kMostPipelines && partitions.empty(); ++n) {
    pipeline = WithNamesOfSteps(names, RandomPipeline(rng, options));
    // In another order infinities of factors may or may not meet zeros.
    partitions = PlanPartitions(
        pipeline, {.max_partitions = kMostPartitions, .may_reassociate = !has_special_values});
    std::erase_if(partitions, [](const Partition& p) { return p.is_unfused(); });
  }
  if (partitions.empty()) return Unfused(pipeline);
  return {pipeline, AnyOf(rng, partitions)};
}

// Of rules, of the search space, or of a random walk.
Result<std::optional<TuningParameters>> ParametersOfStep(Rng& rng, const Expression& expression,
                                                         const SystemModel& model,
                                                         const DeviceDescription& device,
                                                         NumericsPolicy asked_for) {
  const NumericsPolicy numerics = PolicyFor(expression, asked_for);
  std::optional<TuningParameters> parameters;
  if (!expression.is_empty() && Below(rng, 4) != 0) {
    const PairChoices choices = {.is_of_space = Below(rng, 2) == 0,
                                 .fuses_dimensions = Below(rng, 4) == 0};
    MDH_ASSIGN_OR_RETURN(parameters,
                         RandomPairParameters(rng, expression, model, device, numerics, choices));
  }
  if (!parameters) parameters = DefaultParameters(expression, model, device, numerics);
  if (!Validate(expression, model, device, *parameters).ok()) return std::nullopt;
  return parameters;
}

// The same with half of the inputs copied whole, where that is valid: parts of a group may have
// such copies in common.
TuningParameters WithWholeCopies(Rng& rng, const Expression& expression, const SystemModel& model,
                                 const DeviceDescription& device, TuningParameters parameters) {
  if (parameters.lowering != Lowering::kTiles) return parameters;
  for (size_t b = 0; b < parameters.inputs.size(); ++b) {
    if (Below(rng, 2) == 0) continue;
    TuningParameters copied = parameters;
    copied.inputs[b].stage_layer = InputParameters::kWholeBuffer;
    if (Validate(expression, model, device, copied).ok()) parameters = std::move(copied);
  }
  return parameters;
}

// Parameters of every step of the pair; nullopt if one has none.
Result<std::optional<std::vector<TuningParameters>>> ParametersOfSteps(Rng& rng,
                                                                       const PipelinePair& pair,
                                                                       bool by_clang) {
  std::vector<TuningParameters> parameters;
  for (int s = 0; s < std::ssize(pair.computed); ++s) {
    bool is_joint = false, is_streamed = false;
    for (const JointGroup& group : pair.groups) {
      const bool is_within = s >= group.first && s <= group.last;
      is_joint |= is_within;
      is_streamed |= is_within && group.is_streamed();
    }
    const NumericsPolicy numerics =
        is_streamed ? NumericsPolicy::kReassociate : RandomNumerics(rng);
    MDH_ASSIGN_OR_RETURN(
        std::optional<TuningParameters> of_step,
        ParametersOfStep(rng, pair.computed[s], pair.model, pair.device, numerics));
    if (!of_step) return std::nullopt;
    if (pair.model.memory != MemoryKind::kExplicit) {
      of_step->compiler = by_clang ? Compiler::kClang : Compiler::kGcc;
      of_step->threads = static_cast<int>(std::max<int64_t>(Below(rng, 6) - 2, 0));
      if (is_joint) {
        *of_step = WithWholeCopies(rng, pair.computed[s], pair.model, pair.device, *of_step);
      }
    }
    parameters.push_back(*std::move(of_step));
  }
  return parameters;
}

// Steps of a group that suit each other: those of random ones that do, else by rules.
Result<bool> FindJointParameters(Rng& rng, bool by_clang, PipelinePair* pair) {
  constexpr int kTries = 12;
  const auto suit = [&] {
    return PipelineProgramOf(pair->partition, pair->model, pair->device, pair->parameters,
                             ProgramForm::kOptimized, pair->groups)
        .ok();
  };
  for (int n = 0; n < kTries; ++n) {
    MDH_ASSIGN_OR_RETURN(auto parameters, ParametersOfSteps(rng, *pair, by_clang));
    if (!parameters) return false;
    pair->parameters = *std::move(parameters);
    if (pair->groups.empty() || suit()) return true;
  }
  MDH_ASSIGN_OR_RETURN(pair->parameters,
                       DefaultParameters(pair->partition, pair->groups, pair->model, pair->device));
  return suit();
}

// A streamed group whose steps have threads in the same order, if one of some random ones can be.
bool FindAlignedGroup(Rng& rng, PipelinePair* pair) {
  constexpr int kTries = 40;
  constexpr int64_t kThreads[] = {32, 64, 128, 256};
  const std::vector<JointGroup> before = pair->groups;
  for (int n = 0; n < kTries; ++n) {
    pair->groups = RandomJointGroups(rng, pair->partition);
    const int64_t threads = kThreads[Below(rng, std::size(kThreads))];
    const bool is_streamed =
        pair->groups.size() == 1 && pair->groups[0].is_streamed() &&
        pair->groups[0].last - pair->groups[0].first + 1 == std::ssize(pair->partition.steps());
    if (!is_streamed) continue;
    const auto computed = ComputedPipelineOf(pair->partition, pair->groups);
    if (!computed.ok()) continue;
    const JointSteps& joint = computed->groups[0];
    const auto aligned = AlignParts(joint, pair->model, pair->device, threads);
    if (!aligned) continue;
    pair->parameters.resize(pair->partition.steps().size());
    for (int s = 0; s < joint.body; ++s) {
      pair->parameters[computed->given[joint.group.first + s]] = (*aligned)[s];
    }
    const bool has_code = PipelineProgramOf(pair->partition, pair->model, pair->device,
                                            pair->parameters, ProgramForm::kOptimized, pair->groups)
                              .ok();
    if (has_code) return true;
  }
  pair->groups = before;
  return false;
}

bool HasCode(const PipelinePair& pair, const JointGroup& group) {
  const std::vector<JointGroup> only = {group};
  const auto parameters = DefaultParameters(pair.partition, only, pair.model, pair.device);
  return parameters.ok() && PipelineProgramOf(pair.partition, pair.model, pair.device, *parameters,
                                              ProgramForm::kOptimized, only)
                                .ok();
}

// Most groups whose parts can be rows are computed so.
void ChooseRows(Rng& rng, PipelinePair* pair) {
  if (pair->model.memory != MemoryKind::kExplicit) return;
  constexpr int kTries = 8;
  for (JointGroup& group : pair->groups) {
    if (group.is_streamed()) continue;
    JointGroup rows = WithPart(pair->partition, group, 1);
    const Result<RowShape> shape = RowShapeOf(pair->partition, rows);
    if (!shape.ok() || Below(rng, 4) == 0) continue;
    for (int n = 0; n < kTries && !group.rows; ++n) {
      rows.rows = RandomRowLayout(rng, shape->length, pair->device);
      if (HasCode(*pair, rows)) group = rows;
    }
  }
}

// Most chains of stencils are computed plane after plane.
void ChoosePlanes(Rng& rng, PipelinePair* pair) {
  if (pair->model.memory != MemoryKind::kExplicit) return;
  constexpr int64_t kMostPlaces = 7, kMostBlocks = 2;
  for (JointGroup& group : pair->groups) {
    if (group.rows || group.is_streamed()) continue;
    const Result<PlaneShape> shape = PlaneShapeOf(pair->partition, group);
    if (!shape.ok() || Below(rng, 4) == 0) continue;
    const int64_t rows = shape->places.size() == 3 ? shape->places[1] : 1;
    JointGroup planes = group;
    planes.planes = {.column = 1 + Below(rng, std::min(rows, kMostPlaces))};
    if (HasResidentBlocks(pair->device)) planes.planes->resident = Below(rng, kMostBlocks + 1);
    if (HasCode(*pair, planes)) group = planes;
  }
}

}  // namespace

Result<std::optional<PipelinePair>> RandomPipelinePair(const JudgedBackend& backend,
                                                       uint64_t seed) {
  Rng rng(seed), names(seed + 1);
  auto [given, partition] = RandomPartition(rng, names, seed);
  SystemModel model = backend.RandomModel(rng);
  DeviceDescription device = backend.RandomDevice(rng);
  const bool by_clang = Below(rng, 2) == 0 && backend.has_clang();
  PipelinePair pair{.given = std::move(given),
                    .partition = std::move(partition.pipeline),
                    .edges = std::move(partition.edges),
                    .model = std::move(model),
                    .device = std::move(device),
                    .groups = {},
                    .computed = {},
                    .parameters = {},
                    .has_special_values = HasSpecialInputs(seed),
                    .inputs = {}};
  if (Below(rng, 4) != 0) pair.groups = RandomJointGroups(rng, pair.partition);
  ChooseRows(rng, &pair);
  ChoosePlanes(rng, &pair);
  pair.is_aligned = HasScaledSums(seed) && FindAlignedGroup(rng, &pair);
  MDH_ASSIGN_OR_RETURN(pair.computed, ComputedExpressions(pair.partition, pair.groups));
  if (!pair.is_aligned) {
    MDH_ASSIGN_OR_RETURN(const bool found, FindJointParameters(rng, by_clang, &pair));
    if (!found) return std::nullopt;
  }
  pair.inputs = pair.has_special_values ? RandomSpecialInputs(rng, pair.given)
                                        : RandomInputs(rng, pair.given);
  return pair;
}

void GenerateKernelOf(const JudgedBackend& /*backend*/, PipelinePair* pair) {
  pair->kernel = GeneratePipelineKernel(pair->partition, pair->model, pair->device,
                                        pair->parameters, pair->groups);
}

std::string JudgeKernelOf(JudgedBackend& backend, const PipelinePair& pair) {
  const auto expected = InterpretPipeline(pair.given, pair.inputs);
  if (!expected.ok()) return absl::StrCat("interpreting: ", expected.status().message());
  return std::string(
      backend.Judge(OutputsOf(pair.given), *pair.kernel, pair.inputs, *expected).message());
}

std::string Reproduction(const PipelinePair& pair) {
  std::string text = absl::StrCat("\n", ToText(pair.given), "\nas\n", ToText(pair.partition), "\n");
  for (const TuningParameters& p : pair.parameters) absl::StrAppend(&text, ToText(p), "\n");
  for (const JointGroup& group : pair.groups) {
    absl::StrAppend(&text, "steps ", group.first + 1, " to ", group.last + 1, " on parts of ",
                    absl::StrJoin(group.part, " x "), group.rows ? " in rows" : "",
                    group.planes ? absl::StrCat(" in columns of ", group.planes->column) : "",
                    ", chunks of ", group.chunk, ", ", group.splits, " splits\n");
  }
  return absl::StrCat(text, pair.device.Fingerprint(), "\n",
                      pair.kernel.ok() ? pair.kernel->source : "");
}

namespace {

// What of joint groups it exercises.
std::set<std::string> FeaturesOf(const PipelinePair& pair, const JointGroup& group) {
  std::set<std::string> features = {"joint groups"};
  const auto add = [&](bool has, const std::string& name) {
    if (has) features.insert(name);
  };
  if (group.is_streamed()) {
    add(true, "streamed groups");
    add(group.splits > 1, "streamed groups in splits");
    add(StreamedExtent(pair.partition, group) > group.splits * group.chunk,
        "streamed groups of several chunks");
    return features;
  }
  const JointPart part = *PartOf(pair.partition, group);
  add(PartsOf(pair.partition, group) > 1, "joint groups of several parts");
  add(group.part.size() > 1, "joint groups by several dimensions");
  add(part.has_origins, "joint groups with indices");
  add(HasHalo(pair.partition, group), "joint groups with halos");
  if (group.rows) {
    constexpr const char* kKept[] = {"rows in registers", "rows in shared memory",
                                     "rows that are read again"};
    features.insert(kKept[static_cast<int>(group.rows->keep)]);
    add(group.rows->rows > 1, "several rows of a block");
    add(group.rows->threads > 1, "rows of several threads");
    add(group.rows->vector > 1, "rows by vectors");
  }
  add(group.planes.has_value(), absl::StrCat("planes of ", group.part.size() - 1, " dimensions"));
  add(group.planes && group.planes->column > 1, "planes by columns of threads");
  add(group.last - group.first >= 2, "joint groups of three steps or more");
  add(group.last - group.first + 1 < std::ssize(pair.partition.steps()),
      "joint groups and other steps");
  for (size_t s = 0; s < part.steps.size(); ++s) {
    const JointPart::Step& step = part.steps[s];
    const Expression& whole = pair.partition.steps()[group.first + s].expression;
    const Expression& e = step.expression;
    add(e.is_empty(), "joint steps without points");
    add(e.has_prefix_sum(), "joint steps with prefix sums");
    add(e.has_reduction(), "joint steps with reductions");
    add(e.store() != nullptr, "joint steps with store functions");
    for (size_t b = 0; b < step.outputs.size(); ++b) {
      const bool is_of_part = step.outputs[b].kind == PartBuffer::Kind::kPart;
      add(is_of_part, "temporaries of parts");
      add(is_of_part && e.outputs()[b].type.is_record(), "temporaries of parts, of records");
      const bool has_gaps =
          TouchedElements(whole.outputs()[b], AllAccesses(whole.outputs()[b]), whole.dimensions())
              .upper < whole.outputs()[b].elements();
      add(has_gaps,
          is_of_part ? "temporaries of parts with gaps" : "outputs of joint steps with gaps");
    }
    for (size_t b = 0; b < step.inputs.size(); ++b) {
      const bool is_whole = step.inputs[b].kind == PartBuffer::Kind::kWhole;
      const Buffer& view = e.passed_inputs()[b];
      add(is_whole && pair.partition.writer(step.inputs[b].buffer) >= group.first,
          "outputs that joint steps read");
      add(is_whole && view.boundary.kind != Boundary::Kind::kNone, "joint steps with boundaries");
    }
  }
  return features;
}

}  // namespace

std::set<std::string> FeaturesOf(const PipelinePair& pair) {
  std::set<std::string> features;
  const auto add = [&](bool has, const std::string& name) {
    if (has) features.insert(name);
  };
  const std::vector<PipelineStep>& steps = pair.partition.steps();
  for (size_t s = 0; s < steps.size(); ++s) {
    features.merge(FeaturesOf(pair.computed[s], pair.model, pair.parameters[s]));
    add(pair.parameters[s].threads != pair.kernel->threads, "steps with fewer threads");
  }
  add(steps.size() < pair.given.steps().size(), "steps fused");
  add(absl::StrContains(pair.kernel->source, "kept_for["), "copies for several parts");
  add(pair.has_special_values, "special values");
  add(pair.is_aligned, "streamed groups with threads in one order");
  features.insert(absl::StrCat(steps.size(), " steps"));
  int64_t temporary_bytes = 0;
  for (size_t b = 0; b < pair.partition.buffers().size(); ++b) {
    const PipelineBuffer& buffer = pair.partition.buffers()[b];
    if (buffer.role == Role::kInput) continue;
    const bool is_temporary = buffer.role == Role::kTemporary;
    if (is_temporary) temporary_bytes += buffer.size_bytes();
    add(is_temporary, "temporaries");
    add(is_temporary && buffer.type.is_record(), "temporaries of records");
    add(is_temporary && !buffer.given_strides.empty(), "temporaries with strides");
    add(!is_temporary && !pair.partition.Readers(static_cast<int>(b)).empty(),
        "outputs that are read");
  }
  for (const JointGroup& group : pair.groups) {
    features.merge(FeaturesOf(pair, group));
  }
  const bool has_launches = !pair.kernel->launches.empty();
  add(has_launches && pair.kernel->scratch_bytes < temporary_bytes, "temporaries share memory");
  for (const KernelLaunch& launch : pair.kernel->launches) {
    add(launch.starts_early, "early launches");
    add(!launch.tensor_maps.empty(), "tensor maps");
  }
  add(pair.kernel->compiler == Compiler::kClang, "clang");
  return features;
}

}  // namespace mdh
