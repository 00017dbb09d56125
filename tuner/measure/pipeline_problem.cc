// References of pipelines: their steps one after the other, and how far results may be off by what
// is between them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/allowed_cores.h"
#include "core/expression/touched_elements.h"
#include "core/pipeline/pipeline_interpreter.h"
#include "tuner/measure/pipeline_samples.h"
#include "tuner/measure/problem.h"
#include "tuner/measure/results/demanded_points.h"
#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/measure/results/rounding_bound.h"
#include "tuner/measure/sampled_references.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// What computing a step with all its points takes beside the points: a compiler, a process.
constexpr double kPlainKernelNs = 450e6;
// Per byte that a step reads or writes, and per point and operation of what is compiled, on a core.
constexpr double kByteNs = 2;
constexpr double kStepOfPipelineNs = 0.3;
// Parts of a time limit.
constexpr int64_t kPartForWholePipeline = 4;
constexpr int64_t kPartForPipelineSamples = 8;

std::vector<BufferBytes> BytesOf(std::vector<ReferenceBuffer> references) {
  std::vector<BufferBytes> bytes;
  for (ReferenceBuffer& reference : references) bytes.push_back(std::move(reference.bytes));
  return bytes;
}

// Every value as far off as a kernel's may be.
void AddErrors(uint64_t number, ReferenceBuffer& reference) {
  ForRanges(reference.elements(), [&](int64_t /*piece*/, int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const bool is_result = reference.contents.empty() ||
                             reference.contents[static_cast<size_t>(e)] == ElementContent::kResult;
      for (const ReferenceField& field : reference.fields) {
        if (!is_result) continue;
        AddError(field, number ^ static_cast<uint64_t>(e),
                 reference.bytes.data() + e * reference.type.size_bytes());
      }
    }
  });
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

// What results are compared by, without what they are.
std::vector<ReferenceBuffer> FieldsOf(const std::vector<ReferenceBuffer>& references) {
  std::vector<ReferenceBuffer> known;
  for (const ReferenceBuffer& reference : references) {
    known.push_back({.name = reference.name,
                     .type = reference.type,
                     .bytes = {},
                     .contents = {},
                     .fields = reference.fields});
  }
  return known;
}

// A value that is elsewhere altogether where it is computed in another order: the store function
// jumps between what results may be.
struct Jump {
  int64_t offset_bytes;  // in the buffer
  ScalarValue value;
};

// Whether its values may jump where its operands change a little.
bool MayJump(const ScalarInstruction& one) {
  switch (one.op) {
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRound:
    case ScalarOp::kTrunc:
    case ScalarOp::kRem:
    case ScalarOp::kAtan2:
    case ScalarOp::kCopysign:
    case ScalarOp::kSelect:
    case ScalarOp::kTable:
      return true;
    default:
      return !IsFloatingPoint(one.type);
  }
}

bool MayJump(const Expression& step) {
  return step.store() != nullptr &&
         std::ranges::any_of(step.store()->function.instructions(), [](const auto& one) {
           return one.op != ScalarOp::kParameter && one.op != ScalarOp::kConstant && MayJump(one);
         });
}

void AddJumps(const std::vector<Jump>& jumps, ReferenceBuffer& reference) {
  for (const Jump& jump : jumps) jump.value.Store(reference.bytes.data() + jump.offset_bytes);
}

