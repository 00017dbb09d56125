#include "core/pipeline/plan/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/round.h"
#include "core/expression/progression.h"
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
  std::vector<EdgeKind> kinds;  // of the edges so far
  std::vector<int> steps;       // numbers of planned steps, one per step that is left
  // Of every step of the pipeline the position of what it has become in `steps`; -1: it is gone.
  std::vector<int> position;
  double cost = 0;
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
    first.cost = CostOf(first);
    std::vector<PartialPlan> plans = {std::move(first)};
    for (const PlannedEdge& edge : edges_) Decide(edge, &plans);
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

  int Add(PipelineStep step) {
    const int64_t bytes = step.expression.CompulsoryBytes();
    const int64_t operations = OperationsOf(step.expression);
    const double cost =
        static_cast<double>(bytes) + static_cast<double>(operations) / options_.operations_per_byte;
    steps_.push_back({std::move(step), bytes, operations, cost});
    return static_cast<int>(steps_.size()) - 1;
  }

  double CostOf(const PartialPlan& plan) const {
    double cost = 0;
    for (const int s : plan.steps) cost += s < 0 ? 0 : steps_[s].cost;
    return cost;
  }

  // Every plan with every kind of this edge; the cheapest are kept, and the one without fusion.
  void Decide(const PlannedEdge& edge, std::vector<PartialPlan>* plans) {
    std::vector<PartialPlan> decided;
    for (const PartialPlan& plan : *plans) {
      for (const EdgeKind kind : {EdgeKind::kStage, EdgeKind::kInline}) {
        std::optional<PartialPlan> next = With(plan, edge, kind);
        if (next.has_value()) decided.push_back(*std::move(next));
      }
    }
    const auto is_unfused = [](const PartialPlan& plan) {
      return std::all_of(plan.kinds.begin(), plan.kinds.end(),
                         [](EdgeKind kind) { return kind == EdgeKind::kStage; });
    };
    std::stable_sort(decided.begin(), decided.end(),
                     [](const PartialPlan& a, const PartialPlan& b) { return a.cost < b.cost; });
    const size_t most = std::max(1, options_.max_partitions);
    if (decided.size() > most) {
      const auto unfused = std::find_if(decided.begin(), decided.end(), is_unfused);
      if (unfused - decided.begin() >= static_cast<int64_t>(most)) {
        decided[most - 1] = std::move(*unfused);
      }
      decided.resize(most);
    }
    *plans = std::move(decided);
  }

  std::optional<PartialPlan> With(const PartialPlan& plan, const PlannedEdge& edge, EdgeKind kind) {
    PartialPlan next = plan;
    next.kinds.push_back(kind);
    if (kind == EdgeKind::kStage) return next;
    const int producer = plan.position[edge.producer], consumer = plan.position[edge.consumer];
    if (producer < 0 || consumer < 0 || producer == consumer) return std::nullopt;
    const std::pair<int, int>* fused =
        Fused(plan, plan.steps[producer], plan.steps[consumer], kind);
    if (fused == nullptr || fused->second < 0) return std::nullopt;
    next.steps[producer] = fused->first;
    next.steps[consumer] = fused->second;
    if (fused->first < 0) next.position[edge.producer] = -1;
    next.cost = CostOf(next);
    return next;
  }

  // What two planned steps become: the producer (-1 if it is gone) and the consumer (-1 if that is
  // not legal). Null if enough has been tried.
  const std::pair<int, int>* Fused(const PartialPlan& plan, int producer, int consumer,
                                   EdgeKind kind) {
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
    return &fused_.emplace(key, Rewritten(producer, consumer, is_needed)).first->second;
  }

  std::pair<int, int> Rewritten(int producer, int consumer, const std::vector<bool>& is_needed) {
    const Result<Pipeline> rewritten =
        InlineProducer(TwoSteps(steps_[producer].step, steps_[consumer].step, is_needed), 0, 1);
    if (!rewritten.ok()) return {-1, -1};
    std::vector<int> numbers;
    for (const PipelineBuffer& buffer : rewritten->buffers()) {
      numbers.push_back(NumberOf(buffer.name));
    }
    std::vector<int> made;
    for (PipelineStep step : rewritten->steps()) {
      for (int& b : step.inputs) b = numbers[b];
      for (int& b : step.outputs) b = numbers[b];
      made.push_back(Add(std::move(step)));
    }
    return made.size() == 1 ? std::pair(-1, made[0]) : std::pair(made[0], made[1]);
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
  std::map<std::tuple<int, int, EdgeKind, std::vector<bool>>, std::pair<int, int>> fused_;
};

}  // namespace

bool Partition::is_unfused() const {
  return std::all_of(edges.begin(), edges.end(),
                     [](const PlannedEdge& edge) { return edge.kind == EdgeKind::kStage; });
}

std::vector<Partition> PlanPartitions(const Pipeline& pipeline, const PlanOptions& options) {
  return Planner(pipeline, options).Plan();
}

}  // namespace mdh
