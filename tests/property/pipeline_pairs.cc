#include "tests/property/pipeline_pairs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_pipeline.h"
#include "core/decomposition/validate.h"
#include "core/pipeline/pipeline_interpreter.h"
#include "core/pipeline/plan/plan.h"
#include "core/text/pipeline_printer.h"
#include "tests/property/pair_parameters.h"
#include "tests/random_pipeline.h"

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
  Pipeline given, partition;
};

// Every third has nan, infinities and other special values in its inputs.
bool HasSpecialInputs(uint64_t seed) { return seed % 3 == 1; }

// As it is, or fused in one of the ways that a plan has, which few random pipelines can be.
PartitionedPipeline RandomPartition(Rng& rng, Rng& names, bool has_special_values) {
  RandomPipelineOptions options;
  options.keyed_one_in = 8;
  options.expression.special_values = has_special_values;
  options.expression.max_points = 1024;
  options.expression.max_rank = 4;
  options.expression.empty_one_in = 40;
  Pipeline pipeline = WithNamesOfSteps(names, RandomPipeline(rng, options));
  if (Below(rng, 3) == 0) return {pipeline, pipeline};
  constexpr int kMostPartitions = 16, kMostPipelines = 30;
  std::vector<Partition> partitions;
  for (int n = 0; n < kMostPipelines && partitions.empty(); ++n) {
    pipeline = WithNamesOfSteps(names, RandomPipeline(rng, options));
    // In another order infinities of factors may or may not meet zeros.
    partitions = PlanPartitions(
        pipeline, {.max_partitions = kMostPartitions, .may_reassociate = !has_special_values});
    std::erase_if(partitions, [](const Partition& p) { return p.is_unfused(); });
  }
  if (partitions.empty()) return {pipeline, pipeline};
  return {pipeline, AnyOf(rng, partitions).pipeline};
}

// Of rules, of the search space, or of a random walk.
Result<std::optional<TuningParameters>> ParametersOfStep(Rng& rng, const Expression& expression,
                                                         const SystemModel& model,
                                                         const DeviceDescription& device) {
  const NumericsPolicy numerics = PolicyFor(expression, RandomNumerics(rng));
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

}  // namespace

Result<std::optional<PipelinePair>> RandomPipelinePair(const JudgedBackend& backend,
                                                       uint64_t seed) {
  Rng rng(seed), names(seed + 1);
  auto [given, partition] = RandomPartition(rng, names, HasSpecialInputs(seed));
  SystemModel model = backend.RandomModel(rng);
  DeviceDescription device = backend.RandomDevice(rng);
  const bool by_clang = Below(rng, 2) == 0 && backend.has_clang();
  std::vector<TuningParameters> parameters;
  for (const PipelineStep& step : partition.steps()) {
    MDH_ASSIGN_OR_RETURN(std::optional<TuningParameters> of_step,
                         ParametersOfStep(rng, step.expression, model, device));
    if (!of_step) return std::nullopt;
    if (model.memory != MemoryKind::kExplicit) {
      of_step->compiler = by_clang ? Compiler::kClang : Compiler::kGcc;
      of_step->threads = static_cast<int>(std::max<int64_t>(Below(rng, 6) - 2, 0));
    }
    parameters.push_back(*std::move(of_step));
  }
  std::vector<BufferBytes> inputs =
      HasSpecialInputs(seed) ? RandomSpecialInputs(rng, given) : RandomInputs(rng, given);
  return PipelinePair{.given = std::move(given),
                      .partition = std::move(partition),
                      .model = std::move(model),
                      .device = std::move(device),
                      .parameters = std::move(parameters),
                      .has_special_values = HasSpecialInputs(seed),
                      .inputs = std::move(inputs)};
}

void GenerateKernelOf(const JudgedBackend& /*backend*/, PipelinePair* pair) {
  pair->kernel =
      GeneratePipelineKernel(pair->partition, pair->model, pair->device, pair->parameters);
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
  return absl::StrCat(text, pair.device.Fingerprint(), "\n",
                      pair.kernel.ok() ? pair.kernel->source : "");
}

std::set<std::string> FeaturesOf(const PipelinePair& pair) {
  std::set<std::string> features;
  const auto add = [&](bool has, const std::string& name) {
    if (has) features.insert(name);
  };
  const std::vector<PipelineStep>& steps = pair.partition.steps();
  for (size_t s = 0; s < steps.size(); ++s) {
    features.merge(FeaturesOf(steps[s].expression, pair.model, pair.parameters[s]));
    add(pair.parameters[s].threads != pair.kernel->threads, "steps with fewer threads");
  }
  add(steps.size() < pair.given.steps().size(), "steps fused");
  add(pair.has_special_values, "special values");
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
  const bool has_launches = !pair.kernel->launches.empty();
  add(has_launches && pair.kernel->scratch_bytes < temporary_bytes, "temporaries share memory");
  for (const KernelLaunch& launch : pair.kernel->launches) {
    add(launch.starts_early, "early launches");
  }
  add(pair.kernel->compiler == Compiler::kClang, "clang");
  return features;
}

}  // namespace mdh