// Of the elements that there is time to look at, until the deadline if there is one: to the number
// that is furthest away.
std::vector<Jump> JumpsOf(const ReferenceBuffer& reference, int64_t deadline_ns) {
  std::vector<Jump> jumps;
  std::mutex mutex;
  const auto at = [&](int64_t e, const ReferenceField& field, int f) {
    const std::byte* const bytes = reference.bytes.data() + e * reference.type.size_bytes();
    const double value = ScalarValue::Load(field.type, bytes + field.offset_bytes).as_double();
    double most = 2 * field.tolerance * std::max(std::abs(value), field.rms);
    std::optional<ScalarValue> furthest;
    for (const ScalarValue& other : reference.nearby(e, f)) {
      const double apart = std::abs(other.as_double() - value);
      if (!std::isfinite(apart) || apart <= most) continue;
      most = apart;
      furthest = other;
    }
    if (!furthest) return;
    const std::lock_guard lock(mutex);
    jumps.push_back({bytes + field.offset_bytes - reference.bytes.data(), *furthest});
  };
  constexpr int64_t kAtOnce = 1024;
  const auto look = [&](int64_t /*piece*/, int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      if (deadline_ns > 0 && NowNs() > deadline_ns) return;
      for (size_t f = 0; f < reference.fields.size(); ++f) {
        at(e, reference.fields[f], static_cast<int>(f));
      }
    }
  };
  if (reference.nearby) ForRanges(reference.elements(), look, kAtOnce);
  return jumps;
}

ReferenceBuffer ZeroOf(const ReferenceBuffer& reference, int64_t element) {
  ReferenceBuffer zero = {
      .name = reference.name, .type = reference.type, .bytes = {}, .contents = {}, .fields = {}};
  zero.variants = {reference.variants.size(), ReferenceVariant{{}, 0}};
  for (size_t f = 0; f < reference.fields.size(); ++f) {
    const ScalarValue value = ScalarValue::Zero(reference.fields[f].type);
    zero.samples.push_back({element, static_cast<int>(f), value});
    for (ReferenceVariant& variant : zero.variants) variant.values.push_back(value);
  }
  return zero;
}

}  // namespace

Result<std::vector<ReferenceBuffer>> Problem::ReferencesOfStep(const Expression& step,
                                                               absl::Span<const BufferBytes> inputs,
                                                               std::vector<double> distinct,
                                                               const Numerics& numerics,
                                                               const ProblemOptions& options) {
  const std::shared_ptr<Problem> problem(new Problem(step, numerics));
  problem->distinct_ = std::move(distinct);
  MDH_RETURN_IF_ERROR(problem->MakeMemory());
  for (size_t b = 0; b < inputs.size(); ++b) {
    MDH_RETURN_IF_ERROR(problem->inputs_[b].MakeWritable());
    std::memcpy(problem->inputs_[b].data(), inputs[b].data(), inputs[b].size());
    MDH_RETURN_IF_ERROR(problem->inputs_[b].MakeReadOnly());
  }
  MDH_RETURN_IF_ERROR(problem->ComputeWholeReferences(options));
  if (options.check_sample && !problem->is_small()) {
    MDH_RETURN_IF_ERROR(problem->CheckSample(options));
  }
  std::vector<ReferenceBuffer> references = std::move(problem->references_);
  for (ReferenceBuffer& reference : references) {
    if (!reference.nearby) continue;
    // It reads the inputs.
    reference.nearby = [problem, nearby = std::move(reference.nearby)](int64_t element, int field) {
      return nearby(element, field);
    };
  }
  return references;
}

// Roughly, and rather too much than too little.
double Problem::WholePipelineNs() const {
  const auto& pipeline = std::get<Pipeline>(computation_);
  const double runs = HasNarrowReals(pipeline) ? 3 : 2;
  const auto cores = static_cast<double>(AllowedCores().size());
  double run_ns = 0;
  for (const PipelineStep& step : pipeline.steps()) {
    const Expression& e = step.expression;
    const auto points = static_cast<double>(e.points());
    if (IsSmall(e)) {
      run_ns += points * InterpretedPointNs(e);
      continue;
    }
    const auto operations = static_cast<double>(e.function().instructions().size() + 1);
    run_ns += kPlainKernelNs + points * operations * kStepOfPipelineNs / cores +
              kByteNs * static_cast<double>(BufferBytesOf(e));
  }
  return runs * run_ns;
}

