#include "core/pipeline/plan/plan.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/pipeline/plan/contraction_orders.h"
#include "core/pipeline/plan/step_fusions.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// What is decided so far.
struct PartialPlan {
  std::vector<EdgeKind> kinds;  // of all candidates; what is not decided yet is staged
  std::vector<int> steps;       // numbers of planned steps, one per step that is left
  // Of every step of the pipeline the position of what it has become in `steps`; -1: it is gone.
  std::vector<int> position;
  std::vector<int> data_flows;  // of the steps that are left, ascending
  double cost = 0;
};

struct NamedKind {
  EdgeKind kind;
  std::string_view name;
};
constexpr NamedKind kNamedKinds[] = {
    {EdgeKind::kStage, "stage"},       {EdgeKind::kInline, "inline"},
    {EdgeKind::kEpilogue, "epilogue"}, {EdgeKind::kContraction, "contraction"},
    {EdgeKind::kSiblings, "siblings"}, {EdgeKind::kSplit, "split"}};

bool Contains(const std::vector<PlannedEdge>& edges, const PlannedEdge& edge) {
  return std::ranges::find(edges, edge) != edges.end();
}

bool IsUnfused(const PartialPlan& plan) {
  return std::ranges::all_of(plan.kinds, [](EdgeKind one) { return one == EdgeKind::kStage; });
}

bool Reads(const PipelineStep& reader, const PipelineStep& writer) {
  return std::ranges::any_of(
      writer.outputs, [&](int output) { return std::ranges::count(reader.inputs, output) > 0; });
}

// Whether two steps read something together, and none what the other one writes.
bool AreSiblings(const PipelineStep& a, const PipelineStep& b) {
  return !Reads(a, b) && !Reads(b, a) && std::ranges::any_of(a.inputs, [&](int input) {
    return std::ranges::count(b.inputs, input) > 0;
  });
}

// Same sizes, combined in the same dimensions: what siblings have in common.
bool AreAlike(const Expression& a, const Expression& b) {
  if (a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.dimensions()[d].size != b.dimensions()[d].size ||
        a.is_reduction(d) != b.is_reduction(d) || a.is_prefix_sum(d) != b.is_prefix_sum(d)) {
      return false;
    }
  }
  return true;
}

// Partitions of one of the pipelines that mean the same.
class Planner {
 public:
  // `edges`: of the pipeline that is planned; all staged.
  Planner(const PlannedPipeline& planned, const std::vector<PlannedEdge>& edges,
          const PlanOptions& options)
      : planned_(planned),
        edges_(edges),
        pipeline_(planned.pipeline),
        options_(options),
        fusions_(planned.pipeline, options) {
    for (int consumer = 0; consumer < StepCount(); ++consumer) {
      for (int producer = 0; producer < consumer; ++producer) AddCandidates(producer, consumer);
    }
  }

