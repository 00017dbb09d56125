// References of pipelines: their steps one after the other, and how far results may be off by what
// is between them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/pipeline_interpreter.h"
#include "tuner/measure/problem.h"
#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/measure/results/rounding_bound.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// How often what rounding intermediates, or errors in them, change may be found in results: errors
// add up in other ways than those that were tried.
constexpr double kSlackOfRounding = 4;  // as IsRightValue
constexpr double kSlackOfErrors = 2;

std::vector<BufferBytes> BytesOf(std::vector<ReferenceBuffer> references) {
  std::vector<BufferBytes> bytes;
  for (ReferenceBuffer& reference : references) bytes.push_back(std::move(reference.bytes));
  return bytes;
}

// What each step of a pipeline is known to compare its results by, of the run before.
using ReferencesOfSteps = std::vector<std::vector<ReferenceBuffer>>;

// Numbers the errors that results of steps are given.
uint64_t Mixed(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// Every value as far off as a kernel's may be, this way or that.
void AddErrors(uint64_t seed, ReferenceBuffer& reference) {
  for (const ReferenceField& field : reference.fields) {
    if (!IsFloatingPoint(field.type) || field.tolerance <= 0) continue;
    const auto add = [&](int64_t e) {
      const bool is_result = reference.contents.empty() ||
                             reference.contents[static_cast<size_t>(e)] == ElementContent::kResult;
      if (!is_result) return;
      std::byte* const at =
          reference.bytes.data() + e * reference.type.size_bytes() + field.offset_bytes;
      const double value = ScalarValue::Load(field.type, at).as_double();
      if (!std::isfinite(value)) return;
      const double error = field.tolerance * std::max(std::abs(value), field.rms);
      const bool is_larger = (Mixed(seed ^ static_cast<uint64_t>(e)) & 1) != 0;
      ScalarValue::Real(field.type, value + (is_larger ? error : -error)).Store(at);
    };
    ForRanges(reference.elements(), [&](int64_t /*piece*/, int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) add(e);
    });
  }
}

// Per step how many different values its passed inputs have, where the pipeline's have so many.
std::vector<std::vector<double>> DistinctInputs(const Pipeline& pipeline,
                                                const std::vector<double>& of_inputs) {
  std::vector<double> of_buffers(pipeline.buffers().size(), 1);
  const std::vector<int> inputs = pipeline.BuffersOf(Role::kInput);
  for (size_t n = 0; n < inputs.size(); ++n) of_buffers[inputs[n]] = of_inputs[n];
  std::vector<std::vector<double>> distinct;
  for (const PipelineStep& step : pipeline.steps()) {
    std::vector<double>& own = distinct.emplace_back();
    for (const int b : step.inputs) own.push_back(of_buffers[b]);
    const std::vector<double> results = DistinctResults(step.expression, own);
    for (size_t b = 0; b < results.size(); ++b) of_buffers[step.outputs[b]] = results[b];
  }
  return distinct;
}

}  // namespace

Result<std::vector<ReferenceBuffer>> Problem::ReferencesOfStep(const Expression& step,
                                                               absl::Span<const BufferBytes> inputs,
                                                               std::vector<double> distinct,
                                                               const Numerics& numerics,
                                                               const ProblemOptions& options) {
  Problem problem(step, numerics);
  problem.distinct_ = std::move(distinct);
  MDH_RETURN_IF_ERROR(problem.MakeMemory());
  for (size_t b = 0; b < inputs.size(); ++b) {
    MDH_RETURN_IF_ERROR(problem.inputs_[b].MakeWritable());
    std::memcpy(problem.inputs_[b].data(), inputs[b].data(), inputs[b].size());
    MDH_RETURN_IF_ERROR(problem.inputs_[b].MakeReadOnly());
  }
  MDH_RETURN_IF_ERROR(problem.ComputeWholeReferences(options));
  if (options.check_sample && !problem.is_small()) {
    MDH_RETURN_IF_ERROR(problem.CheckSample(options));
  }
  return std::move(problem.references_);
}