Status Problem::ComputePipelineReferences(const ProblemOptions& options) {
  const int64_t limit_ns = options.time_limit_ns / kPartForWholePipeline;
  if (limit_ns == 0) return ComputeWholePipeline(options, 0);
  if (WholePipelineNs() <= static_cast<double>(limit_ns)) {
    const Status whole = ComputeWholePipeline(options, NowNs() + limit_ns);
    if (!absl::IsDeadlineExceeded(whole)) return whole;
  }
  return ComputePipelineSamples(options);
}

PipelineSampleOptions Problem::PipelineSamplesIn(int64_t time_limit_ns) const {
  return {.seed = seed_,
          .accumulation = AccumulationOf(numerics_.policy),
          .time_limit_ns = time_limit_ns,
          .distinct = DistinctInputs(std::get<Pipeline>(computation_), distinct_),
          .tolerance_of = [numerics = numerics_](const Expression& step) {
            return Problem(step, numerics).Tolerance();
          }};
}

Status Problem::ComputePipelineSamples(const ProblemOptions& options) {
  MDH_ASSIGN_OR_RETURN(
      references_,
      SamplePipeline(std::get<Pipeline>(computation_), InputPointers(),
                     PipelineSamplesIn(options.time_limit_ns / kPartForPipelineSamples)));
  return absl::OkStatus();
}

std::pair<const Expression*, int> Problem::WriterOf(size_t output) const {
  if (!is_of_pipeline()) return {&expression(), static_cast<int>(output)};
  const auto& pipeline = std::get<Pipeline>(computation_);
  const int b = pipeline.BuffersOf(Role::kOutput)[output];
  const PipelineStep& step = pipeline.steps()[pipeline.writer(b)];
  const auto place = std::ranges::find(step.outputs, b);
  return {&step.expression, static_cast<int>(place - step.outputs.begin())};
}

std::optional<ReferenceBuffer> Problem::ComputeElement(size_t output, int64_t element) const {
  const auto [writer, position] = WriterOf(output);
  const Result<std::optional<std::vector<int64_t>>> point =
      OutputPoints(*writer, position).Find(element);
  if (!point.ok()) return std::nullopt;
  const Buffer& buffer = writer->outputs()[position];
  if (!point->has_value()) {
    // Zero, or what was there.
    if (!buffer.is_dense() || buffer.keeps_unreached) return std::nullopt;
    return ZeroOf(references_[output], element);
  }
  const int64_t limit_ns = time_limit_ns_ / kPartForPipelineSamples;
  if (is_of_pipeline()) {
    Result<ReferenceBuffer> samples =
        SampleResult(std::get<Pipeline>(computation_), InputPointers(), output, **point,
                     PipelineSamplesIn(limit_ns));
    if (!samples.ok() || samples->samples.empty()) return std::nullopt;
    return *std::move(samples);
  }
  const double result_ns =
      static_cast<double>(ReductionLength(*writer)) * InterpretedPointNs(*writer);
  if (result_ns > static_cast<double>(limit_ns)) return std::nullopt;
  return SampleResult(*writer, InputPointers(), position, **point,
                      AccumulationOf(numerics_.policy));
}

