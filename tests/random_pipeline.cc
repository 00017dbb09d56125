// Random pipelines.
#include "tests/random_pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/random_keyed.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// A step that copies what lies in memory like this.
Result<Expression> CopyOf(const Buffer& memory) {
  Buffer view{.name = "x", .type = memory.type, .extents = memory.extents, .accesses = {{}}};
  view.extents_given = true;
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < memory.extents.size(); ++d) {
    dimensions.push_back({absl::StrCat("i", d + 1), memory.extents[d]});
    AffineIndex index{std::vector<int64_t>(memory.extents.size(), 0), 0};
    index.coefficients[d] = 1;
    view.accesses[0].indices.push_back(std::move(index));
  }
  std::vector<TypedName> parameters, results;
  std::vector<ScalarInstruction> instructions;
  std::vector<int> values;
  for (const ElementType::Field& field : memory.type.fields()) {
    const auto n = static_cast<int>(parameters.size());
    parameters.push_back({absl::StrCat("a", n), field.type});
    results.push_back({absl::StrCat("b", n), field.type});
    instructions.push_back({ScalarOp::kParameter, field.type, {}, n});
    values.push_back(n);
  }
  MDH_ASSIGN_OR_RETURN(ScalarFunction copy,
                       ScalarFunction::Create("f", parameters, results, instructions, values));
  Buffer output = view;
  output.name = "y";
  return Expression::Create(
      {.name = "copy",
       .dimensions = dimensions,
       .inputs = {view},
       .outputs = {output},
       .function = std::move(copy),
       .combine_operators = std::vector(dimensions.size(), CombineOperator::Concat()),
       .index_dimensions = {}});
}

class PipelineMaker {
 public:
  PipelineMaker(Rng& rng, const RandomPipelineOptions& options) : rng_(rng), options_(options) {}

  Result<Pipeline> Make() {
    spec_.name = "random";
    const int64_t steps =
        options_.min_steps + Below(rng_, options_.max_steps - options_.min_steps + 1);
    for (int64_t s = 0; s < steps; ++s) {
      const bool repeats = s > 0 && Below(rng_, 10) == 0;
      const bool is_keyed =
          !repeats && options_.keyed_one_in > 0 && Below(rng_, options_.keyed_one_in) == 0;
      AppendStep(repeats ? AnyOf(rng_, spec_.steps) : is_keyed ? NewKeyedStep() : NewStep());
    }
    for (size_t b = 0; b < spec_.buffers.size(); ++b) {
      if (spec_.buffers[b].role == Role::kInput) continue;
      const bool is_output = !is_read_[b] || memory_[b].keeps_unreached || Below(rng_, 4) == 0;
      spec_.buffers[b].role = is_output ? Role::kOutput : Role::kTemporary;
    }
    return Pipeline::Create(std::move(spec_));
  }

 private:
  // What a step may read: anything but what keeps elements, and what is too large for an expression
  // of these options, as results by key may be.
  std::vector<int> Readable() const {
    std::vector<int> numbers;
    for (size_t b = 0; b < memory_.size(); ++b) {
      const bool is_small = memory_[b].elements() <= options_.expression.max_buffer_elements;
      if (is_small && !memory_[b].keeps_unreached) numbers.push_back(static_cast<int>(b));
    }
    return numbers;
  }

  // A step that reads one or two of the buffers that there are, preferably late ones; the inputs
  // that are left are new.
  PipelineStep NewStep() {
    RandomExpressionOptions options = options_.expression;
    std::vector<int> inputs;
    const std::vector<int> readable = Readable();
    for (int64_t n = readable.empty() ? 0 : 1 + Below(rng_, 2); n > 0; --n) {
      inputs.push_back(Below(rng_, 2) == 0 ? readable.back() : AnyOf(rng_, readable));
      options.given_inputs.push_back(memory_[inputs.back()]);
    }
    Expression expression = RandomExpression(rng_, options);
    for (size_t n = inputs.size(); n < expression.passed_inputs().size(); ++n) {
      inputs.push_back(NewBuffer("x", Role::kInput, expression.passed_inputs()[n]));
    }
    return {std::move(expression), std::move(inputs), {}};
  }

  // A step of which half of the inputs are copies.
  PipelineStep NewKeyedStep() {
    Expression expression = RandomKeyedExpression(rng_, options_.expression);
    std::vector<int> inputs;
    for (const Buffer& input : expression.passed_inputs()) {
      const bool is_copy = input.is_dense() && !input.extents.empty() && Below(rng_, 2) == 0;
      Result<Expression> copy = absl::NotFoundError("none");
      if (is_copy) copy = CopyOf(input);
      if (copy.ok()) {
        const int from = NewBuffer("x", Role::kInput, copy->inputs()[0]);
        AppendStep({*std::move(copy), {from}, {}});
        inputs.push_back(spec_.steps.back().outputs[0]);
      } else {
        inputs.push_back(NewBuffer("x", Role::kInput, input));
      }
    }
    return {std::move(expression), std::move(inputs), {}};
  }

  void AppendStep(PipelineStep step) {
    for (const int b : step.inputs) is_read_[b] = true;
    step.outputs.clear();
    for (const Buffer& output : step.expression.outputs()) {
      step.outputs.push_back(NewBuffer("y", Role::kTemporary, output));
    }
    spec_.steps.push_back(std::move(step));
  }

  int NewBuffer(const char* prefix, Role role, const Buffer& memory) {
    const int number = static_cast<int>(memory_.size());
    spec_.buffers.push_back({.name = absl::StrCat(prefix, number), .role = role});
    memory_.push_back(memory);
    is_read_.push_back(false);
    return number;
  }

  Rng& rng_;
  const RandomPipelineOptions& options_;
  PipelineSpec spec_;
  std::vector<Buffer> memory_;  // of every buffer: how a step sees it
  std::vector<bool> is_read_;
};

}  // namespace

Pipeline RandomPipeline(Rng& rng, const RandomPipelineOptions& options) {
  for (;;) {
    Result<Pipeline> pipeline = PipelineMaker(rng, options).Make();
    if (pipeline.ok()) return *std::move(pipeline);
  }
}

std::vector<BufferBytes> RandomSpecialInputs(Rng& rng, const Pipeline& pipeline) {
  const bool keeps_values =
      std::all_of(pipeline.steps().begin(), pipeline.steps().end(),
                  [](const PipelineStep& step) { return KeepsValues(step.expression); });
  std::vector<BufferBytes> inputs;
  for (const int b : pipeline.BuffersOf(Role::kInput)) {
    const PipelineBuffer& buffer = pipeline.buffers()[b];
    inputs.push_back(RandomSpecialContents(rng, buffer.type, buffer.elements(), keeps_values));
  }
  return inputs;
}

std::vector<BufferBytes> RandomInputs(Rng& rng, const Pipeline& pipeline) {
  std::vector<BufferBytes> inputs;
  for (const int b : pipeline.BuffersOf(Role::kInput)) {
    const PipelineBuffer& buffer = pipeline.buffers()[b];
    inputs.push_back(RandomContents(rng, buffer.type, buffer.elements()));
  }
  return inputs;
}

}  // namespace mdh
