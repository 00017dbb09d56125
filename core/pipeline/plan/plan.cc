#include "core/pipeline/plan/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/round.h"
#include "core/expression/canonical.h"
#include "core/expression/progression.h"
#include "core/pipeline/rewrites/absorb_reader.h"
#include "core/pipeline/rewrites/inline_producer.h"
#include "core/pipeline/rewrites/step_builder.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// Of any type, but for the reading of parameters and constants.
int64_t OperationsOf(const ScalarFunction& function) {
  return std::count_if(function.instructions().begin(), function.instructions().end(),
                       [](const ScalarInstruction& instruction) {
                         return instruction.op != ScalarOp::kParameter &&
                                instruction.op != ScalarOp::kConstant;
                       });
}

int64_t OperationsOf(const Expression& expression) {
  int64_t per_point = OperationsOf(expression.function());
  if (expression.has_reduction() || expression.has_prefix_sum()) {
    per_point += OperationsOf(expression.reduction().function());
  }
  const int64_t operations = MultiplyOrLargest(expression.points(), per_point);
  if (expression.store() == nullptr) return operations;
  return AddOrLargest(operations, MultiplyOrLargest(expression.result_points(),
                                                    OperationsOf(expression.store()->function)));
}

// A step, as it is or made of several, with its cost. Buffers have the numbers that they have in
// the pipeline that is planned.
struct PlannedStep {
  PipelineStep step;
  int64_t bytes;
  int64_t operations;
  double cost;
};

// What is decided so far.
struct PartialPlan {
  std::vector<EdgeKind> kinds;  // of all edges; what is not decided yet is staged
  std::vector<int> steps;       // numbers of planned steps, one per step that is left
  // Of every step of the pipeline the position of what it has become in `steps`; -1: it is gone.
  std::vector<int> position;
  std::vector<int> left;  // the steps, ascending
  double cost = 0;
};

// Numbers of planned steps; -1: it is gone.
struct FusedSteps {
  bool is_legal = false;
  int producer = -1, consumer = -1;
};

class Planner {
 public:
  Planner(const Pipeline& pipeline, const PlanOptions& options)
      : pipeline_(pipeline), options_(options) {
    for (int consumer = 0; consumer < StepCount(); ++consumer) {
      for (int producer = 0; producer < consumer; ++producer) {
        if (Reads(pipeline.steps()[consumer], pipeline.steps()[producer])) {
          edges_.push_back({producer, consumer, EdgeKind::kStage});
        }
      }
    }
  }

  std::vector<Partition> Plan() {
    PartialPlan first;
    for (int s = 0; s < StepCount(); ++s) {
      first.position.push_back(s);
      first.steps.push_back(Add(pipeline_.steps()[s]));
    }
    first.kinds.assign(edges_.size(), EdgeKind::kStage);
    first.left = first.steps;
    std::sort(first.left.begin(), first.left.end());
    first.cost = CostOf(first);
    std::vector<PartialPlan> plans = {std::move(first)};
    for (int consumer = 0; consumer < StepCount(); ++consumer) {
      // What a step computes for itself is decided first: as part of another one it reads that
      // only.
      for (const EdgeKind kind : {EdgeKind::kInline, EdgeKind::kEpilogue}) {
        for (size_t e = 0; e < edges_.size(); ++e) {
          if (edges_[e].consumer == consumer) Try(kind, e, &plans);
        }
      }
    }
    std::vector<Partition> partitions;
    for (const PartialPlan& plan : plans) {
      std::optional<Partition> partition = ToPartition(plan);
      if (partition.has_value()) partitions.push_back(*std::move(partition));
    }
    return partitions;
  }

 private:
  int StepCount() const { return static_cast<int>(pipeline_.steps().size()); }

  static bool Reads(const PipelineStep& reader, const PipelineStep& writer) {
    return std::any_of(writer.outputs.begin(), writer.outputs.end(), [&](int output) {
      return std::count(reader.inputs.begin(), reader.inputs.end(), output) > 0;
    });
  }

