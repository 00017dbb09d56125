#include "tests/property/block_pairs.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "codegen/choose/default_parameters.h"
#include "core/text/printer.h"
#include "tests/property/pair_parameters.h"
#include "tests/property/pipeline_pairs.h"
#include "tests/property/unit_pairs.h"
#include "tests/property/worker_pool.h"
#include "tests/random_keyed.h"

namespace mdh {
namespace {

// Answers of workers begin with one of these.
constexpr absl::string_view kRight = "right ";  // and the pair's features
constexpr absl::string_view kWrong = "wrong ";  // and everything to reproduce it
constexpr absl::string_view kNone = "none";     // no valid configuration

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

// Every third has nan, infinities and other special values in its inputs.
bool HasSpecialValues(uint64_t seed) { return seed % 3 == 1; }

// Some results have keys, which random functions do not give.
Expression RandomPairExpression(Rng& rng, uint64_t seed, const BlockPairOptions& pairs) {
  RandomExpressionOptions options;
  // Unrolled loops over a thousand points take optimising compilers a minute, and what is only
  // compiled needs no more points than its layers have.
  options.max_points = OnlyCompiles(pairs.backend.backend) ? 512 : 2048;
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

// A contraction on a matrix unit.
std::optional<Pair> RandomUnitPair(const JudgedBackend& backend, Rng& rng) {
  const DeviceDescription device = DeviceWithUnits(backend, rng);
  std::optional<UnitCase> random = RandomUnitCase(rng, device);
  if (!random.has_value()) return std::nullopt;
  std::vector<BufferBytes> inputs = RandomInputs(rng, random->expression);
  return Pair{.expression = std::move(random->expression),
              .model = CudaModel(),
              .device = device,
              .parameters = std::move(random->parameters),
              .is_of_space = false,
              .has_special_values = false,
              .inputs = std::move(inputs)};
}

// nullopt if there is no valid configuration. Errors: those of SampleOfSpace.
Result<std::optional<Pair>> RandomPair(const JudgedBackend& backend, uint64_t seed,
                                       const BlockPairOptions& options) {
  Rng rng(seed);
  if (options.only_units) return RandomUnitPair(backend, rng);
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
  const bool is_of_space = seed % 3 == 0;
  MDH_ASSIGN_OR_RETURN(
      std::optional<TuningParameters> parameters,
      RandomPairParameters(rng, expression, model, device, numerics,
                           {.is_of_space = is_of_space, .fuses_dimensions = seed % 4 == 1}));
  if (!parameters) return std::nullopt;
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

std::string JudgeKernelOf(JudgedBackend& backend, const Pair& pair) {
  const auto expected =
      Interpret(pair.expression, pair.inputs, AccumulationOf(pair.parameters.numerics));
  if (!expected.ok()) return absl::StrCat("interpreting: ", expected.status().message());
  const std::vector<JudgedOutput> outputs =
      pair.parameters.unit.rows > 0 ? OutputsOfUnit(pair.expression) : OutputsOf(pair.expression);
  return std::string(backend.Judge(outputs, *pair.kernel, pair.inputs, *expected).message());
}

std::string Reproduction(const Pair& pair) {
  return absl::StrCat("\n", pair.is_of_space ? "a sample of the search space\n" : "",
                      ToText(pair.expression), "\n", ToText(pair.parameters), "\n",
                      pair.device.Fingerprint(), "\n", pair.kernel.ok() ? pair.kernel->source : "");
}

std::set<std::string> FeaturesOf(const Pair& pair) {
  auto features = FeaturesOf(pair.expression, pair.model, pair.parameters);
  if (pair.is_of_space) features.insert("samples of the search space");
  if (pair.has_special_values) features.insert("special values");
  return features;
}

template <typename AnyPair>
std::string JudgeOne(JudgedBackend& backend, Result<std::optional<AnyPair>> random) {
  if (!random.ok()) return absl::StrCat(kWrong, random.status().message());
  if (!*random) return std::string(kNone);
  AnyPair& pair = **random;
  GenerateKernelOf(backend, &pair);
  const std::string wrong = pair.kernel.ok()
                                ? JudgeKernelOf(backend, pair)
                                : absl::StrCat("generating: ", pair.kernel.status().message());
  if (!wrong.empty()) return absl::StrCat(kWrong, wrong, Reproduction(pair));
  return absl::StrCat(kRight, absl::StrJoin(FeaturesOf(pair), ","));
}

std::string JudgeOne(JudgedBackend& backend, uint64_t seed, const BlockPairOptions& options) {
  return options.pipelines ? JudgeOne(backend, RandomPipelinePair(backend, seed))
                           : JudgeOne(backend, RandomPair(backend, seed, options));
}

template <typename AnyPair>
std::string DescribeOne(const JudgedBackend& backend, Result<std::optional<AnyPair>> pair) {
  if (!pair.ok()) return std::string(pair.status().message());
  if (!*pair) return "";
  GenerateKernelOf(backend, &**pair);
  return Reproduction(**pair);
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
      const uint64_t seed = SeedOf(options, job);
      return options.pipelines ? DescribeOne(**backend, RandomPipelinePair(**backend, seed))
                               : DescribeOne(**backend, RandomPair(**backend, seed, options));
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
    on_failure(absl::StrCat(
        options.only_scans ? "--only-scans 1 " : "", options.only_keyed ? "--only-keyed 1 " : "",
        options.only_units ? "--only-units 1 " : "", options.pipelines ? "--pipelines 1 " : "",
        "--seed ", options.seed, " --first ", pair, " 1: ", what));
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
                                      .patience_s = options.patience_s,
                                      .is_over = options.is_over},
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
