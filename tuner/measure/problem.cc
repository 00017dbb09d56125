// Drawing inputs and computing references.
#include "tuner/measure/problem.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_format.h"
#include "core/base/allowed_cores.h"
#include "core/expression/contraction_form.h"
#include "core/text/computation_text.h"
#include "tuner/measure/results/demanded_points.h"
#include "tuner/measure/results/rounding_bound.h"
#include "tuner/measure/sampled_references.h"
#include "tuner/measure/store_amplification.h"
#include "tuner/measure/stored_nearby.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

constexpr int64_t kMostInterpretedPoints = 1'000'000;
constexpr double kMostInterpretedNs = 1e9;
constexpr double kMostSamplingNs = 200e6;
constexpr int kSampledPoints = 64;
// Of a compiled one on a core, at least as a rule; more than some cores wait for memory anyway.
constexpr double kCompiledStepNs = 0.2;
constexpr size_t kMostCoresThatHelp = 16;
constexpr int64_t kCompilingNs = 500'000'000;
// Parts of a time limit.
constexpr int64_t kPartForDrawing = 2;
constexpr int64_t kPartForSamples = 12;
constexpr int64_t kMostAmplificationNs = 50'000'000;
// What is interpreted, of all kernels together, to say how far off single elements may be.
constexpr double kMostNearbyNs = 1e9;

using Quality = ResultQuality;

Quality QualityOf(absl::Span<const ReferenceBuffer> references) {
  Quality worst = Quality::kGood;
  for (const ReferenceBuffer& reference : references) {
    Quality quality = Quality::kGood;
    if (reference.contains_nan) {
      const bool is_nan = std::ranges::any_of(reference.fields, &ReferenceField::is_nan);
      quality = is_nan ? Quality::kNan : Quality::kSomeNan;
    } else if (ContainsNonFinite(reference)) {
      quality = Quality::kInfinite;
    } else if (IsConstant(reference)) {
      quality = Quality::kUniform;
    }
    worst = std::max(worst, quality);
  }
  return worst;
}

// The input that A of a contraction reads first; -1 if there is none, or f itself rounds products.
int FineInput(const Expression& expression) {
  const Result<ContractionForm> form = FindContractionForm(expression);
  if (!form.ok() || IsStorageOnly(form->product)) return -1;
  for (const int parameter : form->a.parameters) {
    if (!expression.is_index(parameter)) return expression.input_access(parameter).buffer;
  }
  return -1;
}

}  // namespace

std::vector<InputDistribution> DistributionsFor(const ComputationView& computation,
                                                NumericsPolicy numerics) {
  std::vector<InputDistribution> order(std::begin(kAllDistributions), std::end(kAllDistributions));
  const Expression* combining = nullptr;
  const auto consider = [&](const Expression& expression) {
    const bool combines = expression.has_reduction() || expression.has_prefix_sum();
    if (combines && combining == nullptr) combining = &expression;
  };
  if (computation.expression() != nullptr) {
    consider(*computation.expression());
  } else {
    for (const PipelineStep& step : computation.pipeline()->steps()) consider(step.expression);
  }
  if (combining == nullptr) return order;
  InputDistribution first = InputDistribution::kQuarters;
  switch (combining->reduction().kind()) {
    case PointWiseKind::kAdd:
      // One of the inputs of a contraction is fine beside quarters, which have no small parts.
      if (computation.expression() == nullptr || FineInput(*combining) < 0 ||
          ProductsOf(PolicyFor(*combining, numerics)) != Products::kExact) {
        first = InputDistribution::kSigned;
      }
      break;
    case PointWiseKind::kMul:
    case PointWiseKind::kAnd:
      first = InputDistribution::kUnits;
      break;
    case PointWiseKind::kMin:
    case PointWiseKind::kMax:
    case PointWiseKind::kFmin:
    case PointWiseKind::kFmax:
      // Among few distinct values every part of the data contains the extreme one.
      first = InputDistribution::kPositive;
      break;
    case PointWiseKind::kOr:
      first = InputDistribution::kSparse;
      break;
    default:
      break;
  }
  std::stable_partition(order.begin(), order.end(), [=](auto d) { return d == first; });
  return order;
}

