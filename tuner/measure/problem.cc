// Drawing inputs and computing references.
#include "tuner/measure/problem.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/interpreter.h"

namespace mdh {
namespace {

constexpr int64_t kMostInterpretedPoints = 1'000'000;
constexpr int64_t kMostSampledEvaluations = 2'000'000;
constexpr int kSampledPoints = 64;

// Inputs, references, and while a candidate runs its outputs and two copies of them.
Status CheckMemory(const Expression& expression) {
  int64_t needed = 0;
  for (const Buffer& input : expression.inputs()) needed += input.size_bytes();
  for (const Buffer& output : expression.outputs()) needed += 4 * output.size_bytes();
  const int64_t available = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (needed <= available / 10 * 9) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the buffers of ", expression.name(), " need ", needed,
                   " bytes to be measured; this machine has ", available));
}

// How well a result tells right from wrong, smaller is better.
enum class Quality { kGood, kUniform, kInfinite, kNan };

Quality QualityOf(absl::Span<const ReferenceBuffer> references) {
  Quality worst = Quality::kGood;
  for (const ReferenceBuffer& reference : references) {
    Quality quality = Quality::kGood;
    if (reference.contains_nan) {
      quality = Quality::kNan;
    } else if (ContainsNonFinite(reference)) {
      quality = Quality::kInfinite;
    } else if (IsConstant(reference)) {
      quality = Quality::kUniform;
    }
    worst = std::max(worst, quality);
  }
  return worst;
}

}  // namespace

std::vector<InputDistribution> DistributionsFor(const Expression& expression) {
  std::vector<InputDistribution> order(std::begin(kAllDistributions), std::end(kAllDistributions));
  if (!expression.has_reduction() && !expression.has_prefix_sum()) return order;
  InputDistribution first = InputDistribution::kQuarters;
  switch (expression.reduction().kind()) {
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

Result<std::unique_ptr<Problem>> Problem::Create(Expression expression, uint64_t seed,
                                                 const Numerics& numerics, bool check_sample,
                                                 const PlainKernel& plain_kernel) {
  MDH_RETURN_IF_ERROR(CheckMemory(expression));
  std::unique_ptr<Problem> problem(new Problem(std::move(expression), numerics));
  std::vector<InputDistribution> distributions = DistributionsFor(problem->expression_);
  if (problem->expression_.inputs().empty()) distributions.resize(1);
  Quality best = Quality::kNan;
  InputDistribution chosen = distributions[0];
  InputDistribution drawn = chosen;
  const auto draw = [&](InputDistribution distribution) -> Status {
    drawn = distribution;
    MDH_RETURN_IF_ERROR(problem->DrawInputs(distribution, seed));
    return problem->ComputeReferences(plain_kernel);
  };
  for (const InputDistribution distribution : distributions) {
    MDH_RETURN_IF_ERROR(draw(distribution));
    const Quality quality = QualityOf(problem->references_);
    if (quality < best) {
      best = quality;
      chosen = distribution;
    }
    if (best == Quality::kGood) break;
  }
  if (best == Quality::kNan) {
    return absl::InvalidArgumentError(
        absl::StrCat("the result of ", problem->expression_.name(),
                     " contains NaN for all random inputs, so that no kernel can be checked"));
  }
  if (drawn != chosen) MDH_RETURN_IF_ERROR(draw(chosen));
  if (check_sample && !problem->is_small()) MDH_RETURN_IF_ERROR(problem->CheckSample(seed));
  return problem;
}

KernelCall Problem::CallOf(const Kernel& kernel) const {
  const size_t arguments = expression_.inputs().size() + expression_.outputs().size();
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

bool Problem::is_small() const { return expression_.points() <= kMostInterpretedPoints; }

Status Problem::DrawInputs(InputDistribution distribution, uint64_t seed) {
  inputs_.clear();
  for (size_t b = 0; b < expression_.inputs().size(); ++b) {
    const Buffer& buffer = expression_.inputs()[b];
    MDH_ASSIGN_OR_RETURN(GuardedMemory memory,
                         GuardedMemory::Create(buffer.size_bytes(), GuardedMemory::Zones::kNone,
                                               GuardedMemory::Sharing::kPrivate));
    for (const ElementType::Field& field : buffer.type.fields()) {
      FillRandom(distribution, field.type,
                 {memory.data() + field.offset_bytes, buffer.elements(), buffer.type.size_bytes()},
                 ReductionLength(expression_), seed * 1000003 + b + 7919 * field.offset_bytes);
    }
    MDH_RETURN_IF_ERROR(memory.MakeReadOnly());
    inputs_.push_back(std::move(memory));
  }
  return absl::OkStatus();
}

Status Problem::ComputeReferences(const PlainKernel& plain_kernel) {
  MDH_ASSIGN_OR_RETURN(std::vector<std::vector<std::byte>> bytes,
                       is_small() ? Interpreted() : plain_kernel(*this));
  references_.clear();
  for (size_t b = 0; b < bytes.size(); ++b) {
    references_.push_back(
        MakeReference(expression_, static_cast<int>(b), std::move(bytes[b]), Tolerance()));
  }
  return absl::OkStatus();
}

Result<std::vector<std::vector<std::byte>>> Problem::Interpreted() const {
  std::vector<BufferBytes> inputs;
  for (const GuardedMemory& input : inputs_) {
    inputs.emplace_back(input.data(), input.data() + input.size());
  }
  return Interpret(expression_, inputs, AccumulationOf(numerics_.policy));
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
    run.inputs.push_back({expression_.inputs()[b].name, inputs_[b].data(), inputs_[b].size()});
  }
  for (const Buffer& output : expression_.outputs()) {
    run.outputs.push_back({output.name, output.type, output.size_bytes()});
  }
  return run;
}

Status Problem::CheckSample(uint64_t seed) const {
  std::vector<const std::byte*> inputs;
  for (const GuardedMemory& input : inputs_) inputs.push_back(input.data());
  std::mt19937_64 rng(seed);
  const int64_t points = std::clamp<int64_t>(kMostSampledEvaluations / ReductionLength(expression_),
                                             1, kSampledPoints);
  for (int64_t p = 0; p < points; ++p) {
    // First and last point, then random ones.
    std::vector<int64_t> index;
    for (const Dimension& dimension : expression_.dimensions()) {
      const auto size = static_cast<uint64_t>(dimension.size);
      index.push_back(static_cast<int64_t>(p == 0 ? 0 : p == 1 ? size - 1 : rng() % size));
    }
    const std::vector<ScalarValue> expected =
        InterpretAt(expression_, inputs, index, AccumulationOf(numerics_.policy));
    for (size_t r = 0; r < expected.size(); ++r) {
      const Expression::AccessRef at = expression_.output_access(static_cast<int>(r));
      const int64_t element = expression_.outputs()[at.buffer].ElementAt(at.access, index);
      const std::optional<Mismatch> mismatch =
          ElementMismatch(references_[at.buffer], element, at.field, expected[r]);
      if (!mismatch) continue;
      return absl::InternalError(absl::StrCat(
          "the plain kernel of ", expression_.name(), " is wrong: ", references_[at.buffer].name,
          "[", element, "] should be ", mismatch->expected, " and is ", mismatch->got));
    }
  }
  return absl::OkStatus();
}

}  // namespace mdh
