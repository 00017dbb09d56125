#include "core/pipeline/plan/step_fusions.h"

#include <algorithm>

#include "core/expression/canonical.h"
#include "core/pipeline/absorb_reader.h"
#include "core/pipeline/inline_producer.h"
#include "core/pipeline/merge_contractions.h"
#include "core/pipeline/merge_siblings.h"
#include "core/pipeline/plan/contraction_orders.h"
#include "core/pipeline/plan/step_cost.h"
#include "core/pipeline/split_contraction.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

bool Combines(const Expression& expression) {
  return expression.has_reduction() || expression.has_prefix_sum();
}

std::vector<int> Sorted(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// Two steps of a pipeline as one.
Result<Pipeline> Fuse(const Pipeline& pipeline, int producer, int consumer, EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kInline:
      return InlineProducer(pipeline, producer, consumer);
    case EdgeKind::kEpilogue:
      return AbsorbReader(pipeline, producer, consumer);
    case EdgeKind::kContraction:
      return MergeContractions(pipeline, producer, consumer);
    case EdgeKind::kSiblings:
      return MergeSiblings(pipeline, producer, consumer);
    case EdgeKind::kStage:
    case EdgeKind::kSplit:
      break;
  }
  return pipeline;
}

}  // namespace

Status FusionObstacle(const Pipeline& pipeline, const PlannedEdge& edge,
                      const PlanOptions& options) {
  const Expression& producer = pipeline.steps()[edge.producer].expression;
  const Expression& consumer = pipeline.steps()[edge.consumer].expression;
  const bool reorders = edge.kind == EdgeKind::kContraction || edge.kind == EdgeKind::kSplit;
  if (reorders && !MayReorder(consumer, options)) {
    return FailedPrecondition("the sums of ", consumer.name(), " may not be reordered");
  }
  if (edge.kind == EdgeKind::kSplit) return SplitContraction(pipeline, edge.consumer).status();
  if (edge.kind == EdgeKind::kContraction && !Combines(producer)) {
    return FailedPrecondition(producer.name(), " combines nothing; it can be inlined");
  }
  return Fuse(pipeline, edge.producer, edge.consumer, edge.kind).status();
}

int StepFusions::Add(PipelineStep step) {
  const auto key = std::make_tuple(CanonicalForm(step.expression), step.inputs, step.outputs);
  const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<int>(steps_.size()));
  if (!is_new) return entry->second;
  const int data_flow = data_flows_
                            .try_emplace({Sorted(step.inputs), Sorted(step.outputs)},
                                         static_cast<int>(data_flows_.size()))
                            .first->second;
  const int64_t bytes = step.expression.CompulsoryBytes();
  const int64_t operations = OperationsOf(step.expression);
  const double cost = CostOf(step.expression, options_.operations_per_byte);
  steps_.push_back({std::move(step), data_flow, bytes, operations, cost});
  return entry->second;
}

const FusedSteps* StepFusions::Fused(const std::vector<int>& steps, int producer, int consumer,
                                     EdgeKind kind) {
  // Which outputs of the producer others need.
  std::vector<bool> is_needed;
  for (const int output : steps_[producer].step.outputs) {
    bool needed = pipeline_.buffers()[output].role == Role::kOutput;
    for (const int s : steps) {
      if (s < 0 || s == producer || s == consumer) continue;
      const std::vector<int>& inputs = steps_[s].step.inputs;
      needed = needed || std::ranges::count(inputs, output) > 0;
    }
    is_needed.push_back(needed);
  }
  const auto key = std::make_tuple(producer, consumer, kind, is_needed);
  if (const auto known = fused_.find(key); known != fused_.end()) return &known->second;
  if (static_cast<int>(fused_.size()) >= options_.max_rewrites) return nullptr;
  return &fused_.emplace(key, Rewritten(producer, consumer, kind, is_needed)).first->second;
}

FusedSteps StepFusions::Rewritten(int producer, int consumer, EdgeKind kind,
                                  const std::vector<bool>& is_needed) {
  const bool combines = Combines(steps_[producer].step.expression);
  const bool writes_more = std::ranges::count(is_needed, true) > 0;
  // A producer that combines nothing and is needed by the consumer alone is the same inlined.
  if (kind == EdgeKind::kEpilogue && !combines && !writes_more) return {};
  const bool may_merge =
      combines && !writes_more && MayReorder(steps_[consumer].step.expression, options_);
  if (kind == EdgeKind::kContraction && !may_merge) return {};
  const Pipeline two = TwoSteps(steps_[producer].step, steps_[consumer].step, is_needed);
  const Result<Pipeline> rewritten = Fuse(two, 0, 1, kind);
  if (!rewritten.ok()) return {};
  std::vector<int> numbers, made_steps;
  for (const PipelineBuffer& buffer : rewritten->buffers()) {
    numbers.push_back(NumberOf(buffer.name));
  }
  for (PipelineStep step : rewritten->steps()) {
    for (int& b : step.inputs) b = numbers[b];
    for (int& b : step.outputs) b = numbers[b];
    made_steps.push_back(Add(std::move(step)));
  }
  if (kind == EdgeKind::kEpilogue || kind == EdgeKind::kSiblings) return {true, made_steps[0], -1};
  // The producer is still there if others need it: it may stand behind the consumer.
  if (made_steps.size() == 1) return {true, -1, made_steps[0]};
  const std::vector<int>& outputs = steps_[consumer].step.outputs;
  const bool is_first = steps_[made_steps[0]].step.outputs == outputs;
  return {true, made_steps[is_first ? 1 : 0], made_steps[is_first ? 0 : 1]};
}

// A pipeline of these steps alone, with the names of the buffers.
Pipeline StepFusions::TwoSteps(PipelineStep producer, PipelineStep consumer,
                               const std::vector<bool>& is_needed) const {
  PipelineSpec spec{.name = pipeline_.name(), .buffers = {}, .steps = {}};
  std::map<int, int> numbers;
  const auto add = [&](std::vector<int>* buffers, Role role) {
    for (int& b : *buffers) {
      const auto [entry, is_new] = numbers.try_emplace(b, static_cast<int>(spec.buffers.size()));
      if (is_new) spec.buffers.push_back({.name = pipeline_.buffers()[b].name, .role = role});
      b = entry->second;
    }
  };
  add(&producer.outputs, Role::kOutput);
  for (size_t o = 0; o < is_needed.size(); ++o) {
    const auto& inputs = consumer.inputs;
    const bool is_read = std::ranges::count(inputs, NumberOf(spec.buffers[o].name)) > 0;
    if (!is_needed[o] && is_read) spec.buffers[o].role = Role::kTemporary;
  }
  add(&consumer.outputs, Role::kOutput);
  add(&producer.inputs, Role::kInput);
  add(&consumer.inputs, Role::kInput);
  spec.steps = {std::move(producer), std::move(consumer)};
  return *Pipeline::Create(std::move(spec));
}

int StepFusions::NumberOf(const std::string& name) const {
  const auto found = std::ranges::find(pipeline_.buffers(), name, &PipelineBuffer::name);
  return static_cast<int>(found - pipeline_.buffers().begin());
}

}  // namespace mdh