Problem::Problem(Computation computation, const Numerics& numerics)
    : computation_(std::move(computation)), numerics_(numerics) {
  using Role = PipelineBuffer::Role;
  if (const auto* const expression = std::get_if<Expression>(&computation_)) {
    const int64_t reduction_length = ReductionLength(*expression);
    for (const Buffer& input : expression->passed_inputs()) {
      passed_inputs_.push_back({input.name, input.type, input.elements(), reduction_length});
    }
    for (const Buffer& output : expression->outputs()) {
      outputs_.push_back({output.name, output.type, output.elements(), 1});
    }
    if (const int fine = FineInput(*expression); fine >= 0) passed_inputs_[fine].is_fine = true;
    return;
  }
  const auto& pipeline = std::get<Pipeline>(computation_);
  for (const int b : pipeline.BuffersOf(Role::kInput)) {
    const PipelineBuffer& input = pipeline.buffers()[b];
    int64_t reduction_length = 1;
    for (const int reader : pipeline.Readers(b)) {
      const int64_t length = ReductionLength(pipeline.steps()[reader].expression);
      reduction_length = std::max(reduction_length, length);
    }
    passed_inputs_.push_back({input.name, input.type, input.elements(), reduction_length});
  }
  for (const int b : pipeline.BuffersOf(Role::kOutput)) {
    const PipelineBuffer& output = pipeline.buffers()[b];
    outputs_.push_back({output.name, output.type, output.elements(), 1});
  }
}

int64_t Problem::BytesOfInputs() const {
  int64_t bytes = 0;
  for (const PassedBuffer& input : passed_inputs_) bytes += input.size_bytes();
  return bytes;
}

// Inputs, references, and while a candidate runs its outputs and two copies of them. Of a pipeline
// inputs and what lies between the steps are there in fp64, too, and there are more references.
Status Problem::CheckMemory() const {
  int64_t needed = BytesOfInputs();
  for (const PassedBuffer& output : outputs_) needed += 4 * output.size_bytes();
  if (is_of_pipeline()) {
    needed =
        2 * (needed + std::get<Pipeline>(computation_).BytesOf(PipelineBuffer::Role::kTemporary));
  }
  const int64_t available = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (needed <= available / 10 * 9) return absl::OkStatus();
  return ResourceExhausted("the buffers of ", name(), " need ", needed,
                           " bytes to be measured; this machine has ", available);
}

Result<std::unique_ptr<Problem>> Problem::Create(Computation computation,
                                                 const ProblemOptions& options,
                                                 std::unique_ptr<Problem> before) {
  std::unique_ptr<Problem> problem(new Problem(std::move(computation), options.numerics));
  problem->seed_ = options.seed;
  problem->time_limit_ns_ = options.time_limit_ns;
  MDH_RETURN_IF_ERROR(problem->CheckMemory());
  problem->TakeOver(std::move(before));
  MDH_RETURN_IF_ERROR(problem->MakeMemory());
  MDH_RETURN_IF_ERROR(problem->Draw(options));
  if (problem->is_of_pipeline()) return problem;
  const bool is_plain = !problem->is_small() && !problem->has_samples();
  if (options.check_sample && is_plain) MDH_RETURN_IF_ERROR(problem->CheckSample(options));
  return problem;
}

void Problem::TakeOver(std::unique_ptr<Problem> before) {
  if (before == nullptr || ToText(before->computation_) != ToText(computation_)) return;
  inputs_ = std::move(before->inputs_);
  least_whole_ns_ = before->least_whole_ns_;
  if (before->numerics_ == numerics_) drawn_before_ = before->drawn_;
}

Status Problem::MakeMemory() {
  if (!inputs_.empty()) return absl::OkStatus();
  for (const PassedBuffer& buffer : passed_inputs_) {
    MDH_ASSIGN_OR_RETURN(GuardedMemory memory,
                         GuardedMemory::Create(buffer.size_bytes(), GuardedMemory::Zones::kNone,
                                               GuardedMemory::Sharing::kPrivate));
    inputs_.push_back(std::move(memory));
  }
  return absl::OkStatus();
}

