#include "tests/property/block_pairs.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "codegen/choose/default_parameters.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/nest_shape.h"
#include "core/expression/unreached_elements.h"
#include "core/text/printer.h"
#include "tests/property/worker_pool.h"
#include "tests/random_keyed.h"
#include "tests/random_parameters.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh {
namespace {

// Answers of workers begin with one of these.
constexpr absl::string_view kRight = "right ";  // and the pair's features
constexpr absl::string_view kWrong = "wrong ";  // and everything to reproduce it
constexpr absl::string_view kNone = "none";     // no valid configuration

// What of the lowering a pair exercises.
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
  add(shape.Slots() > 1, "slots");
  add(p.combine_blocks == CombineBlocks::kAtomics, "atomics");
  add(p.combine_blocks == CombineBlocks::kLastBlock, "last blocks");
  add(p.combine_blocks == CombineBlocks::kCluster, "clusters");
  add(p.resident_blocks > 0, "resident blocks");
  add(p.early_launches == EarlyLaunches::kCalls, "early calls");
  add(!p.lanes.empty(), "tiles of lanes");
  add(p.swizzle > 1 && shape.Grid()[1] % 2 == 0, "swizzled blocks");
  add(expression.store() != nullptr, "store functions");
  add(shape.SharedReductionThreads() > 1, "shared reduction");
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
  for (int b = 0; b < static_cast<int>(p.inputs.size()); ++b) {
    for (const int place : shape.CopyPlaces(b)) {
      const bool is_shared = shape.InputRegion(b, place) == shape.shared_region();
      add(is_shared, "shared copies");
      add(!is_shared, "private copies");
      const bool is_asynchronous = p.inputs[b].copy_mode == CopyMode::kAsynchronous;
      add(is_shared && !is_asynchronous && p.inputs[b].copy_stages > 1, "double buffering");
      add(is_shared && is_asynchronous, "asynchronous copies");
      add(is_shared && p.inputs[b].copy_width > 1, "wide copies");
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

// One pair, and its code as far as there is some.
struct Pair {
  Expression expression;
  SystemModel model;
  DeviceDescription device;
  TuningParameters parameters;
  bool is_of_space;         // whether the parameters are a sample of the search space
  bool has_special_values;  // whether inputs have
  std::vector<BufferBytes> inputs;
  Result<Kernel> kernel = absl::InternalError("not generated");
};

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

// Every third has nan, infinities and other special values in its inputs.
bool HasSpecialValues(uint64_t seed) { return seed % 3 == 1; }

// Some results have keys, which random functions do not give.
Expression RandomPairExpression(Rng& rng, uint64_t seed, const BlockPairOptions& pairs) {
  RandomExpressionOptions options;
  options.max_points = 2048;
  options.special_values = HasSpecialValues(seed);
  options.empty_one_in = 40;
  if (pairs.only_stores) options.store_one_in = 1;
  if (pairs.only_keyed || (!pairs.only_scans && seed % 16 == 5)) {
    return RandomKeyedExpression(rng, options);
  }
  Expression expression = RandomExpression(rng, options);
  while (pairs.only_scans && !expression.has_prefix_sum()) {
    expression = RandomExpression(rng, options);
  }
  return expression;
}

// nullopt if there is no valid configuration. Errors: those of SampleOfSpace.
Result<std::optional<Pair>> RandomPair(const JudgedBackend& backend, uint64_t seed,
                                       const BlockPairOptions& options) {
  Rng rng(seed);
  Expression expression = RandomPairExpression(rng, seed, options);
  SystemModel model = backend.RandomModel(rng);
  DeviceDescription device = backend.RandomDevice(rng);
  const NumericsPolicy numerics = PolicyFor(expression, RandomNumerics(rng));
  if (expression.is_empty()) {
    std::vector<BufferBytes> inputs = RandomInputs(rng, expression);
    TuningParameters none = DefaultParameters(expression, model, device, numerics);
    return Pair{.expression = std::move(expression),
                .model = std::move(model),
                .device = std::move(device),
                .parameters = std::move(none),
                .is_of_space = false,
                .has_special_values = false,
                .inputs = std::move(inputs)};
  }
  // One third is what is searched, which the walk may never come to.
  const bool is_of_space = seed % 3 == 0;
  std::optional<TuningParameters> parameters;
  FusedDimensions groups;
  if (seed % 4 == 1) {
    const bool reductions = numerics == NumericsPolicy::kReassociate;
    groups = ContiguousDimensions(expression, /*plain=*/false, reductions);
  }
  MDH_ASSIGN_OR_RETURN(const Expression fused, FuseDimensions(expression, groups));
  if (is_of_space) {
    MDH_ASSIGN_OR_RETURN(parameters, SampleOfSpace(rng, fused, model, device, numerics));
  } else {
    parameters = RandomNestParameters(rng, fused, model, device, numerics);
  }
  if (!parameters) return std::nullopt;
  parameters->fused = std::move(groups);
  std::vector<BufferBytes> inputs =
      HasSpecialValues(seed) ? RandomSpecialInputs(rng, expression) : RandomInputs(rng, expression);
  return Pair{.expression = std::move(expression),
              .model = std::move(model),
              .device = std::move(device),
              .parameters = *std::move(parameters),
              .is_of_space = is_of_space,
              .has_special_values = HasSpecialValues(seed),
              .inputs = std::move(inputs)};
}

void GenerateKernelOf(const JudgedBackend& backend, Pair* pair) {
  const auto low = Lower(pair->expression, pair->model, pair->device, pair->parameters);
  pair->kernel = low.ok() ? backend.Generate(*low, pair->device) : low.status();
}

// "" or what is wrong, for people.
std::string JudgePair(JudgedBackend& backend, Pair* pair) {
  GenerateKernelOf(backend, pair);
  if (!pair->kernel.ok()) return absl::StrCat("generating: ", pair->kernel.status().message());
  const auto expected =
      Interpret(pair->expression, pair->inputs, AccumulationOf(pair->parameters.numerics));
  if (!expected.ok()) return absl::StrCat("interpreting: ", expected.status().message());
  return std::string(
      backend.Judge(pair->expression, *pair->kernel, pair->inputs, *expected).message());
}

std::string Reproduction(const Pair& pair) {
  return absl::StrCat("\n", pair.is_of_space ? "a sample of the search space\n" : "",
                      ToText(pair.expression), "\n", ToText(pair.parameters), "\n",
                      pair.device.Fingerprint(), "\n", pair.kernel.ok() ? pair.kernel->source : "");
}

std::string JudgeOne(JudgedBackend& backend, uint64_t seed, const BlockPairOptions& options) {
  Result<std::optional<Pair>> random = RandomPair(backend, seed, options);
  if (!random.ok()) return absl::StrCat(kWrong, random.status().message());
  if (!*random) return std::string(kNone);
  Pair& pair = **random;
  const std::string wrong = JudgePair(backend, &pair);
  if (!wrong.empty()) return absl::StrCat(kWrong, wrong, Reproduction(pair));
  auto features = FeaturesOf(pair.expression, pair.model, pair.parameters);
  if (pair.is_of_space) features.insert("samples of the search space");
  if (pair.has_special_values) features.insert("special values");
  return absl::StrCat(kRight, absl::StrJoin(features, ","));
}

uint64_t SeedOf(const BlockPairOptions& options, int pair) {
  return options.seed * 1000003 + static_cast<uint64_t>(pair);
}

// What a pair is whose process ended: in a process of its own, since finding that out may be what
// crashes.
std::string Describe(const BlockPairOptions& options, int number) {
  std::string description = "\n(it also ends when its kernel is only generated)";
  const MakeJob make_job = [&options]() -> Job {
    return [&options](int job) -> std::string {
      const auto backend = JudgedBackend::Open(options.backend);
      if (!backend.ok()) return std::string(backend.status().message());
      Result<std::optional<Pair>> pair = RandomPair(**backend, SeedOf(options, job), options);
      if (!pair.ok()) return std::string(pair.status().message());
      if (!*pair) return "";
      GenerateKernelOf(**backend, &**pair);
      return Reproduction(**pair);
    };
  };
  const auto on_end = [&](const JobEnd& end) {
    if (end.has_answer) description = end.text;
  };
  const Status status = RunInWorkers({.first = number, .count = 1}, make_job, on_end);
  return status.ok() ? description : std::string(status.message());
}

}  // namespace

Result<std::string> FindBackend(const BackendOptions& options) {
  Result<std::string> found = absl::InternalError("the process that looks for the device ended");
  const MakeJob make_job = [&options]() -> Job {
    return [&options](int) {
      const auto backend = JudgedBackend::Open(options);
      return backend.ok() ? absl::StrCat(kRight, (*backend)->Name())
                          : absl::StrCat(kNone, backend.status().message());
    };
  };
  MDH_RETURN_IF_ERROR(RunInWorkers({.count = 1}, make_job, [&](const JobEnd& end) {
    absl::string_view text = end.text;
    if (!end.has_answer) {
      found = absl::InternalError(absl::StrCat("looking for the device: ", text));
    } else if (absl::ConsumePrefix(&text, kRight)) {
      found = std::string(text);
    } else if (absl::ConsumePrefix(&text, kNone)) {
      found = absl::NotFoundError(text);
    }
  }));
  return found;
}

BlockPairReport JudgeBlockPairs(const BlockPairOptions& options,
                                const std::function<void(const std::string&)>& on_failure) {
  BlockPairReport report;
  const MakeJob make_job = [&options]() -> Job {
    auto backend = std::make_shared<Result<std::unique_ptr<JudgedBackend>>>(
        JudgedBackend::Open(options.backend));
    return [backend, &options](int pair) {
      if (!backend->ok()) return absl::StrCat(kWrong, backend->status().message());
      return JudgeOne(***backend, SeedOf(options, pair), options);
    };
  };
  const auto fail = [&](int pair, absl::string_view what) {
    ++report.failures;
    on_failure(absl::StrCat(options.only_scans ? "--only-scans 1 " : "",
                            options.only_keyed ? "--only-keyed 1 " : "", "--seed ", options.seed,
                            " --first ", pair, " 1: ", what));
  };
  const auto on_end = [&](const JobEnd& end) {
    absl::string_view text = end.text;
    if (end.has_answer && text == kNone) {
      ++report.without_configuration;
      return;
    }
    ++report.pairs;
    if (!end.has_answer) return fail(end.job, absl::StrCat(text, Describe(options, end.job)));
    if (absl::ConsumePrefix(&text, kWrong)) return fail(end.job, text);
    absl::ConsumePrefix(&text, kRight);
    for (const absl::string_view feature : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      ++report.features[std::string(feature)];
    }
  };
  const Status status = RunInWorkers({.first = options.first,
                                      .count = options.count,
                                      .processes = options.processes,
                                      .patience_s = options.patience_s},
                                     make_job, on_end);
  if (!status.ok()) fail(options.first, status.message());
  return report;
}

std::string Summary(const BlockPairReport& report, const std::string& device) {
  std::string text =
      absl::StrCat(report.pairs, " pairs on ", device, ": ", report.failures, " failures, ",
                   report.without_configuration, " expressions without a configuration\n");
  for (const auto& [feature, count] : report.features) {
    absl::StrAppend(&text, "  ", feature, ": ", count, "\n");
  }
  return text;
}

}  // namespace mdh
