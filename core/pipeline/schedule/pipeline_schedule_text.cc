#include "core/pipeline/schedule/pipeline_schedule_text.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pipeline/schedule/said_groups.h"
#include "core/schedule/schedule_key.h"

namespace mdh {
namespace {

using Kind = PipelineDecision::Kind;

// How names are written: of what partition, and whether as numbers.
struct Form {
  const StepNames& names;
  const Pipeline* partition;
  bool from_key, to_key;
};

std::string EdgeText(const PipelineDecision& decision, const Form& form) {
  const ValueSet& kinds = decision.edge_kinds;
  std::string text =
      absl::StrJoin(kinds.spans(), ", ", [](std::string* out, const ValueSet::Span& span) {
        absl::StrAppend(out, std::string(Name(static_cast<EdgeKind>(span.low[0]))));
      });
  if (kinds.spans().size() > 1) text = absl::StrCat("{", text, "}");
  return absl::StrCat("edge ", form.names.TextOf(decision.producer, form.to_key), " -> ",
                      form.names.TextOf(decision.consumer, form.to_key), " = ",
                      kinds.is_negated() ? "!" : "", text);
}

std::string PairsText(const PipelineDecision& decision, const Form& form) {
  std::vector<std::string> items;
  for (const auto& [a, b] : decision.pairs) {
    const std::string first = form.names.TextOf(a, form.to_key);
    items.push_back(
        a == b ? first : absl::StrCat("(", first, ", ", form.names.TextOf(b, form.to_key), ")"));
  }
  if (decision.has_others) items.push_back("..");
  return absl::StrCat(decision.kind == Kind::kSplit ? "split " : "siblings ",
                      items.empty() ? "none" : absl::StrJoin(items, ", "));
}

std::string StepsText(const PipelineDecision& decision, const Form& form) {
  std::vector<StepName> steps = decision.steps;
  std::vector<int> positions;
  if (form.partition != nullptr) {
    const auto at = [&](const StepName& name) {
      return form.names.PositionOf(name, *form.partition);
    };
    std::ranges::stable_sort(steps,
                             [&](const StepName& a, const StepName& b) { return at(a) < at(b); });
    for (StepName& name : steps) {
      positions.push_back(at(name));
      if (positions.back() >= 0) name = form.names.NameAt(positions.back(), *form.partition);
    }
  }
  // Siblings that are one step of the partition have one name.
  std::vector<std::string> texts;
  for (const StepName& name : steps) texts.push_back(form.names.TextOf(name, form.to_key));
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::string text = absl::StrCat(decision.kind == Kind::kAlone ? "alone(" : "together(",
                                  absl::StrJoin(texts, ", "), ")");
  if (decision.kind == Kind::kAlone) return text;
  const bool is_known = !positions.empty() && positions.front() >= 0;
  const std::string group =
      is_known ? GroupClauses(decision.group, *form.partition, positions.front(), positions.back(),
                              form.from_key, form.to_key)
               : GroupClauses(decision.group, form.names.pipeline(), 0, 0, false, false);
  return group.empty() ? text : absl::StrCat(text, ": ", group);
}

std::string LineOf(const PipelineDecision& decision, const Form& form) {
  switch (decision.kind) {
    case Kind::kEdge:
      return EdgeText(decision, form);
    case Kind::kSiblings:
    case Kind::kSplit:
      return PairsText(decision, form);
    case Kind::kTogether:
    case Kind::kAlone:
      break;
  }
  return StepsText(decision, form);
}

}  // namespace

std::string PipelineScheduleText(const ScheduleParts& parts, const StepNames& names, bool is_key) {
  const Form form = {names, &parts.partition, parts.is_key, is_key};
  // In the order of edges, then by their text.
  std::vector<std::tuple<Kind, int, int, std::string>> lines;
  for (const PipelineDecision& decision : parts.decisions) {
    lines.emplace_back(decision.kind, decision.consumer, decision.producer, LineOf(decision, form));
  }
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string text;
  for (const auto& line : lines) absl::StrAppend(&text, std::get<std::string>(line), "\n");
  for (size_t s = 0; s < parts.steps.size(); ++s) {
    const Schedule& step = parts.steps[s];
    if (step.is_free()) continue;
    const StepName name = names.NameAt(static_cast<int>(s), parts.partition);
    absl::StrAppend(&text, "step ", names.TextOf(name, is_key), ":\n",
                    is_key ? KeyScheduleOf(step) : step.CanonicalText());
  }
  return text;
}

std::string DecisionText(const PipelineDecision& decision, const StepNames& names) {
  return LineOf(decision, {names, nullptr, false, false});
}

std::vector<PipelineDecision> AsPipelineDecisions(const Partition& partition,
                                                  absl::Span<const JointGroup> groups,
                                                  const StepNames& names) {
  std::vector<PipelineDecision> decisions;
  PipelineDecision siblings{.kind = Kind::kSiblings}, split{.kind = Kind::kSplit};
  for (const PlannedEdge& edge : partition.edges) {
    const std::pair<int, int> pair(edge.producer, edge.consumer);
    if (edge.kind == EdgeKind::kSiblings) {
      siblings.pairs.push_back(pair);
    } else if (edge.kind == EdgeKind::kSplit) {
      split.pairs.push_back(pair);
    } else {
      decisions.push_back({.kind = Kind::kEdge,
                           .producer = edge.producer,
                           .consumer = edge.consumer,
                           .edge_kinds = ValueSet({static_cast<int64_t>(edge.kind)})});
    }
  }
  for (PipelineDecision* const pairs : {&siblings, &split}) {
    std::ranges::sort(pairs->pairs);
    decisions.push_back(std::move(*pairs));
  }
  PipelineDecision alone{.kind = Kind::kAlone};
  for (int s = 0; s < std::ssize(partition.pipeline.steps()); ++s) {
    const auto group = std::ranges::find_if(
        groups, [&](const JointGroup& g) { return s >= g.first && s <= g.last; });
    const StepName name = names.NameAt(s, partition.pipeline);
    if (group == groups.end()) {
      alone.steps.push_back(name);
      continue;
    }
    if (s == group->first) {
      decisions.push_back({.kind = Kind::kTogether, .group = SaidOf(*group, partition.pipeline)});
    }
    decisions.back().steps.push_back(name);
  }
  if (!alone.steps.empty()) decisions.push_back(std::move(alone));
  return decisions;
}

}  // namespace mdh