  // The number of the step; equal ones have one.
  int Add(PipelineStep step) {
    const auto key = std::make_tuple(CanonicalForm(step.expression), step.inputs, step.outputs);
    const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<int>(steps_.size()));
    if (!is_new) return entry->second;
    const int64_t bytes = step.expression.CompulsoryBytes();
    const int64_t operations = OperationsOf(step.expression);
    const double cost =
        static_cast<double>(bytes) + static_cast<double>(operations) / options_.operations_per_byte;
    steps_.push_back({std::move(step), bytes, operations, cost});
    return entry->second;
  }

  double CostOf(const PartialPlan& plan) const {
    double cost = 0;
    for (const int s : plan.steps) cost += s < 0 ? 0 : steps_[s].cost;
    return cost;
  }

  // Every plan as it is and, where it is legal, with this kind of an edge that was staged; the
  // cheapest are kept, and the one without fusion.
  void Try(EdgeKind kind, size_t edge, std::vector<PartialPlan>* plans) {
    std::vector<PartialPlan> tried;
    for (const PartialPlan& plan : *plans) {
      if (plan.kinds[edge] != EdgeKind::kStage) continue;
      std::optional<PartialPlan> next = With(plan, edge, kind);
      if (next.has_value()) tried.push_back(*std::move(next));
    }
    for (PartialPlan& plan : tried) {
      // Other decisions may have made the same.
      const auto is_same = [&](const PartialPlan& other) { return other.left == plan.left; };
      if (std::none_of(plans->begin(), plans->end(), is_same)) plans->push_back(std::move(plan));
    }
    std::stable_sort(plans->begin(), plans->end(),
                     [](const PartialPlan& a, const PartialPlan& b) { return a.cost < b.cost; });
    const size_t most = std::max(1, options_.max_partitions);
    if (plans->size() <= most) return;
    const auto unfused = std::find_if(plans->begin(), plans->end(), [](const PartialPlan& plan) {
      return std::all_of(plan.kinds.begin(), plan.kinds.end(),
                         [](EdgeKind one) { return one == EdgeKind::kStage; });
    });
    if (unfused - plans->begin() >= static_cast<int64_t>(most)) {
      (*plans)[most - 1] = std::move(*unfused);
    }
    plans->resize(most);
  }

  std::optional<PartialPlan> With(const PartialPlan& plan, size_t edge, EdgeKind kind) {
    const int producer = plan.position[edges_[edge].producer];
    const int consumer = plan.position[edges_[edge].consumer];
    if (producer < 0 || consumer < 0 || producer == consumer) return std::nullopt;
    const FusedSteps* fused = Fused(plan, plan.steps[producer], plan.steps[consumer], kind);
    if (fused == nullptr || !fused->is_legal) return std::nullopt;
    PartialPlan next = plan;
    next.steps[producer] = fused->producer;
    next.steps[consumer] = fused->consumer;
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (plan.position[edges_[e].producer] == producer &&
          plan.position[edges_[e].consumer] == consumer) {
        next.kinds[e] = kind;
      }
    }
    for (int& position : next.position) {
      if (position == producer && fused->producer < 0) position = -1;
      if (position == consumer && fused->consumer < 0) position = producer;
    }
    if (kind == EdgeKind::kEpilogue && !CanRun(next.steps)) return std::nullopt;
    next.cost = CostOf(next);
    next.left = next.steps;
    std::sort(next.left.begin(), next.left.end());
    return next;
  }

  // Whether there is an order in which every step comes after those that write what it reads.
  bool CanRun(const std::vector<int>& steps) const {
    std::vector<bool> is_written(pipeline_.buffers().size(), false), is_done(steps.size(), false);
    for (const int input : pipeline_.BuffersOf(Role::kInput)) is_written[input] = true;
    size_t left = 0;
    for (size_t n = 0; n < steps.size(); ++n) {
      is_done[n] = steps[n] < 0;
      left += is_done[n] ? 0 : 1;
    }
    for (bool advances = true; advances && left > 0;) {
      advances = false;
      for (size_t n = 0; n < steps.size(); ++n) {
        if (is_done[n]) continue;
        const PipelineStep& step = steps_[steps[n]].step;
        if (!std::all_of(step.inputs.begin(), step.inputs.end(),
                         [&](int input) { return is_written[input]; })) {
          continue;
        }
        for (const int output : step.outputs) is_written[output] = true;
        is_done[n] = advances = true;
        --left;
      }
    }
    return left == 0;
  }

  // What two planned steps become; null if enough has been tried.
  const FusedSteps* Fused(const PartialPlan& plan, int producer, int consumer, EdgeKind kind) {
    // Which outputs of the producer others need.
    std::vector<bool> is_needed;
    for (const int output : steps_[producer].step.outputs) {
      bool needed = pipeline_.buffers()[output].role == Role::kOutput;
      for (const int s : plan.steps) {
        if (s < 0 || s == producer || s == consumer) continue;
        const std::vector<int>& inputs = steps_[s].step.inputs;
        needed = needed || std::count(inputs.begin(), inputs.end(), output) > 0;
      }
      is_needed.push_back(needed);
    }
    const auto key = std::make_tuple(producer, consumer, kind, is_needed);
    if (const auto known = fused_.find(key); known != fused_.end()) return &known->second;
    if (static_cast<int>(fused_.size()) >= options_.max_rewrites) return nullptr;
    return &fused_.emplace(key, Rewritten(producer, consumer, kind, is_needed)).first->second;
  }

  FusedSteps Rewritten(int producer, int consumer, EdgeKind kind,
                       const std::vector<bool>& is_needed) {
    const Expression& made = steps_[producer].step.expression;
    const bool combines = made.has_reduction() || made.has_prefix_sum();
    const bool writes_more = std::count(is_needed.begin(), is_needed.end(), true) > 0;
    // A producer that combines nothing and is needed by the consumer alone is the same inlined.
    if (kind == EdgeKind::kEpilogue && !combines && !writes_more) return {};
    const Pipeline two = TwoSteps(steps_[producer].step, steps_[consumer].step, is_needed);
    const Result<Pipeline> rewritten =
        kind == EdgeKind::kInline ? InlineProducer(two, 0, 1) : AbsorbReader(two, 0, 1);
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
    if (kind == EdgeKind::kEpilogue) return {true, made_steps[0], -1};
    // The producer is still there if others need it: it may stand behind the consumer.
    if (made_steps.size() == 1) return {true, -1, made_steps[0]};
    const std::vector<int>& outputs = steps_[consumer].step.outputs;
    const bool is_first = steps_[made_steps[0]].step.outputs == outputs;
    return {true, made_steps[is_first ? 1 : 0], made_steps[is_first ? 0 : 1]};
  }

  // A pipeline of these steps alone, with the names of the buffers.
  Pipeline TwoSteps(PipelineStep producer, PipelineStep consumer,
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
      const bool is_read =
          std::count(inputs.begin(), inputs.end(), NumberOf(spec.buffers[o].name)) > 0;
      if (!is_needed[o] && is_read) spec.buffers[o].role = Role::kTemporary;
    }
    add(&consumer.outputs, Role::kOutput);
    add(&producer.inputs, Role::kInput);
    add(&consumer.inputs, Role::kInput);
    spec.steps = {std::move(producer), std::move(consumer)};
    return *Pipeline::Create(std::move(spec));
  }

  int NumberOf(const std::string& name) const {
    const auto found =
        std::find_if(pipeline_.buffers().begin(), pipeline_.buffers().end(),
                     [&](const PipelineBuffer& buffer) { return buffer.name == name; });
    return static_cast<int>(found - pipeline_.buffers().begin());
  }

  std::optional<Partition> ToPartition(const PartialPlan& plan) const {
    PipelineSpec spec = pipeline_.spec();
    spec.steps.clear();
    int64_t bytes = 0, operations = 0;
    for (const int s : plan.steps) {
      if (s < 0) continue;
      spec.steps.push_back(steps_[s].step);
      bytes += steps_[s].bytes;
      operations += steps_[s].operations;
    }
    Result<Pipeline> pipeline = Reordered(std::move(spec));
    if (!pipeline.ok()) return std::nullopt;
    std::vector<PlannedEdge> edges = edges_;
    for (size_t e = 0; e < edges.size(); ++e) edges[e].kind = plan.kinds[e];
    return Partition{std::move(edges), *std::move(pipeline), bytes, operations};
  }

  const Pipeline& pipeline_;
  const PlanOptions& options_;
  std::vector<PlannedEdge> edges_;
  std::vector<PlannedStep> steps_;
  std::map<std::tuple<std::string, std::vector<int>, std::vector<int>>, int> numbers_;
  std::map<std::tuple<int, int, EdgeKind, std::vector<bool>>, FusedSteps> fused_;
};

}  // namespace

bool Partition::is_unfused() const {
  return std::all_of(edges.begin(), edges.end(),
                     [](const PlannedEdge& edge) { return edge.kind == EdgeKind::kStage; });
}

std::vector<Partition> PlanPartitions(const Pipeline& pipeline, const PlanOptions& options) {
  return Planner(pipeline, options).Plan();
}

std::optional<Partition> PartitionWith(const Pipeline& pipeline,
                                       const std::vector<PlannedEdge>& edges,
                                       const PlanOptions& options) {
  for (Partition& partition : PlanPartitions(pipeline, options)) {
    if (partition.edges == edges) return std::move(partition);
  }
  return std::nullopt;
}

}  // namespace mdh