Status Problem::ComputeWholePipeline(const ProblemOptions& options, int64_t deadline_ns) {
  const auto& pipeline = std::get<Pipeline>(computation_);
  std::vector<BufferBytes> inputs;
  for (const GuardedMemory& input : inputs_) {
    inputs.emplace_back(input.data(), input.data() + input.size());
  }
  ProblemOptions of_step = options;
  of_step.on_step = nullptr;
  ReferencesOfSteps known;  // of the run that rounds
  const std::vector<std::vector<double>> distinct = DistinctInputs(pipeline, distinct_);
  enum class Change { kNone, kErrors, kJumps };
  std::map<std::pair<size_t, size_t>, std::vector<Jump>> jumps;  // by step and output
  const auto run = [&](Intermediates intermediates, Change change) {
    size_t number = 0;
    return RunPipeline(
        pipeline, inputs, intermediates,
        [&](const Expression& step,
            absl::Span<const BufferBytes> given) -> Result<std::vector<BufferBytes>> {
          if (deadline_ns > 0) {
            const int64_t left_ns = deadline_ns - NowNs();
            if (left_ns <= 0) return DeadlineExceeded("the time is over");
            of_step.time_limit_ns = left_ns * kPartForReference;
          }
          MDH_ASSIGN_OR_RETURN(std::vector<ReferenceBuffer> references,
                               ReferencesOfStep(step, given, distinct[number], numerics_, of_step));
          const std::vector<int>& outputs = pipeline.steps()[number].outputs;
          if (intermediates == Intermediates::kRounded && change == Change::kNone) {
            known.push_back(FieldsOf(references));
            for (size_t b = 0; b < references.size(); ++b) {
              const bool is_read = !pipeline.Readers(outputs[b]).empty();
              if (is_read && MayJump(step))
                jumps[{number, b}] = JumpsOf(references[b], deadline_ns);
              if (pipeline.buffers()[outputs[b]].role != Role::kOutput) continue;
              known.back()[b].nearby = std::move(references[b].nearby);
            }
          }
          for (size_t b = 0; b < references.size(); ++b) {
            if (pipeline.Readers(outputs[b]).empty()) continue;
            if (change == Change::kJumps) AddJumps(jumps[{number, b}], references[b]);
            if (change == Change::kErrors)
              AddErrors(NumberOfErrors(options.seed, static_cast<int>(number), static_cast<int>(b)),
                        references[b]);
          }
          ++number;
          return BytesOf(std::move(references));
        });
  };
  const auto compute = [&]() -> Status {
    const bool is_narrow = HasNarrowReals(pipeline);
    std::vector<BufferBytes> wide;
    if (is_narrow) {
      MDH_ASSIGN_OR_RETURN(wide, run(Intermediates::kWide, Change::kNone));
      of_step.check_sample = false;
    }
    MDH_ASSIGN_OR_RETURN(std::vector<BufferBytes> rounded,
                         run(Intermediates::kRounded, Change::kNone));
    of_step.check_sample = false;
    if (!is_narrow) wide = rounded;
    std::vector<BufferBytes> disturbed;
    if (HasTolerance(known) && pipeline.steps().size() > 1) {
      MDH_ASSIGN_OR_RETURN(disturbed, run(Intermediates::kRounded, Change::kErrors));
    }
    std::vector<BufferBytes> jumped;
    if (std::ranges::any_of(jumps, [](const auto& of) { return !of.second.empty(); })) {
      MDH_ASSIGN_OR_RETURN(jumped, run(Intermediates::kRounded, Change::kJumps));
    }
    references_.clear();
    const std::vector<int> outputs = pipeline.BuffersOf(Role::kOutput);
    for (size_t n = 0; n < outputs.size(); ++n) {
      const int writer = pipeline.writer(outputs[n]);
      const PipelineStep& step = pipeline.steps()[writer];
      const auto place = std::ranges::find(step.outputs, outputs[n]);
      const auto position = static_cast<int>(place - step.outputs.begin());
      ReferenceBuffer reference = MakeReference(step.expression, position, std::move(wide[n]));
      reference.name = pipeline.buffers()[outputs[n]].name;
      for (size_t f = 0; f < reference.fields.size(); ++f) {
        reference.fields[f].tolerance = known[writer][position].fields[f].tolerance;
        reference.fields[f].rounds = known[writer][position].fields[f].rounds;
      }
      reference.nearby = known[writer][position].nearby;
      AddVariant({std::move(rounded[n]), kSlackOfRounding}, reference);
      if (!disturbed.empty()) AddVariant({std::move(disturbed[n]), kSlackOfErrors}, reference);
      if (!jumped.empty()) AddVariant({std::move(jumped[n]), kSlackOfErrors}, reference);
      references_.push_back(std::move(reference));
    }
    return absl::OkStatus();
  };
  const Status computed = compute();
  if (!absl::IsDeadlineExceeded(computed)) return computed;
  return DeadlineExceeded("what results of pipeline '", pipeline.name(),
                          "' are compared with cannot be computed in time: ", computed.message());
}

}  // namespace mdh
