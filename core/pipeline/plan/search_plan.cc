#include "core/pipeline/plan/search_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression/canonical.h"
#include "core/pipeline/plan/step_cost.h"

namespace mdh {
namespace {

constexpr size_t kMostEdgesInText = 4;
constexpr size_t kMostStepsInText = 4;  // of a group

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

// The cheapest fused partitions, of which the last place is for one that keeps the steps.
std::vector<Partition> Chosen(std::vector<Partition> partitions, int fused_partitions) {
  std::vector<Partition> chosen;
  int places = fused_partitions;
  bool keeps_steps = false;
  const auto is_plain = [](const Partition& partition) {
    return !partition.is_unfused() && partition.keeps_steps();
  };
  const bool has_plain = std::any_of(partitions.begin(), partitions.end(), is_plain);
  for (Partition& partition : partitions) {
    if (!partition.is_unfused()) {
      const bool is_reserved = places == 1 && has_plain && !keeps_steps && !partition.keeps_steps();
      if (places == 0 || is_reserved) continue;
      --places;
      keeps_steps = keeps_steps || partition.keeps_steps();
    }
    chosen.push_back(std::move(partition));
  }
  return chosen;
}

bool HasPoints(const Expression& expression) {
  return std::all_of(expression.dimensions().begin(), expression.dimensions().end(),
                     [](const Dimension& dimension) { return dimension.size > 0; });
}

// Of a step, with its number where several steps have the name.
std::string NameOfStep(const Pipeline& pipeline, int step) {
  const std::string& name = pipeline.steps()[step].expression.name();
  const auto same =
      std::count_if(pipeline.steps().begin(), pipeline.steps().end(),
                    [&](const PipelineStep& other) { return other.expression.name() == name; });
  return same == 1 ? name : absl::StrCat(name, " (step ", step + 1, ")");
}

}  // namespace

SearchPlan PlanSearch(const Pipeline& pipeline, const SearchPlanOptions& options) {
  SearchPlan plan;
  plan.partitions = Chosen(PlanPartitions(pipeline, options.plan), options.fused_partitions);
  std::map<std::string, size_t> numbers;  // of steps by canonical form
  for (int p = 0; p < std::ssize(plan.partitions); ++p) {
    for (const PipelineStep& step : plan.partitions[p].pipeline.steps()) {
      if (!HasPoints(step.expression)) continue;
      const auto [entry, is_new] =
          numbers.try_emplace(CanonicalForm(step.expression), plan.steps.size());
      if (is_new) {
        plan.steps.push_back(
            {step.expression, {}, CostOf(step.expression, options.plan.operations_per_byte)});
      }
      std::vector<int>& partitions = plan.steps[entry->second].partitions;
      if (partitions.empty() || partitions.back() != p) partitions.push_back(p);
    }
  }
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
