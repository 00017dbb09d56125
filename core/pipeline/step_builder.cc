#include "core/pipeline/step_builder.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/pipeline/inverse_view.h"
#include "core/scalar/free_names.h"

namespace mdh {

int FunctionBuilder::ValueOf(const Parameter& parameter, ScalarType type) {
  auto found = std::ranges::find(parameters_, parameter);
  if (found == parameters_.end()) found = parameters_.insert(found, parameter);
  // Build renumbers the parameters; equal instructions are shared when the function is made.
  return Append({ScalarOp::kParameter, type, {}, static_cast<int>(found - parameters_.begin())});
}

std::vector<int> FunctionBuilder::Read(int buffer, const Boundary& outside,
                                       const IndexFunction& access) {
  // Inside of the buffer a boundary makes no difference.
  auto input = std::ranges::find_if(inputs_, [&](const Input& one) {
    return one.buffer == buffer &&
           (one.outside == outside || one.outside.kind == Boundary::Kind::kNone ||
            outside.kind == Boundary::Kind::kNone);
  });
  if (input == inputs_.end()) input = inputs_.insert(input, Input{buffer, outside, {}});
  if (input->outside.kind == Boundary::Kind::kNone) input->outside = outside;
  auto found = std::ranges::find(input->accesses, access);
  if (found == input->accesses.end()) found = input->accesses.insert(found, access);
  Parameter parameter{.input = static_cast<int>(input - inputs_.begin()),
                      .access = static_cast<int>(found - input->accesses.begin())};
  std::vector<int> values;
  for (const ElementType::Field& field : buffers_[buffer].type.fields()) {
    parameter.field = static_cast<int>(values.size());
    values.push_back(ValueOf(parameter, field.type));
  }
  return values;
}

int FunctionBuilder::Index(const AffineIndex& index) {
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

int FunctionBuilder::ResultOfF(int r, ScalarType type) { return ValueOf({.result = r}, type); }

Status FunctionBuilder::AppendReads(const std::vector<Buffer>& views,
                                    const std::vector<int>& numbers, const StepPoint& point,
                                    std::vector<int>* values) {
  for (size_t b = 0; b < views.size(); ++b) {
    const Buffer& view = views[b];
    Boundary outside = view.boundary;
    if (point.may_be_outside && outside.kind == Boundary::Kind::kNone) {
      outside.kind = Boundary::Kind::kClamp;
    }
    for (int a = 0; a < static_cast<int>(view.accesses.size()); ++a) {
      std::vector<int> fields;
      if (point.known) {
        MDH_ASSIGN_OR_RETURN(fields, point.known(numbers[b], view, a));
      }
      if (fields.empty()) {
        const std::optional<IndexFunction> access =
            Composed(view.accesses[a], point.indices, dimensions_.size());
        if (!access.has_value()) return Obstacle("an index does not fit in 63 bits");
        fields = Read(numbers[b], outside, *access);
      }
      values->insert(values->end(), fields.begin(), fields.end());
    }
  }
  return absl::OkStatus();
}

Result<std::vector<int>> FunctionBuilder::ResultsAt(const PipelineStep& step,
                                                    const StepPoint& point) {
  const Expression& expression = step.expression;
  std::vector<int> arguments;
  MDH_RETURN_IF_ERROR(AppendReads(expression.inputs(), step.inputs, point, &arguments));
  for (const int d : expression.index_dimensions()) arguments.push_back(Index(point.indices[d]));
  return Apply(expression.function(), arguments);
}

Result<std::vector<int>> FunctionBuilder::StoredAt(const PipelineStep& step, const StepPoint& point,
                                                   std::vector<int> results) {
  const StoreFunction* store = step.expression.store();
  if (store == nullptr) return results;
  std::vector<int> numbers;
  for (int b = 0; b < static_cast<int>(store->inputs.size()); ++b) {
    numbers.push_back(step.inputs[step.expression.passed_store_input(b)]);
  }
  MDH_RETURN_IF_ERROR(AppendReads(store->inputs, numbers, point, &results));
  for (const int d : store->index_dimensions) results.push_back(Index(point.indices[d]));
  return Apply(store->function, results);
}

Result<FunctionBuilder::Built> FunctionBuilder::Build(
    const std::string& name, std::vector<TypedName> first, std::vector<TypedName> results,
    std::vector<int> values, const std::function<std::string(int buffer)>& name_of) const {
  std::vector<Buffer> views;
  std::vector<int> buffers, index_dimensions;
  std::vector<int> position(parameters_.size(), -1);  // of the parameters in the function
  const auto find = [&](const Parameter& parameter) {
    return std::ranges::find(parameters_, parameter) - parameters_.begin();
  };
  for (int r = 0; r < static_cast<int>(first.size()); ++r) {
    const auto found = find({.result = r});
    if (found < std::ssize(parameters_)) position[found] = r;
  }
  std::vector<TypedName> parameters = std::move(first);
  int number = 0;
  for (int b = 0; b < static_cast<int>(inputs_.size()); ++b) {
    const PipelineBuffer& memory = buffers_[inputs_[b].buffer];
    Buffer view{name_of(inputs_[b].buffer), memory.type, memory.extents, inputs_[b].accesses,
                /*extents_given=*/true};
    view.given_strides = memory.given_strides;
    view.boundary = inputs_[b].outside;
    for (int a = 0; a < static_cast<int>(view.accesses.size()); ++a) {
      ++number;
      for (int f = 0; f < static_cast<int>(memory.type.fields().size()); ++f) {
        const ElementType::Field& field = memory.type.fields()[f];
        position[find({.input = b, .access = a, .field = f})] = static_cast<int>(parameters.size());
        parameters.push_back(
            {absl::StrCat("x", number, field.name.empty() ? "" : ".", field.name), field.type});
      }
    }
    views.push_back(std::move(view));
    buffers.push_back(inputs_[b].buffer);
  }
  for (int d = 0; d < static_cast<int>(dimensions_.size()); ++d) {
    const auto found = find({.dimension = d});
    if (found == std::ssize(parameters_)) continue;
    position[found] = static_cast<int>(parameters.size());
    parameters.push_back({absl::StrCat("index", d + 1), ScalarType::kInt64});
    index_dimensions.push_back(d);
  }
  std::vector<ScalarInstruction> all = instructions();
  for (ScalarInstruction& instruction : all) {
    if (instruction.op == ScalarOp::kParameter) {
      instruction.parameter = position[instruction.parameter];
    }
  }
  results = NamedBeside(parameters, std::move(results));
  Result<ScalarFunction> function = ScalarFunction::Create(
      name, std::move(parameters), std::move(results), std::move(all), std::move(values));
  if (!function.ok()) return Obstacle(function.status().message());
  return Built{*std::move(function), std::move(views), std::move(buffers),
               std::move(index_dimensions)};
}

StepPoint StepBuilder::SamePoint() const {
  StepPoint point;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    AffineIndex index{std::vector<int64_t>(dimensions_.size(), 0), 0};
    index.coefficients[d] = 1;
    point.indices.push_back(std::move(index));
  }
  return point;
}

std::string StepBuilder::FreeName(int buffer, std::vector<std::string>* taken) const {
  const std::string& wanted = buffers_[buffer].name;
  std::string name = wanted;
  for (int n = 2; std::ranges::count(*taken, name) > 0; ++n) {
    name = absl::StrCat(wanted.substr(0, 120), "_", n);
  }
  taken->push_back(name);
  return name;
}

Result<PipelineStep> StepBuilder::Finish(std::string name, Outputs outputs,
                                         std::vector<int> results,
                                         std::vector<CombineOperator> operators,
                                         std::vector<int> stored) {
  std::vector<std::string> taken;
  std::vector<TypedName> result_names, stored_names;
  const bool has_store = !stored.empty();
  const auto stored_type = [&](size_t n) {
    return has_store ? store_.type(stored[n]) : f_.type(results[n]);
  };
  int number = 0;
  for (size_t b = 0; b < outputs.views.size(); ++b) {
    Buffer& view = outputs.views[b];
    view.name = FreeName(outputs.buffers[b], &taken);
    for (size_t a = 0; a < view.accesses.size(); ++a) {
      ++number;
      for (const ElementType::Field& field : view.type.fields()) {
        stored_names.push_back(
            {absl::StrCat("y", number, field.name.empty() ? "" : ".", field.name),
             stored_type(stored_names.size())});
      }
    }
  }
  for (size_t r = 0; has_store && r < results.size(); ++r) {
    result_names.push_back({absl::StrCat("r", r + 1), f_.type(results[r])});
  }
  std::map<int, std::string> names;  // of f's inputs, by their buffers
  MDH_ASSIGN_OR_RETURN(FunctionBuilder::Built f,
                       f_.Build("f", {}, has_store ? result_names : stored_names,
                                std::move(results), [&](int buffer) {
                                  const std::string view = FreeName(buffer, &taken);
                                  names.emplace(buffer, view);
                                  return view;
                                }));
  ExpressionSpec spec{.name = std::move(name),
                      .dimensions = dimensions_,
                      .inputs = std::move(f.views),
                      .outputs = std::move(outputs.views),
                      .function = std::move(f.function),
                      .combine_operators = std::move(operators),
                      .index_dimensions = std::move(f.index_dimensions)};
  std::vector<int> inputs = std::move(f.buffers);
  if (has_store) {
    // Under the name of an input of f it is that one, once.
    const size_t of_f = taken.size();
    const auto name_of = [&](int buffer) {
      const auto known = names.extract(buffer);
      return known.empty() ? FreeName(buffer, &taken) : known.mapped();
    };
    std::vector<bool> is_new;
    MDH_ASSIGN_OR_RETURN(
        FunctionBuilder::Built store,
        store_.Build("s", result_names, stored_names, std::move(stored), [&](int buffer) {
          std::string view = name_of(buffer);
          is_new.push_back(std::find(taken.begin(), taken.begin() + of_f, view) ==
                           taken.begin() + of_f);
          return view;
        }));
    for (size_t b = 0; b < store.buffers.size(); ++b) {
      if (is_new[b]) inputs.push_back(store.buffers[b]);
    }
    spec.store = StoreFunction{std::move(store.function), std::move(store.views),
                               std::move(store.index_dimensions)};
  }
  Result<Expression> expression = Expression::Create(std::move(spec));
  if (!expression.ok()) return Obstacle(expression.status().message());
  return PipelineStep{*std::move(expression), std::move(inputs), std::move(outputs.buffers)};
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
           (is_done[next] || !std::ranges::all_of(steps[next].inputs, is_ready))) {
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

}  // namespace mdh
