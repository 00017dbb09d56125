#include "core/pipeline/plan/contraction_orders.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/pipeline/merge_contractions.h"
#include "core/pipeline/plan/step_cost.h"
#include "core/pipeline/split_contraction.h"

namespace mdh {
namespace {

// A pipeline that is rewritten. Its steps are known by what they write: rewrites reorder them.
class Reordering {
 public:
  explicit Reordering(const Pipeline& pipeline) : pipeline_(pipeline) {
    for (int s = 0; s < std::ssize(pipeline.steps()); ++s) origins_[NameOf(pipeline, s)] = {s};
  }

  // Whether there was something to split.
  bool SplitAll(const PlanOptions& options) {
    bool was_split = false;
    for (const auto& [name, origins] : std::map(origins_)) {
      const int s = StepCalled(name);
      if (!MayReorder(pipeline_.steps()[s].expression, options)) continue;
      Result<Pipeline> split = SplitContraction(pipeline_, s);
      if (!split.ok()) continue;
      was_split = true;
      pipeline_ = *std::move(split);
      decided_.push_back({origins[0], origins[0], EdgeKind::kSplit});
      for (int part = 0; part < std::ssize(pipeline_.steps()); ++part) {
        origins_.try_emplace(NameOf(pipeline_, part), origins);
      }
    }
    return was_split;
  }

  // Whether there was something to merge.
  bool MergeAll(const PlanOptions& options) {
    bool was_merged = false;
    for (bool advances = true; advances;) {
      advances = false;
      for (int reader = 0; reader < std::ssize(pipeline_.steps()) && !advances; ++reader) {
        for (const int input : pipeline_.steps()[reader].inputs) {
          const int writer = pipeline_.writer(input);
          if (writer < 0 || !MayReorder(pipeline_.steps()[reader].expression, options)) continue;
          const std::string from = NameOf(pipeline_, writer), to = NameOf(pipeline_, reader);
          Result<Pipeline> merged = MergeContractions(pipeline_, writer, reader);
          if (!merged.ok()) continue;
          pipeline_ = *std::move(merged);
          decided_.push_back({origins_[from][0], origins_[to][0], EdgeKind::kContraction});
          origins_[to].insert(origins_[to].end(), origins_[from].begin(), origins_[from].end());
          origins_.erase(from);
          was_merged = advances = true;
          break;
        }
      }
    }
    return was_merged;
  }

  PlannedPipeline Take() && {
    PlannedPipeline planned{std::move(pipeline_), {}, std::move(decided_)};
    for (int s = 0; s < std::ssize(planned.pipeline.steps()); ++s) {
      planned.origins.push_back(origins_.at(NameOf(planned.pipeline, s)));
    }
    std::ranges::sort(planned.decided, [](const PlannedEdge& a, const PlannedEdge& b) {
      return std::tie(a.consumer, a.producer) < std::tie(b.consumer, b.producer);
    });
    return planned;
  }

 private:
  static std::string NameOf(const Pipeline& pipeline, int step) {
    return pipeline.buffers()[pipeline.steps()[step].outputs[0]].name;
  }

  int StepCalled(const std::string& name) const {
    int s = 0;
    while (NameOf(pipeline_, s) != name) ++s;
    return s;
  }

  Pipeline pipeline_;
  std::map<std::string, std::vector<int>> origins_;  // the first is the step that writes it
  std::vector<PlannedEdge> decided_;
};

}  // namespace

bool MayReorder(const Expression& expression, const PlanOptions& options) {
  return options.may_reassociate || !IsRoundedByOrder(expression);
}

std::vector<PlannedPipeline> ContractionOrders(const Pipeline& pipeline,
                                               const PlanOptions& options) {
  std::vector<PlannedPipeline> orders = {Reordering(pipeline).Take()};
  Reordering split(pipeline), merged(pipeline);
  if (split.SplitAll(options)) orders.push_back(std::move(split).Take());
  if (!merged.MergeAll(options) || !merged.SplitAll(options)) return orders;
  PlannedPipeline of_all = std::move(merged).Take();
  const double cost = CostOf(of_all.pipeline, options.operations_per_byte);
  const bool is_cheapest = std::ranges::all_of(orders, [&](const PlannedPipeline& other) {
    return cost < CostOf(other.pipeline, options.operations_per_byte);
  });
  if (is_cheapest) orders.push_back(std::move(of_all));
  return orders;
}

}  // namespace mdh
