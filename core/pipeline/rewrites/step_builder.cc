#include "core/pipeline/rewrites/step_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {

int ValueBuilder::Constant(const ScalarValue& value) {
  return Append({ScalarOp::kConstant, value.type(), {}, -1, value});
}

int ValueBuilder::Converted(int value, ScalarType type) {
  return instructions_[value].type == type ? value : Append({ScalarOp::kCast, type, {value}});
}

std::vector<int> ValueBuilder::Apply(const ScalarFunction& f, absl::Span<const int> arguments) {
  std::vector<int> number;  // of each instruction of f
  for (ScalarInstruction instruction : f.instructions()) {
    if (instruction.op == ScalarOp::kParameter) {
      number.push_back(arguments[instruction.parameter]);
      continue;
    }
    for (int& operand : instruction.operands) operand = number[operand];
    number.push_back(Append(std::move(instruction)));
  }
  std::vector<int> results;
  for (const int result : f.result_instructions()) results.push_back(number[result]);
  return results;
}

int StepBuilder::ValueOf(const Parameter& parameter, ScalarType type) {
  auto found = std::find(parameters_.begin(), parameters_.end(), parameter);
  if (found == parameters_.end()) found = parameters_.insert(found, parameter);
  // Finish renumbers the parameters; equal instructions are shared when the function is made.
  return Append({ScalarOp::kParameter, type, {}, static_cast<int>(found - parameters_.begin())});
}

std::vector<int> StepBuilder::Read(int buffer, const Boundary& outside,
                                   const IndexFunction& access) {
  // Inside of the buffer a boundary makes no difference.
  auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& one) {
    return one.buffer == buffer &&
           (one.outside == outside || one.outside.kind == Boundary::Kind::kNone ||
            outside.kind == Boundary::Kind::kNone);
  });
  if (input == inputs_.end()) input = inputs_.insert(input, Input{buffer, outside, {}});
  if (input->outside.kind == Boundary::Kind::kNone) input->outside = outside;
  auto found = std::find(input->accesses.begin(), input->accesses.end(), access);
  if (found == input->accesses.end()) found = input->accesses.insert(found, access);
  Parameter parameter{static_cast<int>(input - inputs_.begin()),
                      static_cast<int>(found - input->accesses.begin())};
  std::vector<int> values;
  for (const ElementType::Field& field : buffers_[buffer].type.fields()) {
    parameter.field = static_cast<int>(values.size());
    values.push_back(ValueOf(parameter, field.type));
  }
  return values;
}

int StepBuilder::Index(const AffineIndex& index) {
  const auto integer = [&](int64_t value) {
    return Constant(ScalarValue::Integer(ScalarType::kInt64, value));
  };
  int sum = -1;
  const auto add = [&](int term) {
    sum = sum < 0 ? term : Append({ScalarOp::kAdd, ScalarType::kInt64, {sum, term}});
  };
  for (int d = 0; d < static_cast<int>(dimensions_.size()); ++d) {
    if (index.coefficients[d] == 0) continue;
    const int value = ValueOf({.dimension = d}, ScalarType::kInt64);
    add(index.coefficients[d] == 1
            ? value
            : Append(
                  {ScalarOp::kMul, ScalarType::kInt64, {integer(index.coefficients[d]), value}}));
  }
  if (sum < 0 || index.constant != 0) add(integer(index.constant));
  return sum;
}

std::vector<int> StepBuilder::Arguments(const PipelineStep& step) {
  const Expression& expression = step.expression;
  std::vector<int> values;
  for (size_t b = 0; b < expression.inputs().size(); ++b) {
    const Buffer& view = expression.inputs()[b];
    for (const IndexFunction& access : view.accesses) {
      for (const int value : Read(step.inputs[b], view.boundary, access)) values.push_back(value);
    }
  }
  for (const int d : expression.index_dimensions()) {
    AffineIndex index{std::vector<int64_t>(dimensions_.size(), 0), 0};
    index.coefficients[d] = 1;
    values.push_back(Index(index));
  }
  return values;
}

std::string StepBuilder::FreeName(int buffer, std::vector<std::string>* taken) const {
  const std::string& wanted = buffers_[buffer].name;
  std::string name = wanted;
  for (int n = 2; std::count(taken->begin(), taken->end(), name) > 0; ++n) {
    name = absl::StrCat(wanted.substr(0, 120), "_", n);
  }
  taken->push_back(name);
  return name;
}