Status Problem::Draw(const ProblemOptions& options) {
  std::vector<InputDistribution> distributions = DistributionsFor(computation_, numerics_.policy);
  if (passed_inputs_.empty()) distributions.resize(1);
  // Others have been seen to be no better.
  Quality enough = Quality::kGood;
  if (drawn_before_) {
    enough = drawn_before_->quality;
    std::stable_partition(distributions.begin(), distributions.end(),
                          [&](auto d) { return d == drawn_before_->distribution; });
  }
  Quality best = Quality::kNan;
  InputDistribution chosen = distributions[0];
  InputDistribution drawn = chosen;
  const auto draw = [&](InputDistribution distribution) -> Status {
    drawn = distribution;
    MDH_RETURN_IF_ERROR(DrawInputs(distribution, options));
    return ComputeReferences(options);
  };
  const int64_t start_ns = NowNs();
  // Whether one more fits, and the best of those before once more.
  const auto is_time_left = [&](int64_t tried) {
    if (options.time_limit_ns <= 0) return true;
    const int64_t elapsed_ns = NowNs() - start_ns;
    return elapsed_ns + 2 * elapsed_ns / tried < options.time_limit_ns / kPartForDrawing;
  };
  int64_t tried = 0;
  for (const InputDistribution distribution : distributions) {
    if (tried > 0 && best != Quality::kNan && !is_time_left(tried)) break;
    MDH_RETURN_IF_ERROR(draw(distribution));
    ++tried;
    const Quality quality = QualityOf(references_);
    if (quality < best) {
      best = quality;
      chosen = distribution;
    }
    if (best <= enough) break;
  }
  if (best == Quality::kNan) {
    return InvalidArgument("the result of ", name(),
                           " is NaN everywhere for all random inputs, so that no kernel can be "
                           "checked");
  }
  drawn_ = {chosen, best};
  return drawn == chosen ? absl::OkStatus() : draw(chosen);
}

KernelCall Problem::CallOf(const Kernel& kernel) const {
  const size_t arguments = passed_inputs_.size() + outputs_.size();
  return {.entry = kernel.entry,
          .arguments = static_cast<int>(arguments),
          .stages = kernel.stages,
          .has_scratch = true};
}

// The loop nest knows the exact order, but no fixed tree.
double Problem::Tolerance() const {
  const bool is_exact = numerics_.policy == NumericsPolicy::kExactOrder ||
                        (numerics_.policy == NumericsPolicy::kFixedTree && is_small());
  if (numerics_.tolerance > 0) return numerics_.tolerance;
  return is_exact ? 0 : kDefaultTolerance;
}

bool Problem::IsSmall(const Expression& expression) {
  const auto points = static_cast<double>(expression.points());
  return expression.points() <= kMostInterpretedPoints &&
         points * InterpretedPointNs(expression) <= kMostInterpretedNs;
}

bool Problem::has_samples() const {
  return std::ranges::any_of(references_, [](const ReferenceBuffer& reference) {
    return reference.check != ResultCheck::kWhole;
  });
}

std::vector<const std::byte*> Problem::InputPointers() const {
  std::vector<const std::byte*> inputs;
  for (const GuardedMemory& input : inputs_) inputs.push_back(input.data());
  return inputs;
}

