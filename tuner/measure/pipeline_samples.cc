#include "tuner/measure/pipeline_samples.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/pipeline/pipeline_interpreter.h"
#include "tuner/measure/results/chosen_results.h"
#include "tuner/measure/results/parallel_ranges.h"
#include "tuner/measure/store_amplification.h"
#include "tuner/measure/trial/guarded_memory.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

constexpr int64_t kMostAmplificationOfStepNs = 10'000'000;
// Of what the interpreter is estimated to take, until a few results have shown how fast it is.
constexpr double kPartForTrial = 0.125;
// Of the time that is left then: corners, which come first, have more in common than others.
constexpr double kPartAfterTrial = 0.6;
// What a thread interprets before it asks for more.
constexpr double kPieceNs = 1e6;
// Of a step's results so many say how large they are.
constexpr size_t kMostForScale = 4096;

uint64_t Mixed(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// The steps of a pipeline, computed at what is needed. All of a buffer has its place, but memory
// that nobody touches is none.
class PartialRun {
 public:
  PartialRun(const Pipeline& pipeline, const DemandedPoints& demanded, Intermediates intermediates,
             Accumulation accumulation)
      : pipeline_(pipeline),
        demanded_(demanded),
        is_wide_(intermediates == Intermediates::kWide),
        accumulation_(accumulation),
        contents_(pipeline.buffers().size()),
        memory_(pipeline.buffers().size()) {}

  // Calls `after_step(step, *this)` when a step is computed. Errors: ResourceExhausted.
  Status Run(absl::Span<const std::byte* const> inputs,
             const std::function<void(int, PartialRun&)>& after_step) {
    const std::vector<int> given = pipeline_.BuffersOf(Role::kInput);
    for (size_t n = 0; n < given.size(); ++n) MDH_RETURN_IF_ERROR(TakeInput(given[n], inputs[n]));
    for (int s = 0; s < std::ssize(pipeline_.steps()); ++s) {
      MDH_RETURN_IF_ERROR(Compute(s));
      if (after_step) after_step(s, *this);
    }
    return absl::OkStatus();
  }

  ElementType TypeOf(int buffer) const {
    const ElementType& type = pipeline_.buffers()[buffer].type;
    return is_wide_ ? WideType(type) : type;
  }
  std::vector<const std::byte*> InputsOf(int step) const {
    std::vector<const std::byte*> inputs;
    for (const int b : pipeline_.steps()[step].inputs) inputs.push_back(contents_[b]);
    return inputs;
  }
  // Of a buffer that a step has written.
  std::byte* ElementAt(int buffer, int64_t element) {
    return memory_[buffer].data() + element * TypeOf(buffer).size_bytes();
  }

 private:
  Status Allocate(int buffer) {
    const int64_t bytes = pipeline_.buffers()[buffer].elements() * TypeOf(buffer).size_bytes();
    MDH_ASSIGN_OR_RETURN(memory_[buffer], GuardedMemory::Create(bytes, GuardedMemory::Zones::kNone,
                                                                GuardedMemory::Sharing::kPrivate));
    contents_[buffer] = memory_[buffer].data();
    return absl::OkStatus();
  }

  Status TakeInput(int buffer, const std::byte* bytes) {
    contents_[buffer] = bytes;
    const ElementType& type = pipeline_.buffers()[buffer].type;
    const ElementType wide = TypeOf(buffer);
    if (wide == type) return absl::OkStatus();
    MDH_RETURN_IF_ERROR(Allocate(buffer));
    for (const int64_t e : demanded_.ElementsOf(buffer)) {
      ConvertElement(bytes + e * type.size_bytes(), type, wide, ElementAt(buffer, e));
    }
    return absl::OkStatus();
  }

  Status Compute(int s) {
    const PipelineStep& step = pipeline_.steps()[s];
    const Expression expression = is_wide_ ? WideStep(step.expression) : step.expression;
    for (const int b : step.outputs) MDH_RETURN_IF_ERROR(Allocate(b));
    const std::vector<const std::byte*> inputs = InputsOf(s);
    const double result_ns = InterpretedPointNs(expression) *
                             static_cast<double>(std::max<int64_t>(ReductionLength(expression), 1));
    ForRanges(
        demanded_.CountOf(s),
        [&](int64_t /*piece*/, int64_t begin, int64_t end) {
          PointInterpreter interpreter(expression, inputs, accumulation_);
          for (int64_t n = begin; n < end; ++n) {
            const absl::Span<const int64_t> point = demanded_.PointOf(s, n);
            Store(step, expression, point, interpreter.InterpretAt(point));
          }
        },
        std::max<int64_t>(static_cast<int64_t>(kPieceNs / result_ns), 1));
    return absl::OkStatus();
  }

  void Store(const PipelineStep& step, const Expression& expression,
             absl::Span<const int64_t> point, const std::vector<ScalarValue>& results) {
    for (size_t r = 0; r < results.size(); ++r) {
      const Expression::AccessRef at = expression.output_access(static_cast<int>(r));
      const Buffer& buffer = expression.outputs()[at.buffer];
      results[r].Store(memory_[step.outputs[at.buffer]].data() +
                       buffer.ElementAt(at.access, point) * buffer.type.size_bytes() +
                       buffer.type.fields()[at.field].offset_bytes);
    }
  }

  const Pipeline& pipeline_;
  const DemandedPoints& demanded_;
  const bool is_wide_;
  const Accumulation accumulation_;
  std::vector<const std::byte*> contents_;  // per buffer
  std::vector<GuardedMemory> memory_;       // per buffer; empty where it is the caller's
};

// Calls visit(element, field) for what points of a step write to an output of it.
template <typename Points, typename Visit>
void VisitWritten(const Expression& expression, int output, const Points& points,
                  const Visit& visit) {
  const Buffer& buffer = expression.outputs()[output];
  for (const auto& point : points) {
    for (int a = 0; a < std::ssize(buffer.accesses); ++a) {
      const int64_t element = buffer.ElementAt(a, point);
      for (int f = 0; f < std::ssize(buffer.type.fields()); ++f) visit(element, f);
    }
  }
}

class Sampling {
 public:
  Sampling(const Pipeline& pipeline, absl::Span<const std::byte* const> inputs,
           const PipelineSampleOptions& options)
      : pipeline_(pipeline),
        inputs_(inputs),
        options_(options),
        is_narrow_(HasNarrowReals(pipeline)),
        chosen_(pipeline, options.seed, options.most_results),
        known_(pipeline.steps().size()),
        outputs_(pipeline.BuffersOf(Role::kOutput)) {}

  // As many results as fit into the time.
  Status Choose() {
    const int64_t start_ns = NowNs();
    const int runs = CountRuns();
    const auto limit_ns = static_cast<double>(options_.time_limit_ns);
    chosen_.AddUpTo(kPartForTrial * limit_ns);
    if (chosen_.is_empty()) chosen_.AddUpTo(limit_ns / runs);
    if (chosen_.is_empty()) return absl::OkStatus();
    // How many that are shows when few of them are computed.
    const int64_t chosen_ns = NowNs();
    MDH_RETURN_IF_ERROR(Run(Intermediates::kRounded, nullptr).status());
    const int64_t end_ns = NowNs();
    const double cost_ns = chosen_.demanded().cost_ns();
    const auto choosing = static_cast<double>(chosen_ns - start_ns) / cost_ns;
    const auto running = static_cast<double>(end_ns - chosen_ns) / cost_ns;
    const double left_ns = kPartAfterTrial * (limit_ns - static_cast<double>(end_ns - start_ns));
    // What is there is computed again, in each of the runs.
    chosen_.AddUpTo((left_ns + choosing * cost_ns) / (choosing + running * runs));
    return absl::OkStatus();
  }

  void ChooseOne(size_t output, absl::Span<const int64_t> point) {
    chosen_.Add(output, {point.begin(), point.end()},
                static_cast<double>(options_.time_limit_ns) / CountRuns());
  }

  Result<std::vector<ReferenceBuffer>> References() {
    MDH_ASSIGN_OR_RETURN(const Values rounded,
                         Run(Intermediates::kRounded,
                             [this](int s, PartialRun& run) { known_[s] = KnownOf(s, run); }));
    Values wide = rounded;
    if (is_narrow_) {
      MDH_ASSIGN_OR_RETURN(wide, Run(Intermediates::kWide, nullptr));
    }
    std::optional<Values> disturbed;
    if (MayErr()) {
      MDH_ASSIGN_OR_RETURN(disturbed, Run(Intermediates::kRounded,
                                          [this](int s, PartialRun& run) { AddErrors(s, run); }));
    }
    std::vector<ReferenceBuffer> references;
    for (size_t n = 0; n < outputs_.size(); ++n) {
      const auto [writer, position] = WriterOf(n);
      std::vector<ReferenceSample> samples;
      size_t number = 0;
      VisitWritten(ExpressionOf(writer), position, chosen_.PointsOf(n),
                   [&](int64_t element, int field) {
                     samples.push_back({element, field, wide[n][number++]});
                   });
      ReferenceBuffer reference =
          MakeSampledReference(ExpressionOf(writer), position, std::move(samples));
      reference.name = pipeline_.buffers()[outputs_[n]].name;
      for (size_t f = 0; f < reference.fields.size(); ++f) {
        reference.fields[f].tolerance = known_[writer][position].fields[f].tolerance;
        reference.fields[f].rounds = known_[writer][position].fields[f].rounds;
      }
      AddVariant({{}, kSlackOfRounding, rounded[n]}, reference);
      if (disturbed) AddVariant({{}, kSlackOfErrors, std::move((*disturbed)[n])}, reference);
      references.push_back(std::move(reference));
    }
    return references;
  }

 private:
  using Values = std::vector<std::vector<ScalarValue>>;  // per output, one per sample

  const Expression& ExpressionOf(int step) const { return pipeline_.steps()[step].expression; }

  // The step that writes output n of the pipeline, and which of its outputs that is.
  std::pair<int, int> WriterOf(size_t n) const {
    const int writer = pipeline_.writer(outputs_[n]);
    const std::vector<int>& written = pipeline_.steps()[writer].outputs;
    const auto place = std::ranges::find(written, outputs_[n]);
    return {writer, static_cast<int>(place - written.begin())};
  }

  int CountRuns() const { return is_narrow_ ? 3 : 2; }

  // Values of the results that were chosen.
  Result<Values> Run(Intermediates intermediates,
                     const std::function<void(int, PartialRun&)>& after_step) {
    PartialRun run(pipeline_, chosen_.demanded(), intermediates, options_.accumulation);
    MDH_RETURN_IF_ERROR(run.Run(inputs_, after_step));
    Values values;
    for (size_t n = 0; n < outputs_.size(); ++n) {
      const auto [writer, position] = WriterOf(n);
      values.push_back(ValuesOf(writer, position, chosen_.PointsOf(n), run));
    }
    return values;
  }

  template <typename Points>
  std::vector<ScalarValue> ValuesOf(int step, int output, const Points& points,
                                    PartialRun& run) const {
    const int b = pipeline_.steps()[step].outputs[output];
    const ElementType& type = pipeline_.buffers()[b].type;
    const ElementType computed = run.TypeOf(b);
    std::vector<std::byte> converted(static_cast<size_t>(type.size_bytes()));
    std::vector<ScalarValue> values;
    VisitWritten(ExpressionOf(step), output, points, [&](int64_t element, int field) {
      if (field == 0) ConvertElement(run.ElementAt(b, element), computed, type, converted.data());
      const ElementType::Field& at = type.fields()[field];
      values.push_back(ScalarValue::Load(at.type, converted.data() + at.offset_bytes));
    });
    return values;
  }

  // What results of a step are compared by, as far as those that are needed tell.
  std::vector<ReferenceBuffer> KnownOf(int step, PartialRun& run) const {
    const Expression& e = ExpressionOf(step);
    const std::vector<absl::Span<const int64_t>> all = chosen_.demanded().PointsOf(step);
    std::vector<ChosenResults::Point> points;
    for (size_t n = 0; n < all.size(); n += std::max<size_t>(all.size() / kMostForScale, 1)) {
      points.emplace_back(all[n].begin(), all[n].end());
    }
    const std::vector<const std::byte*> inputs = run.InputsOf(step);
    double amplification = 1;
    if (!points.empty()) {
      const AmplificationOptions amplifying = {
          .seed = options_.seed,
          .point_ns = InterpretedPointNs(e),
          .limit_ns = kMostAmplificationOfStepNs,
          .known_point = [&](uint64_t random) { return points[random % points.size()]; }};
      amplification = AmplificationOf(e, inputs, amplifying).factor;
    }
    std::vector<ReferenceBuffer> known;
    for (int output = 0; output < std::ssize(e.outputs()); ++output) {
      const std::vector<ScalarValue> values = ValuesOf(step, output, points, run);
      std::vector<ReferenceSample> samples;
      VisitWritten(e, output, points, [&](int64_t element, int field) {
        samples.push_back({element, field, values[samples.size()]});
      });
      known.push_back(MakeSampledReference(e, output, std::move(samples), options_.tolerance_of(e),
                                           amplification, options_.distinct[step]));
    }
    return known;
  }

  bool MayErr() const { return pipeline_.steps().size() > 1 && HasTolerance(known_); }

  // Of results that other steps read.
  void AddErrors(int step, PartialRun& run) const {
    const std::vector<int>& outputs = pipeline_.steps()[step].outputs;
    for (int b = 0; b < std::ssize(outputs); ++b) {
      if (pipeline_.Readers(outputs[b]).empty()) continue;
      const uint64_t number = NumberOfErrors(options_.seed, step, b);
      VisitWritten(ExpressionOf(step), b, chosen_.demanded().PointsOf(step),
                   [&](int64_t element, int f) {
                     AddError(known_[step][b].fields[f], number ^ static_cast<uint64_t>(element),
                              run.ElementAt(outputs[b], element));
                   });
    }
  }

  const Pipeline& pipeline_;
  const absl::Span<const std::byte* const> inputs_;
  const PipelineSampleOptions& options_;
  const bool is_narrow_;
  ChosenResults chosen_;
  ReferencesOfSteps known_;  // of the run that rounds
  const std::vector<int> outputs_;
};

}  // namespace