Result<PipelineStep> StepBuilder::Finish(std::string name, std::vector<Buffer> outputs,
                                         std::vector<int> numbers, std::vector<int> results,
                                         std::vector<CombineOperator> operators) {
  std::vector<std::string> taken;
  for (size_t n = 0; n < outputs.size(); ++n) outputs[n].name = FreeName(numbers[n], &taken);
  std::vector<Buffer> inputs;
  std::vector<int> input_numbers, index_dimensions;
  std::vector<TypedName> parameters, result_names;
  std::vector<int> position(parameters_.size(), -1);  // in `parameters`
  const auto place = [&](const Parameter& parameter, TypedName parameter_name) {
    const auto found = std::find(parameters_.begin(), parameters_.end(), parameter);
    if (found == parameters_.end()) return false;
    position[found - parameters_.begin()] = static_cast<int>(parameters.size());
    parameters.push_back(std::move(parameter_name));
    return true;
  };
  int accesses = 0;
  for (size_t b = 0; b < inputs_.size(); ++b) {
    const PipelineBuffer& memory = buffers_[inputs_[b].buffer];
    Buffer view{FreeName(inputs_[b].buffer, &taken), memory.type, memory.extents,
                inputs_[b].accesses, /*extents_given=*/true};
    view.given_strides = memory.given_strides;
    view.boundary = inputs_[b].outside;
    for (int a = 0; a < static_cast<int>(view.accesses.size()); ++a) {
      ++accesses;
      for (int f = 0; f < static_cast<int>(memory.type.fields().size()); ++f) {
        const ElementType::Field& field = memory.type.fields()[f];
        place({static_cast<int>(b), a, f},
              {absl::StrCat("x", accesses, field.name.empty() ? "" : ".", field.name), field.type});
      }
    }
    inputs.push_back(std::move(view));
    input_numbers.push_back(inputs_[b].buffer);
  }
  for (int d = 0; d < static_cast<int>(dimensions_.size()); ++d) {
    const TypedName index{absl::StrCat("index", d + 1), ScalarType::kInt64};
    if (place({.dimension = d}, index)) index_dimensions.push_back(d);
  }
  std::vector<ScalarInstruction> instructions = instructions_;
  for (ScalarInstruction& instruction : instructions) {
    if (instruction.op == ScalarOp::kParameter) {
      instruction.parameter = position[instruction.parameter];
    }
  }
  int number = 0;
  for (const Buffer& output : outputs) {
    for (size_t a = 0; a < output.accesses.size(); ++a) {
      ++number;
      for (const ElementType::Field& field : output.type.fields()) {
        result_names.push_back(
            {absl::StrCat("y", number, field.name.empty() ? "" : ".", field.name),
             type(results[result_names.size()])});
      }
    }
  }
  Result<ScalarFunction> function =
      ScalarFunction::Create("f", std::move(parameters), std::move(result_names),
                             std::move(instructions), std::move(results));
  if (!function.ok()) return Obstacle(function.status().message());
  Result<Expression> expression =
      Expression::Create({.name = std::move(name),
                          .dimensions = dimensions_,
                          .inputs = std::move(inputs),
                          .outputs = std::move(outputs),
                          .function = *std::move(function),
                          .combine_operators = std::move(operators),
                          .index_dimensions = std::move(index_dimensions)});
  if (!expression.ok()) return Obstacle(expression.status().message());
  return PipelineStep{*std::move(expression), std::move(input_numbers), std::move(numbers)};
}

bool DependsOn(const Pipeline& pipeline, int to, int from) {
  // Steps that need it, in the order of the pipeline.
  std::vector<bool> needs(pipeline.steps().size(), false);
  needs[from] = true;
  for (int s = from + 1; s <= to; ++s) {
    for (const int input : pipeline.steps()[s].inputs) {
      const int writer = pipeline.writer(input);
      if (writer >= 0 && needs[writer]) needs[s] = true;
    }
  }
  return to != from && needs[to];
}

Result<Pipeline> Reordered(PipelineSpec spec) {
  std::vector<PipelineStep> steps = std::move(spec.steps);
  std::vector<int> writer(spec.buffers.size(), -1);
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const int output : steps[s].outputs) writer[output] = static_cast<int>(s);
  }
  // The next step is the first one that reads nothing that is still to be written.
  std::vector<bool> is_done(steps.size(), false), is_used(spec.buffers.size(), false);
  std::vector<size_t> order;
  while (order.size() < steps.size()) {
    const auto is_ready = [&](int input) { return writer[input] < 0 || is_done[writer[input]]; };
    size_t next = 0;
    while (next < steps.size() &&
           (is_done[next] ||
            !std::all_of(steps[next].inputs.begin(), steps[next].inputs.end(), is_ready))) {
      ++next;
    }
    if (next == steps.size()) return Obstacle("a step would need its own result");
    is_done[next] = true;
    order.push_back(next);
    for (const int b : steps[next].inputs) is_used[b] = true;
    for (const int b : steps[next].outputs) is_used[b] = true;
  }
  std::vector<int> renumbered(spec.buffers.size(), -1);
  std::vector<PipelineBuffer> buffers = std::move(spec.buffers);
  spec.buffers.clear();
  spec.steps.clear();
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (!is_used[b] && buffers[b].role == PipelineBuffer::Role::kTemporary) continue;
    renumbered[b] = static_cast<int>(spec.buffers.size());
    spec.buffers.push_back(std::move(buffers[b]));
  }
  for (const size_t s : order) {
    for (int& b : steps[s].inputs) b = renumbered[b];
    for (int& b : steps[s].outputs) b = renumbered[b];
    spec.steps.push_back(std::move(steps[s]));
  }
  Result<Pipeline> rewritten = Pipeline::Create(std::move(spec));
  if (!rewritten.ok()) return Obstacle(rewritten.status().message());
  return rewritten;
}

Status Obstacle(absl::string_view why) { return absl::FailedPreconditionError(why); }

}  // namespace mdh