Status Problem::DrawInputs(InputDistribution distribution, const ProblemOptions& options) {
  if (options.on_step) options.on_step(ProblemStep::kInputs);
  const int64_t limit_ns = options.time_limit_ns / kPartForDrawing;
  const int64_t give_up_ns = limit_ns > 0 ? NowNs() + limit_ns : 0;
  distinct_.clear();
  for (size_t b = 0; b < passed_inputs_.size(); ++b) {
    const PassedBuffer& buffer = passed_inputs_[b];
    const bool is_fine = buffer.is_fine && distribution == InputDistribution::kQuarters;
    const InputDistribution own = is_fine ? InputDistribution::kFine : distribution;
    distinct_.push_back(DistinctValues(own, buffer.type));
    MDH_RETURN_IF_ERROR(inputs_[b].MakeWritable());
    for (const ElementType::Field& field : buffer.type.fields()) {
      const bool is_done = FillRandom(
          own, field.type,
          {inputs_[b].data() + field.offset_bytes, buffer.elements, buffer.type.size_bytes()},
          buffer.reduction_length, options.seed * 1000003 + b + 7919 * field.offset_bytes,
          give_up_ns);
      if (is_done) continue;
      return DeadlineExceeded(
          absl::StrFormat("the inputs of %s, %d bytes, cannot be drawn within %.1f s", name(),
                          BytesOfInputs(), limit_ns * 1e-9));
    }
    MDH_RETURN_IF_ERROR(inputs_[b].MakeReadOnly());
  }
  return absl::OkStatus();
}

Status Problem::ComputeReferences(const ProblemOptions& options) {
  if (options.on_step) options.on_step(ProblemStep::kReference);
  if (is_of_pipeline()) return ComputePipelineReferences(options);
  const Status whole = ComputeWholeReferences(options);
  return absl::IsDeadlineExceeded(whole) ? ComputeSamples(options) : whole;
}

Status Problem::ComputeWholeReferences(const ProblemOptions& options) {
  amplification_ = AmplificationOf(expression(), InputPointers(),
                                   {.seed = options.seed,
                                    .point_ns = InterpretedPointNs(expression()),
                                    .limit_ns = kMostAmplificationNs});
  Result<std::vector<std::vector<std::byte>>> bytes =
      is_small() ? Interpreted() : PlainOutputs(options);
  if (!bytes.ok()) return bytes.status();
  references_.clear();
  for (size_t b = 0; b < bytes->size(); ++b) {
    references_.push_back(MakeReference(expression(), static_cast<int>(b), std::move((*bytes)[b]),
                                        Tolerance(), amplification_.factor, distinct_,
                                        numerics_.policy));
  }
  AddNearby();
  return absl::OkStatus();
}

void Problem::AddNearby() {
  if (amplification_.scales.empty() || Tolerance() != kDefaultTolerance) return;
  const double result_ns =
      static_cast<double>(ReductionLength(expression())) * InterpretedPointNs(expression());
  StoredNearby::Options options = {
      .tolerances = {},
      .scales = amplification_.scales,
      .accumulation = AccumulationOf(numerics_.policy),
      .most_elements = static_cast<int64_t>(kMostNearbyNs / result_ns)};
  for (int n = 0; n < std::ssize(expression().stored()); ++n) {
    options.tolerances.push_back(ResultTolerance(expression(), n, distinct_, numerics_.policy));
  }
  for (int b = 0; b < std::ssize(references_); ++b) {
    const auto stored = std::make_shared<StoredNearby>(expression(), InputPointers(), b, options);
    references_[b].nearby = [stored](int64_t element, int field) {
      return stored->At(element, field);
    };
  }
}

Result<std::vector<std::vector<std::byte>>> Problem::PlainOutputs(const ProblemOptions& options) {
  const int64_t limit_ns = options.time_limit_ns / kPartForReference;
  if (limit_ns > 0) {
    const auto steps = static_cast<double>(expression().function().instructions().size() + 1) *
                       static_cast<double>(expression().points());
    const auto cores = static_cast<double>(std::min(AllowedCores().size(), kMostCoresThatHelp));
    const int64_t least_ns =
        std::max(least_whole_ns_, static_cast<int64_t>(steps * kCompiledStepNs / cores));
    if (least_ns > limit_ns) return DeadlineExceeded("it would take too long");
  }
  const int64_t start_ns = NowNs();
  Result<std::vector<std::vector<std::byte>>> outputs = options.plain_kernel(*this, limit_ns);
  if (absl::IsDeadlineExceeded(outputs.status())) {
    least_whole_ns_ = std::max(least_whole_ns_, limit_ns);
  } else if (outputs.ok() && limit_ns > 0) {
    // With compiling, and more threads than one: no more than a hint.
    least_whole_ns_ = std::max<int64_t>(0, NowNs() - start_ns - kCompilingNs);
  }
  return outputs;
}

