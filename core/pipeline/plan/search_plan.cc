#include "core/pipeline/plan/search_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression/canonical.h"
#include "core/pipeline/plan/planned_expression.h"
#include "core/pipeline/plan/step_cost.h"

namespace mdh {
namespace {

constexpr size_t kMostEdgesInText = 4;
constexpr size_t kMostStepsInText = 4;  // of a group
// Of devices with more arithmetic than the plan counts with: GPUs in single precision.
constexpr double kMostOperationsPerByte = 16;

// What is fused or reordered, for people; empty if nothing is.
std::string TextOf(const PlannedEdge& edge, const std::string& producer,
                   const std::string& consumer) {
  switch (edge.kind) {
    case EdgeKind::kStage:
      return "";
    case EdgeKind::kInline:
      return absl::StrCat(producer, " in ", consumer);
    case EdgeKind::kEpilogue:
      return absl::StrCat(consumer, " in the epilogue of ", producer);
    case EdgeKind::kContraction:
      return absl::StrCat(producer, " in the sum of ", consumer);
    case EdgeKind::kSiblings:
      return absl::StrCat(producer, " beside ", consumer);
    case EdgeKind::kSplit:
      return absl::StrCat(consumer, " two factors at a time");
  }
  return "";
}

// By number: the first that keeps the steps, the cheapest by the plan, the cheapest where
// operations cost least, and then the others in their order; at most so many.
std::set<size_t> ChosenFused(const std::vector<Partition>& partitions, int fused_partitions) {
  std::vector<size_t> fused;
  for (size_t p = 0; p < partitions.size(); ++p) {
    if (!partitions[p].is_unfused()) fused.push_back(p);
  }
  if (fused.empty()) return {};
  const auto cost = [&](size_t p) {
    return static_cast<double>(partitions[p].bytes) +
           static_cast<double>(partitions[p].operations) / kMostOperationsPerByte;
  };
  std::vector<size_t> likely;
  const auto plain =
      std::ranges::find_if(fused, [&](size_t p) { return partitions[p].keeps_steps(); });
  if (plain != fused.end()) likely.push_back(*plain);
  likely.push_back(fused.front());
  likely.push_back(
      *std::ranges::min_element(fused, [&](size_t p, size_t q) { return cost(p) < cost(q); }));
  likely.insert(likely.end(), fused.begin(), fused.end());
  std::set<size_t> chosen;
  for (const size_t p : likely) {
    if (std::ssize(chosen) < fused_partitions) chosen.insert(p);
  }
  return chosen;
}

std::vector<Partition> Chosen(std::vector<Partition> partitions, int fused_partitions) {
  const std::set<size_t> fused = ChosenFused(partitions, fused_partitions);
  std::vector<Partition> chosen;
  for (size_t p = 0; p < partitions.size(); ++p) {
    if (partitions[p].is_unfused() || fused.contains(p)) chosen.push_back(std::move(partitions[p]));
  }
  return chosen;
}

bool HasPoints(const Expression& expression) {
  return std::ranges::all_of(expression.dimensions(),
                             [](const Dimension& dimension) { return dimension.size > 0; });
}

// Leaves the costliest ones, in their order; of a single step rather what it is in several.
void KeepCostliest(int most_steps, bool is_single, SearchPlan& plan) {
  const int left_out = static_cast<int>(plan.steps.size()) - most_steps;
  const auto as_it_stands = std::ranges::find_if(plan.steps, [&](const SearchedStep& step) {
    return is_single && plan.partitions[step.partitions[0]].is_unfused();
  });
  if (left_out > 0 && as_it_stands != plan.steps.end()) {
    plan.steps.erase(as_it_stands);
    ++plan.left_out;
  }
  for (; plan.left_out < left_out; ++plan.left_out) {
    // Of equal ones the last.
    const auto cheapest =
        std::ranges::min_element(plan.steps.rbegin(), plan.steps.rend(), {}, &SearchedStep::cost);
    plan.steps.erase(std::prev(cheapest.base()));
  }
}

// Of a step, with its number where several steps have the name.
std::string NameOfStep(const Pipeline& pipeline, int step) {
  const std::string& name = pipeline.steps()[step].expression.name();
  const auto same = std::ranges::count_if(
      pipeline.steps(), [&](const PipelineStep& other) { return other.expression.name() == name; });
  return same == 1 ? name : absl::StrCat(name, " (step ", step + 1, ")");
}

}  // namespace

SearchPlan PlanSearch(const Pipeline& pipeline, const SearchPlanOptions& options) {
  SearchPlan plan;
  std::vector<Partition> partitions = PlanPartitions(pipeline, options.plan);
  if (options.is_wanted) std::erase_if(partitions, std::not_fn(options.is_wanted));
  DropHopeless(pipeline, options.plan.operations_per_byte, partitions);
  plan.partitions = Chosen(std::move(partitions), options.fused_partitions);
  std::map<std::pair<std::string, std::string>, size_t> numbers;  // by form and what is said
  for (int p = 0; p < std::ssize(plan.partitions); ++p) {
    if (!IsSearchedAsItStands(pipeline, options.plan.operations_per_byte, plan.partitions,
                              plan.partitions[p])) {
      continue;
    }
    for (int s = 0; s < std::ssize(plan.partitions[p].pipeline.steps()); ++s) {
      const Expression& step = plan.partitions[p].pipeline.steps()[s].expression;
      const std::optional<std::string> said =
          options.says ? options.says(plan.partitions[p], s) : std::string();
      if (!HasPoints(step) || !said) continue;
      const auto [entry, is_new] =
          numbers.try_emplace({CanonicalForm(step), *said}, plan.steps.size());
      if (is_new) {
        plan.steps.push_back({step, {}, CostOf(step, options.plan.operations_per_byte), *said});
      }
      std::vector<int>& of_step = plan.steps[entry->second].partitions;
      if (of_step.empty() || of_step.back() != p) of_step.push_back(p);
    }
  }
  KeepCostliest(options.most_steps, pipeline.steps().size() == 1, plan);
  return plan;
}

std::vector<int64_t> Shares(int64_t whole, const SearchPlan& plan) {
  double total = 0;
  for (const SearchedStep& step : plan.steps) total += step.cost;
  std::vector<int64_t> shares;
  for (const SearchedStep& step : plan.steps) {
    const double equal = 1.0 / static_cast<double>(plan.steps.size());
    const double by_cost = total > 0 ? step.cost / total : equal;
    const auto share = static_cast<int64_t>(static_cast<double>(whole) * (equal + by_cost) / 2);
    shares.push_back(whole > 0 ? std::max<int64_t>(share, 1) : whole);
  }
  return shares;
}

std::string Describe(const Pipeline& pipeline, const Partition& partition,
                     absl::Span<const JointGroup> groups) {
  std::vector<std::string> texts;
  for (const PlannedEdge& edge : partition.edges) {
    std::string text =
        TextOf(edge, NameOfStep(pipeline, edge.producer), NameOfStep(pipeline, edge.consumer));
    if (!text.empty()) texts.push_back(std::move(text));
  }
  if (texts.size() > kMostEdgesInText) {
    const size_t more = texts.size() - kMostEdgesInText + 1;
    texts.resize(kMostEdgesInText - 1);
    texts.push_back(absl::StrCat("and ", more, " more"));
  }
  for (const JointGroup& group : groups) {
    std::vector<std::string> names;
    for (int s = group.first; s <= group.last; ++s) {
      names.push_back(NameOfStep(partition.pipeline, s));
    }
    const bool are_many = names.size() > kMostStepsInText;
    texts.push_back(absl::StrCat(
        are_many ? absl::StrCat(names.front(), " to ", names.back()) : absl::StrJoin(names, ", "),
        " together"));
  }
  return texts.empty() ? "unfused" : absl::StrJoin(texts, ", ");
}

}  // namespace mdh
