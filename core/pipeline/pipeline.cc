// What can be asked of a pipeline. The checks are in pipeline_checks.cc.
#include "core/pipeline/pipeline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/expression/progression.h"

namespace mdh {

int64_t PipelineBuffer::elements() const {
  Buffer memory;
  memory.extents = extents;
  memory.given_strides = given_strides;
  return memory.elements();
}

Pipeline::Pipeline(PipelineSpec spec) : spec_(std::move(spec)), writers_(spec_.buffers.size(), -1) {
  for (int s = 0; s < static_cast<int>(spec_.steps.size()); ++s) {
    for (const int b : spec_.steps[s].outputs) writers_[b] = s;
  }
}

Pipeline Pipeline::Of(Expression expression) {
  PipelineSpec spec{.name = expression.name(), .buffers = {}, .steps = {}};
  PipelineStep step{std::move(expression), {}, {}};
  const auto append = [&](const std::vector<Buffer>& buffers, PipelineBuffer::Role role,
                          std::vector<int>* numbers) {
    for (const Buffer& buffer : buffers) {
      numbers->push_back(static_cast<int>(spec.buffers.size()));
      spec.buffers.push_back({.name = buffer.name,
                              .role = role,
                              .type = buffer.type,
                              .extents = buffer.extents,
                              .given_strides = buffer.given_strides});
    }
  };
  append(step.expression.passed_inputs(), PipelineBuffer::Role::kInput, &step.inputs);
  append(step.expression.outputs(), PipelineBuffer::Role::kOutput, &step.outputs);
  spec.steps.push_back(std::move(step));
  return Pipeline(std::move(spec));
}

std::vector<int> Pipeline::BuffersOf(PipelineBuffer::Role role) const {
  std::vector<int> numbers;
  for (int b = 0; b < static_cast<int>(buffers().size()); ++b) {
    if (buffers()[b].role == role) numbers.push_back(b);
  }
  return numbers;
}

std::vector<int> Pipeline::Readers(int buffer) const {
  std::vector<int> readers;
  for (int s = 0; s < static_cast<int>(steps().size()); ++s) {
    const std::vector<int>& inputs = steps()[s].inputs;
    if (std::ranges::count(inputs, buffer) > 0) readers.push_back(s);
  }
  return readers;
}

const Expression* Pipeline::AsExpression() const {
  if (steps().size() > 1) return nullptr;
  const PipelineStep& step = steps().front();
  const bool passes_on = step.inputs == BuffersOf(PipelineBuffer::Role::kInput) &&
                         step.outputs == BuffersOf(PipelineBuffer::Role::kOutput);
  return passes_on ? &step.expression : nullptr;
}

int64_t Pipeline::BytesOf(PipelineBuffer::Role role) const {
  int64_t bytes = 0;
  for (const int b : BuffersOf(role)) bytes = AddOrLargest(bytes, buffers()[b].size_bytes());
  return bytes;
}

int64_t Pipeline::FloatingPointOperations() const {
  int64_t sum = 0;
  for (const PipelineStep& step : steps()) {
    if (__builtin_add_overflow(sum, step.expression.FloatingPointOperations(), &sum)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return sum;
}

}  // namespace mdh