Status Problem::ComputeSamples(const ProblemOptions& options) {
  const SampleOptions sampling = {.seed = options.seed,
                                  .accumulation = AccumulationOf(numerics_.policy),
                                  .point_ns = InterpretedPointNs(expression()),
                                  .time_limit_ns = options.time_limit_ns / kPartForSamples,
                                  .distinct = distinct_,
                                  .numerics = numerics_.policy};
  references_ =
      SampleReferences(expression(), InputPointers(), sampling, Tolerance(), amplification_.factor);
  AddNearby();
  return absl::OkStatus();
}

Result<std::vector<std::vector<std::byte>>> Problem::Interpreted() const {
  std::vector<BufferBytes> inputs;
  for (const GuardedMemory& input : inputs_) {
    inputs.emplace_back(input.data(), input.data() + input.size());
  }
  return Interpret(expression(), inputs, AccumulationOf(numerics_.policy));
}

CandidateRun Problem::MakeRun(const std::string& library, const std::string& entry, int threads,
                              const MeasureOptions& options) const {
  CandidateRun run = {.library = library,
                      .entry = entry,
                      .threads = threads,
                      .inputs = {},
                      .outputs = {},
                      .options = options};
  for (size_t b = 0; b < inputs_.size(); ++b) {
    run.inputs.push_back({passed_inputs_[b].name, inputs_[b].data(), inputs_[b].size()});
  }
  for (const PassedBuffer& output : outputs_) {
    run.outputs.push_back({output.name, output.type, output.size_bytes()});
  }
  return run;
}

Measurement Problem::Judge(const RunRecord& record, const CandidateRun& run) {
  return witness_.Judge(
      record, run,
      [this](size_t output, int64_t element) { return ComputeElement(output, element); },
      references_);
}

Status Problem::CheckSample(const ProblemOptions& options) const {
  const double result_ns =
      static_cast<double>(ReductionLength(expression())) * InterpretedPointNs(expression());
  const double limit_ns =
      options.time_limit_ns > 0
          ? std::min(kMostSamplingNs, static_cast<double>(options.time_limit_ns) / kPartForSamples)
          : kMostSamplingNs;
  const auto affordable = static_cast<int64_t>(std::min(limit_ns / result_ns, 1e9));
  if (affordable == 0 && options.time_limit_ns > 0) return absl::OkStatus();
  std::mt19937_64 rng(options.seed);
  const std::vector<const std::byte*> inputs = InputPointers();
  const int64_t points = std::clamp<int64_t>(affordable, 1, kSampledPoints);
  for (int64_t p = 0; p < points; ++p) {
    // First and last point, then random ones.
    std::vector<int64_t> index;
    for (const Dimension& dimension : expression().dimensions()) {
      const auto size = static_cast<uint64_t>(dimension.size);
      index.push_back(static_cast<int64_t>(p == 0 ? 0 : p == 1 ? size - 1 : rng() % size));
    }
    const std::vector<ScalarValue> expected =
        InterpretAt(expression(), inputs, index, AccumulationOf(numerics_.policy));
    for (size_t r = 0; r < expected.size(); ++r) {
      const Expression::AccessRef at = expression().output_access(static_cast<int>(r));
      const int64_t element = expression().outputs()[at.buffer].ElementAt(at.access, index);
      const std::optional<Mismatch> mismatch =
          ElementMismatch(references_[at.buffer], element, at.field, expected[r]);
      if (!mismatch) continue;
      return Internal("the plain kernel of ", expression().name(),
                      " is wrong: ", references_[at.buffer].name, "[", element, "] should be ",
                      mismatch->expected, " and is ", mismatch->got);
    }
  }
  return absl::OkStatus();
}

}  // namespace mdh