  std::vector<Partition> Plan() {
    PartialPlan first;
    for (int s = 0; s < StepCount(); ++s) {
      first.position.push_back(s);
      first.steps.push_back(fusions_.Add(pipeline_.steps()[s]));
    }
    first.kinds.assign(candidates_.size(), EdgeKind::kStage);
    Count(&first);
    std::vector<PartialPlan> plans = {std::move(first)};
    for (int consumer = 0; consumer < StepCount(); ++consumer) {
      // What a step computes for itself is decided first: as part of another one it reads that
      // only.
      for (const EdgeKind kind :
           {EdgeKind::kInline, EdgeKind::kEpilogue, EdgeKind::kContraction, EdgeKind::kSiblings}) {
        for (size_t c = 0; c < candidates_.size(); ++c) {
          const bool is_of_kind =
              (candidates_[c].kind == EdgeKind::kSiblings) == (kind == EdgeKind::kSiblings);
          const bool is_tried = candidates_[c].consumer == consumer && is_of_kind;
          if (is_tried && MayHave(c, kind)) Try(kind, c, &plans);
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

  // Parts of one step stay what they are; what several of them read is staged.
  void AddCandidates(int producer, int consumer) {
    if (planned_.origins[producer] == planned_.origins[consumer]) return;
    const PipelineStep& from = pipeline_.steps()[producer];
    const PipelineStep& to = pipeline_.steps()[consumer];
    int parts_that_read = 0;
    for (const int part : PartsOf(consumer)) {
      parts_that_read += Reads(pipeline_.steps()[part], from) ? 1 : 0;
    }
    if (Reads(to, from) && parts_that_read == 1) {
      candidates_.push_back({producer, consumer, EdgeKind::kStage});
    }
    if (PartsOf(producer).size() == 1 && PartsOf(consumer).size() == 1 &&
        AreAlike(from.expression, to.expression) && !DependsOn(pipeline_, consumer, producer)) {
      candidates_.push_back({producer, consumer, EdgeKind::kSiblings});
    }
  }

  // The steps that one step was split into; itself, if it was not.
  std::vector<int> PartsOf(int step) const {
    std::vector<int> parts;
    for (int s = 0; s < StepCount(); ++s) {
      if (planned_.origins[s] == planned_.origins[step]) parts.push_back(s);
    }
    return parts;
  }

  // Cost and data flow.
  void Count(PartialPlan* plan) const {
    plan->cost = 0;
    plan->data_flows.clear();
    for (const int s : plan->steps) {
      if (s < 0) continue;
      plan->cost += fusions_.at(s).cost;
      plan->data_flows.push_back(fusions_.at(s).data_flow);
    }
    std::ranges::sort(plan->data_flows);
  }

  // Every plan as it is and, where it is legal, with this kind of a candidate that was staged; the
  // cheapest are kept, and the one without fusion.
  void Try(EdgeKind kind, size_t candidate, std::vector<PartialPlan>* plans) {
    std::vector<PartialPlan> tried;
    for (const PartialPlan& plan : *plans) {
      if (plan.kinds[candidate] != EdgeKind::kStage) continue;
      std::optional<PartialPlan> next = With(plan, candidate, kind);
      if (next.has_value()) tried.push_back(*std::move(next));
    }
    if (tried.empty()) return;
    for (PartialPlan& plan : tried) {
      // Other decisions may have made the same.
      const auto same = std::ranges::find(*plans, plan.data_flows, &PartialPlan::data_flows);
      if (same == plans->end()) {
        plans->push_back(std::move(plan));
      } else if (IsBetter(plan, *same, candidates_[candidate].consumer) && !IsUnfused(*same)) {
        *same = std::move(plan);
      }
    }
    // Those that lack what they must have come last: what is decided later may not mend it.
    const int consumer = candidates_[candidate].consumer;
    const auto rank = [&](const PartialPlan& plan) {
      return std::pair(LackedUpTo(consumer, plan), plan.cost);
    };
    std::ranges::stable_sort(
        *plans, [&](const PartialPlan& a, const PartialPlan& b) { return rank(a) < rank(b); });
    const size_t most = std::max(1, options_.max_partitions);
    if (plans->size() <= most) return;
    const auto unfused = std::ranges::find_if(*plans, IsUnfused);
    const bool is_kept = unfused != plans->end() && LackedUpTo(consumer, *unfused) == 0;
    if (is_kept && unfused - plans->begin() >= static_cast<int64_t>(most)) {
      (*plans)[most - 1] = std::move(*unfused);
    }
    plans->resize(most);
  }

  PlannedEdge AsSiblings(size_t candidate) const {
    return {planned_.origins[candidates_[candidate].producer][0],
            planned_.origins[candidates_[candidate].consumer][0], EdgeKind::kSiblings};
  }

  // Whether an edge of the pipeline that is planned is this candidate's.
  bool IsOf(size_t candidate, const PlannedEdge& edge) const {
    const std::vector<int>& producers = planned_.origins[candidates_[candidate].producer];
    const std::vector<int>& consumers = planned_.origins[candidates_[candidate].consumer];
    return std::ranges::count(producers, edge.producer) > 0 &&
           std::ranges::count(consumers, edge.consumer) > 0;
  }

  // Whether partitions may have this kind of a candidate.
  bool MayHave(size_t candidate, EdgeKind kind) const {
    if (!options_.may_have) return true;
    if (kind == EdgeKind::kSiblings) return options_.may_have(AsSiblings(candidate));
    return std::ranges::all_of(edges_, [&](const PlannedEdge& edge) {
      return !IsOf(candidate, edge) || options_.may_have({edge.producer, edge.consumer, kind});
    });
  }

  // How many candidates are not decided as they must be, of those whose turn has come.
  int LackedUpTo(int consumer, const PartialPlan& plan) const {
    if (!options_.may_have) return 0;
    int lacked = 0;
    for (size_t c = 0; c < candidates_.size() && candidates_[c].consumer <= consumer; ++c) {
      if (plan.kinds[c] != EdgeKind::kStage) continue;
      const bool is_lacked = candidates_[c].kind == EdgeKind::kSiblings
                                 ? Contains(options_.must_have, AsSiblings(c))
                                 : !MayHave(c, EdgeKind::kStage);
      lacked += is_lacked ? 1 : 0;
    }
    return lacked;
  }

  bool IsBetter(const PartialPlan& a, const PartialPlan& b, int consumer) const {
    return std::pair(LackedUpTo(consumer, a), a.cost) < std::pair(LackedUpTo(consumer, b), b.cost);
  }

  std::optional<PartialPlan> With(const PartialPlan& plan, size_t candidate, EdgeKind kind) {
    const int producer = plan.position[candidates_[candidate].producer];
    const int consumer = plan.position[candidates_[candidate].consumer];
    if (producer < 0 || consumer < 0 || producer == consumer) return std::nullopt;
    const int from = plan.steps[producer], to = plan.steps[consumer];
    if (kind == EdgeKind::kSiblings && !AreSiblings(fusions_.at(from).step, fusions_.at(to).step)) {
      return std::nullopt;
    }
    const FusedSteps* fused = fusions_.Fused(plan.steps, from, to, kind);
    if (fused == nullptr || !fused->is_legal) return std::nullopt;
    PartialPlan next = plan;
    next.steps[producer] = fused->producer;
    next.steps[consumer] = fused->consumer;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (candidates_[c].kind == candidates_[candidate].kind &&
          plan.position[candidates_[c].producer] == producer &&
          plan.position[candidates_[c].consumer] == consumer) {
        next.kinds[c] = kind;
      }
    }
    for (int& position : next.position) {
      if (position == producer && fused->producer < 0) position = -1;
      if (position == consumer && fused->consumer < 0) position = producer;
    }
    const bool writes_more = kind == EdgeKind::kEpilogue || kind == EdgeKind::kSiblings;
    if (writes_more && !CanRun(next.steps)) return std::nullopt;
    Count(&next);
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
        const PipelineStep& step = fusions_.at(steps[n]).step;
        if (!std::ranges::all_of(step.inputs, [&](int input) { return is_written[input]; })) {
          continue;
        }
        for (const int output : step.outputs) is_written[output] = true;
        is_done[n] = advances = true;
        --left;
      }
    }
    return left == 0;
  }

  std::optional<Partition> ToPartition(const PartialPlan& plan) const {
    std::vector<PlannedEdge> edges = edges_;
    PipelineSpec spec = pipeline_.spec();
    spec.steps.clear();
    int64_t bytes = 0, operations = 0;
    for (const int s : plan.steps) {
      if (s < 0) continue;
      const PlannedStep& step = fusions_.at(s);
      spec.steps.push_back(step.step);
      bytes += step.bytes;
      operations += step.operations;
    }
    Result<Pipeline> pipeline = Reordered(std::move(spec));
    if (!pipeline.ok()) return std::nullopt;
    const auto decide = [&](int producer, int consumer, EdgeKind kind) {
      for (PlannedEdge& edge : edges) {
        if (edge.producer == producer && edge.consumer == consumer) edge.kind = kind;
      }
    };
    for (const PlannedEdge& decided : planned_.decided) {
      decide(decided.producer, decided.consumer, decided.kind);
    }
    const size_t edge_count = edges.size();
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (plan.kinds[c] == EdgeKind::kStage) continue;
      for (const int producer : planned_.origins[candidates_[c].producer]) {
        for (const int consumer : planned_.origins[candidates_[c].consumer]) {
          if (plan.kinds[c] != EdgeKind::kSiblings) decide(producer, consumer, plan.kinds[c]);
        }
      }
      if (plan.kinds[c] == EdgeKind::kSiblings) edges.push_back(AsSiblings(c));
    }
    for (const PlannedEdge& decided : planned_.decided) {
      if (decided.kind == EdgeKind::kSplit) edges.push_back(decided);
    }
    std::sort(edges.begin() + static_cast<std::ptrdiff_t>(edge_count), edges.end(),
              [](const PlannedEdge& a, const PlannedEdge& b) {
                return std::tie(a.kind, a.consumer, a.producer) <
                       std::tie(b.kind, b.consumer, b.producer);
              });
    return Partition{std::move(edges), *std::move(pipeline), bytes, operations};
  }