void AddError(const ReferenceField& field, uint64_t number, std::byte* element) {
  if (!IsFloatingPoint(field.type) || field.tolerance <= 0) return;
  std::byte* const at = element + field.offset_bytes;
  const double value = ScalarValue::Load(field.type, at).as_double();
  if (!std::isfinite(value)) return;
  const double error = field.tolerance * std::max(std::abs(value), field.rms);
  const bool is_larger = (Mixed(number) & 1) != 0;
  ScalarValue::Real(field.type, value + (is_larger ? error : -error)).Store(at);
}

uint64_t NumberOfErrors(uint64_t seed, int step, int output) {
  return Mixed(seed + 64 * static_cast<uint64_t>(step) + static_cast<uint64_t>(output));
}

bool HasTolerance(const ReferencesOfSteps& references) {
  const auto has_tolerance = [](const ReferenceBuffer& one) {
    return std::ranges::any_of(one.fields,
                               [](const ReferenceField& field) { return field.tolerance > 0; });
  };
  return std::ranges::any_of(
      references, [&](const auto& of_step) { return std::ranges::any_of(of_step, has_tolerance); });
}

Result<std::vector<ReferenceBuffer>> SamplePipeline(const Pipeline& pipeline,
                                                    absl::Span<const std::byte* const> inputs,
                                                    const PipelineSampleOptions& options) {
  Sampling sampling(pipeline, inputs, options);
  MDH_RETURN_IF_ERROR(sampling.Choose());
  return sampling.References();
}

Result<ReferenceBuffer> SampleResult(const Pipeline& pipeline,
                                     absl::Span<const std::byte* const> inputs, size_t output,
                                     absl::Span<const int64_t> point,
                                     const PipelineSampleOptions& options) {
  Sampling sampling(pipeline, inputs, options);
  sampling.ChooseOne(output, point);
  MDH_ASSIGN_OR_RETURN(std::vector<ReferenceBuffer> references, sampling.References());
  return std::move(references[output]);
}

}  // namespace mdh
