#include "core/pipeline/plan/search_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression/canonical.h"

namespace mdh {
namespace {

constexpr size_t kMostEdgesInText = 4;

double CostOfStep(const Expression& expression, const PlanOptions& options) {
  return static_cast<double>(expression.CompulsoryBytes()) +
         static_cast<double>(expression.FloatingPointOperations()) / options.operations_per_byte;
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
  int fused = 0;
  for (Partition& partition : PlanPartitions(pipeline, options.plan)) {
    if (!partition.is_unfused() && ++fused > options.fused_partitions) continue;
    plan.partitions.push_back(std::move(partition));
  }
  std::map<std::string, size_t> numbers;  // of steps by canonical form
  for (int p = 0; p < std::ssize(plan.partitions); ++p) {
    for (const PipelineStep& step : plan.partitions[p].pipeline.steps()) {
      if (!HasPoints(step.expression)) continue;
      const auto [entry, is_new] =
          numbers.try_emplace(CanonicalForm(step.expression), plan.steps.size());
      if (is_new) {
        plan.steps.push_back({step.expression, {}, CostOfStep(step.expression, options.plan)});
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

std::string Describe(const Pipeline& pipeline, const Partition& partition) {
  std::vector<std::string> texts;
  for (const PlannedEdge& edge : partition.edges) {
    const std::string producer = NameOfStep(pipeline, edge.producer);
    const std::string consumer = NameOfStep(pipeline, edge.consumer);
    if (edge.kind == EdgeKind::kInline) texts.push_back(absl::StrCat(producer, " in ", consumer));
    if (edge.kind == EdgeKind::kEpilogue) {
      texts.push_back(absl::StrCat(consumer, " in the epilogue of ", producer));
    }
  }
  if (texts.size() > kMostEdgesInText) {
    const size_t more = texts.size() - kMostEdgesInText + 1;
    texts.resize(kMostEdgesInText - 1);
    texts.push_back(absl::StrCat("and ", more, " more"));
  }
  return texts.empty() ? "unfused" : absl::StrJoin(texts, ", ");
}

}  // namespace mdh