  const PlannedPipeline& planned_;
  const std::vector<PlannedEdge>& edges_;
  const Pipeline& pipeline_;
  const PlanOptions& options_;
  StepFusions fusions_;
  // Edges, which are staged, and siblings.
  std::vector<PlannedEdge> candidates_;
};

// The cheapest of both, and the one without fusion.
std::vector<Partition> Cheapest(std::vector<Partition> partitions, const PlanOptions& options) {
  const auto cost = [&](const Partition& partition) {
    return static_cast<double>(partition.bytes) +
           static_cast<double>(partition.operations) / options.operations_per_byte;
  };
  std::ranges::stable_sort(
      partitions, [&](const Partition& a, const Partition& b) { return cost(a) < cost(b); });
  const size_t most = std::max(1, options.max_partitions);
  while (partitions.size() > most) {
    const bool keeps_last = partitions.back().is_unfused() && partitions.size() > 1;
    partitions.erase(partitions.end() - (keeps_last ? 2 : 1));
  }
  return partitions;
}

// Whether the partition has what it must have, and nothing else than it may have.
bool HasWhatItMust(const Partition& partition, const PlanOptions& options) {
  const std::vector<PlannedEdge>& edges = partition.edges;
  return std::ranges::all_of(options.must_have,
                             [&](const PlannedEdge& must) { return Contains(edges, must); }) &&
         (!options.may_have || std::ranges::all_of(edges, options.may_have));
}