Status Problem::ComputePipelineReferences(const ProblemOptions& options) {
  const auto& pipeline = std::get<Pipeline>(computation_);
  std::vector<BufferBytes> inputs;
  for (const GuardedMemory& input : inputs_) {
    inputs.emplace_back(input.data(), input.data() + input.size());
  }
  ProblemOptions of_step = options;
  of_step.on_step = nullptr;
  ReferencesOfSteps known;  // of the run that rounds
  const std::vector<std::vector<double>> distinct = DistinctInputs(pipeline, distinct_);
  const auto run = [&](Intermediates intermediates, bool has_errors) {
    size_t number = 0;
    return RunPipeline(
        pipeline, inputs, intermediates,
        [&](const Expression& step,
            absl::Span<const BufferBytes> given) -> Result<std::vector<BufferBytes>> {
          MDH_ASSIGN_OR_RETURN(std::vector<ReferenceBuffer> references,
                               ReferencesOfStep(step, given, distinct[number], numerics_, of_step));
          if (intermediates == Intermediates::kRounded && !has_errors) known.push_back(references);
          const std::vector<int>& outputs = pipeline.steps()[number].outputs;
          for (size_t b = 0; has_errors && b < references.size(); ++b) {
            if (pipeline.Readers(outputs[b]).empty()) continue;
            AddErrors(Mixed(options.seed + 64 * number + b), references[b]);
          }
          ++number;
          return BytesOf(std::move(references));
        });
  };
  const auto compute = [&]() -> Status {
    const bool is_narrow = HasNarrowReals(pipeline);
    std::vector<BufferBytes> wide;
    if (is_narrow) {
      MDH_ASSIGN_OR_RETURN(wide, run(Intermediates::kWide, false));
      of_step.check_sample = false;
    }
    MDH_ASSIGN_OR_RETURN(std::vector<BufferBytes> rounded, run(Intermediates::kRounded, false));
    of_step.check_sample = false;
    if (!is_narrow) wide = rounded;
    std::vector<BufferBytes> disturbed;
    const bool may_err = std::any_of(known.begin(), known.end(), [](const auto& references) {
      return std::any_of(references.begin(), references.end(), [](const ReferenceBuffer& one) {
        return std::any_of(one.fields.begin(), one.fields.end(),
                           [](const ReferenceField& field) { return field.tolerance > 0; });
      });
    });
    if (may_err && pipeline.steps().size() > 1) {
      MDH_ASSIGN_OR_RETURN(disturbed, run(Intermediates::kRounded, true));
    }
    references_.clear();
    const std::vector<int> outputs = pipeline.BuffersOf(Role::kOutput);
    for (size_t n = 0; n < outputs.size(); ++n) {
      const int writer = pipeline.writer(outputs[n]);
      const PipelineStep& step = pipeline.steps()[writer];
      const auto place = std::find(step.outputs.begin(), step.outputs.end(), outputs[n]);
      const auto position = static_cast<int>(place - step.outputs.begin());
      ReferenceBuffer reference = MakeReference(step.expression, position, std::move(wide[n]));
      reference.name = pipeline.buffers()[outputs[n]].name;
      for (size_t f = 0; f < reference.fields.size(); ++f) {
        reference.fields[f].tolerance = known[writer][position].fields[f].tolerance;
        reference.fields[f].rounds = known[writer][position].fields[f].rounds;
      }
      AddVariant({std::move(rounded[n]), kSlackOfRounding}, reference);
      if (!disturbed.empty()) AddVariant({std::move(disturbed[n]), kSlackOfErrors}, reference);
      references_.push_back(std::move(reference));
    }
    return absl::OkStatus();
  };
  const Status computed = compute();
  if (!absl::IsDeadlineExceeded(computed)) return computed;
  return absl::DeadlineExceededError(
      absl::StrCat("what results of pipeline '", pipeline.name(),
                   "' are compared with cannot be computed in time: ", computed.message()));
}

}  // namespace mdh