std::vector<Partition> AllPartitions(const Pipeline& pipeline, const PlanOptions& options) {
  const std::vector<PlannedEdge> edges = EdgesOf(pipeline);
  std::vector<Partition> partitions;
  for (const PlannedPipeline& planned : ContractionOrders(pipeline, options)) {
    std::vector<Partition> of_order = Planner(planned, edges, options).Plan();
    partitions.insert(partitions.end(), std::make_move_iterator(of_order.begin()),
                      std::make_move_iterator(of_order.end()));
  }
  std::erase_if(partitions, [&](const Partition& p) { return !HasWhatItMust(p, options); });
  return partitions;
}

}  // namespace

bool Partition::is_unfused() const {
  return std::ranges::all_of(edges,
                             [](const PlannedEdge& edge) { return edge.kind == EdgeKind::kStage; });
}

bool Partition::keeps_steps() const {
  return std::ranges::all_of(edges, [](const PlannedEdge& edge) {
    return edge.kind == EdgeKind::kStage || edge.kind == EdgeKind::kInline ||
           edge.kind == EdgeKind::kEpilogue;
  });
}

std::vector<PlannedEdge> EdgesOf(const Pipeline& pipeline) {
  std::vector<PlannedEdge> edges;
  for (int consumer = 0; consumer < std::ssize(pipeline.steps()); ++consumer) {
    for (int producer = 0; producer < consumer; ++producer) {
      if (Reads(pipeline.steps()[consumer], pipeline.steps()[producer])) {
        edges.push_back({producer, consumer, EdgeKind::kStage});
      }
    }
  }
  return edges;
}

std::string_view Name(EdgeKind kind) {
  for (const NamedKind& named : kNamedKinds) {
    if (named.kind == kind) return named.name;
  }
  return "";
}

std::optional<EdgeKind> EdgeKindNamed(std::string_view name) {
  for (const NamedKind& named : kNamedKinds) {
    if (named.name == name) return named.kind;
  }
  return std::nullopt;
}

std::vector<Partition> PlanPartitions(const Pipeline& pipeline, const PlanOptions& options) {
  return Cheapest(AllPartitions(pipeline, options), options);
}

std::optional<Partition> PartitionWith(const Pipeline& pipeline,
                                       const std::vector<PlannedEdge>& edges,
                                       const PlanOptions& options) {
  PlanOptions only = options;
  only.may_have = [&](const PlannedEdge& edge) { return Contains(edges, edge); };
  for (const PlannedEdge& edge : edges) {
    const bool is_apart = edge.kind == EdgeKind::kSiblings || edge.kind == EdgeKind::kSplit;
    if (is_apart) only.must_have.push_back(edge);
  }
  for (Partition& partition : AllPartitions(pipeline, only)) {
    if (partition.edges == edges) return std::move(partition);
  }
  return std::nullopt;
}

}  // namespace mdh
