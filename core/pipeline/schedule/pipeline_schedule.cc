#include "core/pipeline/schedule/pipeline_schedule.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/source.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/schedule/fusion_conflict.h"
#include "core/pipeline/schedule/pipeline_schedule_parser.h"
#include "core/pipeline/schedule/pipeline_schedule_text.h"
#include "core/schedule/schedule_key.h"

namespace mdh {

using Kind = PipelineDecision::Kind;

struct PipelineSchedule::Implementation {
  Implementation(const Pipeline& of, const SystemModel& for_model, std::string source, bool of_key)
      : pipeline(of),
        names(pipeline),
        model(for_model),
        source_name(std::move(source)),
        is_key(of_key) {}
  Implementation(const Implementation& other)
      : pipeline(other.pipeline),
        names(pipeline),
        model(other.model),
        source_name(other.source_name),
        is_key(other.is_key),
        text(other.text) {}

  const Pipeline pipeline;
  const StepNames names;
  const SystemModel model;
  const std::string source_name;
  const bool is_key;  // dimensions and buffers are numbers
  std::string text;
  ParsedPipelineSchedule parsed;
  std::string canonical, key;
};

namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr int kMostKeyReadings = 4;

bool HasOwnNest(absl::Span<const JointGroup> groups, int step) {
  return std::ranges::any_of(groups, [&](const JointGroup& group) {
    return group.has_own_nest() && step >= group.first && step <= group.last;
  });
}

const JointGroup* GroupOf(absl::Span<const JointGroup> groups, int step) {
  for (const JointGroup& group : groups) {
    if (step >= group.first && step <= group.last) return &group;
  }
  return nullptr;
}

// All else is blanks, so that lines and columns are those of the text.
std::string Only(const std::string& text, const std::vector<std::pair<size_t, size_t>>& ranges) {
  std::string only = text;
  for (char& c : only) {
    if (c != '\n') c = ' ';
  }
  for (const auto& [begin, length] : ranges) only.replace(begin, length, text, begin, length);
  return only;
}

bool HasPair(const PipelineDecision& decision, const PlannedEdge& edge) {
  return std::ranges::find(decision.pairs, std::pair(edge.producer, edge.consumer)) !=
         decision.pairs.end();
}

EdgeKind PairKind(const PipelineDecision& decision) {
  return decision.kind == Kind::kSplit ? EdgeKind::kSplit : EdgeKind::kSiblings;
}

// Whether the decision leaves this edge.
bool MayHave(const PipelineDecision& decision, const PlannedEdge& edge) {
  const bool is_pair = edge.kind == EdgeKind::kSiblings || edge.kind == EdgeKind::kSplit;
  if (decision.kind == Kind::kEdge) {
    return is_pair || edge.producer != decision.producer || edge.consumer != decision.consumer ||
           decision.edge_kinds.Contains(static_cast<int64_t>(edge.kind));
  }
  const bool is_about = (decision.kind == Kind::kSiblings || decision.kind == Kind::kSplit) &&
                        edge.kind == PairKind(decision);
  return !is_about || decision.has_others || HasPair(decision, edge);
}

// What an edge is, for people.
std::string FoundText(const StepNames& names, const PlannedEdge& edge) {
  return absl::StrCat(names.TextOf(edge.producer, false), " -> ",
                      names.TextOf(edge.consumer, false), " is ", std::string(Name(edge.kind)));
}

}  // namespace

Result<PipelineSchedule> PipelineSchedule::Read(std::string_view text, const Pipeline& pipeline,
                                                const SystemModel& model,
                                                std::string_view source_name, bool is_key) {
  if (text.size() > kMaxBytes) {
    return InvalidArgument("the schedule has ", text.size(), " bytes; at most ", kMaxBytes,
                           " are allowed");
  }
  const auto made =
      std::make_shared<Implementation>(pipeline, model, std::string(source_name), is_key);
  const Source source({source_name.data(), source_name.size()}, {text.data(), text.size()});
  made->text = std::string(source.text());
  MDH_ASSIGN_OR_RETURN(made->parsed, ParsePipelineSchedule(source, made->names, model.name));
  const PipelineSchedule schedule(made);
  MDH_RETURN_IF_ERROR(schedule.Complete(made.get()));
  // What can be said of a partition by names only can be said of an earlier one by the numbers that
  // keys have instead: the key is the one that comes back when it is read.
  for (int n = 0; !is_key && !made->parsed.sections.empty() && n < kMostKeyReadings; ++n) {
    const Result<PipelineSchedule> of_key = OfKey(made->key, pipeline, model);
    if (!of_key.ok() || of_key->KeyText() == made->key) break;
    made->key = of_key->KeyText();
  }
  return schedule;
}

Result<PipelineSchedule> PipelineSchedule::Parse(std::string_view text, const Pipeline& pipeline,
                                                 const SystemModel& model,
                                                 std::string_view source_name) {
  return Read(text, pipeline, model, source_name, /*is_key=*/false);
}

Result<PipelineSchedule> PipelineSchedule::OfKey(std::string_view text, const Pipeline& pipeline,
                                                 const SystemModel& model) {
  return Read(text, pipeline, model, "<key>", /*is_key=*/true);
}

// Of the first partition of which all lines can be said.
Status PipelineSchedule::Complete(Implementation* made) const {
  const auto set_texts = [&](const Pipeline& partition) -> Status {
    MDH_ASSIGN_OR_RETURN(const auto groups,
                         NamedGroups(
                             partition, [](const JointGroup& g) { return g; }, 1));
    MDH_ASSIGN_OR_RETURN(const std::vector<Schedule> steps, OfSteps(partition, groups[0]));
    const ScheduleParts parts = {decisions(), partition, steps, made->is_key};
    made->canonical = PipelineScheduleText(parts, made->names, /*is_key=*/false);
    made->key = PipelineScheduleText(parts, made->names, /*is_key=*/true);
    return absl::OkStatus();
  };
  const bool needs_partition = names_groups() || !made->parsed.sections.empty();
  if (!needs_partition) return set_texts(made->pipeline);
  const std::vector<Partition> partitions = PlanPartitions(made->pipeline, Under(PlanOptions()));
  if (partitions.empty()) {
    const std::optional<FusionConflict> conflict = FindFusionConflict(*this);
    return InvalidArgument(conflict ? conflict->text : "there is no partition");
  }
  Status first;
  for (const Partition& partition : partitions) {
    const Status set = set_texts(partition.pipeline);
    if (set.ok()) return set;
    // In the unfused one all steps are there: it says most of what is wrong.
    if (first.ok() || partition.is_unfused()) first = set;
  }
  return first;
}

std::string PipelineSchedule::TextOf(const Pipeline& pipeline, const Partition& partition,
                                     const PipelineParameters& parameters,
                                     const SystemModel& model) {
  const StepNames names(pipeline);
  const std::vector<PipelineDecision> decisions =
      AsPipelineDecisions(partition, parameters.groups, names);
  const Result<std::vector<Expression>> computed =
      ComputedExpressions(partition.pipeline, parameters.groups);
  if (!computed.ok() || computed->size() != parameters.steps.size()) return "";
  std::vector<Schedule> steps;
  for (size_t s = 0; s < computed->size(); ++s) {
    const Schedule of_step = Schedule::Of(parameters.steps[s], (*computed)[s], model);
    const bool is_said = !HasOwnNest(parameters.groups, static_cast<int>(s));
    steps.push_back(is_said ? of_step : of_step.With({}));
  }
  return PipelineScheduleText({decisions, partition.pipeline, steps, false}, names, false);
}

std::string PipelineSchedule::LinesOf(const Pipeline& pipeline, const Partition& partition,
                                      absl::Span<const JointGroup> groups) {
  const StepNames names(pipeline);
  const std::vector<PipelineDecision> decisions = AsPipelineDecisions(partition, groups, names);
  return PipelineScheduleText({decisions, partition.pipeline, {}, false}, names, false);
}

bool PipelineSchedule::is_free() const { return CanonicalText().empty(); }
const Pipeline& PipelineSchedule::pipeline() const { return implementation_->pipeline; }
const SystemModel& PipelineSchedule::model() const { return implementation_->model; }
absl::Span<const PipelineDecision> PipelineSchedule::decisions() const {
  return implementation_->parsed.decisions;
}
const std::string& PipelineSchedule::CanonicalText() const { return implementation_->canonical; }
const std::string& PipelineSchedule::KeyText() const { return implementation_->key; }

std::string PipelineSchedule::PlaceOf(const PipelineDecision& decision) const {
  return absl::StrCat(implementation_->source_name, ":", decision.line);
}

std::string PipelineSchedule::TextOf(const PipelineDecision& decision) const {
  return DecisionText(decision, implementation_->names);
}

PipelineSchedule PipelineSchedule::With(std::vector<PipelineDecision> decisions,
                                        bool has_sections) const {
  const auto made = std::make_shared<Implementation>(*implementation_);
  made->parsed.decisions = std::move(decisions);
  made->parsed.model_lines = implementation_->parsed.model_lines;
  if (has_sections) made->parsed.sections = implementation_->parsed.sections;
  const PipelineSchedule schedule(made);
  schedule.Complete(made.get()).IgnoreError();
  return schedule;
}

Status PipelineSchedule::AllowsEdges(absl::Span<const PlannedEdge> edges) const {
  const auto refusal = [&](const PipelineDecision& decision, absl::string_view found) {
    return InvalidArgument(PlaceOf(decision), ": '", TextOf(decision),
                           "' does not allow it: ", found);
  };
  for (const PipelineDecision& decision : decisions()) {
    for (const PlannedEdge& edge : edges) {
      if (MayHave(decision, edge)) continue;
      return refusal(decision, FoundText(implementation_->names, edge));
    }
    for (const auto& [producer, consumer] : decision.pairs) {
      const PlannedEdge must = {producer, consumer, PairKind(decision)};
      if (std::ranges::find(edges, must) != edges.end()) continue;
      return refusal(decision, "they are not");
    }
  }
  return absl::OkStatus();
}

namespace {

// The steps of a partition that a decision names, ascending. Errors: FailedPrecondition.
Result<std::vector<int>> Positions(const PipelineDecision& decision, const StepNames& names,
                                   const Pipeline& partition) {
  std::vector<int> positions;
  for (const StepName& name : decision.steps) {
    const int at = names.PositionOf(name, partition);
    if (at < 0) return FailedPrecondition(names.TextOf(name, false), " is no step of its own");
    positions.push_back(at);
  }
  std::ranges::sort(positions);
  if (decision.kind != Kind::kTogether) return positions;
  for (size_t n = 1; n < positions.size(); ++n) {
    if (positions[n] == positions[n - 1] + 1) continue;
    return FailedPrecondition("they do not follow each other");
  }
  return positions;
}

}  // namespace

Status PipelineSchedule::AllowsGroups(const Pipeline& partition,
                                      absl::Span<const JointGroup> groups) const {
  for (const PipelineDecision& decision : decisions()) {
    const bool is_together = decision.kind == Kind::kTogether;
    if (!is_together && decision.kind != Kind::kAlone) continue;
    const Result<std::vector<int>> positions =
        Positions(decision, implementation_->names, partition);
    Status allowed = positions.status();
    if (allowed.ok() && is_together) {
      const JointGroup* const group = GroupOf(groups, positions->front());
      const bool is_it = group != nullptr && group->first == positions->front() &&
                         group->last == positions->back();
      allowed = is_it ? AllowsGroup(decision.group, *group, partition, implementation_->is_key)
                      : InvalidArgument("they do not run together");
    } else if (allowed.ok()) {
      for (const int at : *positions) {
        if (GroupOf(groups, at) == nullptr) continue;
        allowed = InvalidArgument(partition.steps()[at].expression.name(), " runs with others");
      }
    }
    if (allowed.ok()) continue;
    return InvalidArgument(PlaceOf(decision), ": '", TextOf(decision),
                           "' does not allow it: ", std::string(allowed.message()));
  }
  return absl::OkStatus();
}

Result<std::vector<Schedule>> PipelineSchedule::OfSteps(const Pipeline& partition,
                                                        absl::Span<const JointGroup> groups) const {
  const Implementation& i = *implementation_;
  MDH_ASSIGN_OR_RETURN(const std::vector<Expression> computed,
                       ComputedExpressions(partition, groups));
  std::vector<std::vector<std::pair<size_t, size_t>>> ranges(computed.size());
  std::vector<const StepSection*> said(computed.size());
  for (const StepSection& section : i.parsed.sections) {
    const int at = i.names.PositionOf(section.name, partition);
    const std::string place =
        absl::StrCat(i.source_name, ":", section.line, ": ", i.names.TextOf(section.name, false));
    if (at < 0) {
      return InvalidArgument(place,
                             " is no step of its own, but computed where it is read or written");
    }
    if (HasOwnNest(groups, at) && !section.lines.empty()) {
      return InvalidArgument(place, " is computed in ",
                             GroupOf(groups, at)->rows ? "rows" : "planes",
                             ", which have no decomposition of their own");
    }
    if (const StepSection* other = std::exchange(said[at], &section);
        other != nullptr && other->name != section.name) {
      return InvalidArgument(place, " is computed together with ",
                             i.names.TextOf(other->name, false), ", whose lines are about both");
    }
    ranges[at].insert(ranges[at].end(), section.lines.begin(), section.lines.end());
  }
  std::vector<Schedule> steps;
  for (size_t s = 0; s < computed.size(); ++s) {
    std::string text;
    if (!ranges[s].empty()) {
      ranges[s].insert(ranges[s].end(), i.parsed.model_lines.begin(), i.parsed.model_lines.end());
      text = Only(i.text, ranges[s]);
    }
    Result<Schedule> of_step = i.is_key
                                   ? ScheduleOfKey(text, computed[s], i.model)
                                   : Schedule::Parse(text, computed[s], i.model, i.source_name);
    if (!of_step.ok()) return of_step.status();
    steps.push_back(*std::move(of_step));
  }
  return steps;
}

Status PipelineSchedule::Allows(const PipelineParameters& parameters) const {
  const std::optional<Partition> partition = PartitionWith(pipeline(), parameters.edges);
  if (!partition) {
    return InvalidArgument(implementation_->source_name,
                           ": the pipeline has no partition with such edges");
  }
  MDH_RETURN_IF_ERROR(AllowsEdges(parameters.edges));
  MDH_RETURN_IF_ERROR(AllowsGroups(partition->pipeline, parameters.groups));
  MDH_ASSIGN_OR_RETURN(const std::vector<Schedule> steps,
                       OfSteps(partition->pipeline, parameters.groups));
  if (steps.size() != parameters.steps.size()) {
    return InvalidArgument("the parameters have other steps");
  }
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].is_free()) continue;
    MDH_RETURN_IF_ERROR(steps[s].Allows(parameters.steps[s]));
  }
  return absl::OkStatus();
}

PlanOptions PipelineSchedule::Under(PlanOptions options) const {
  options.may_have = [i = implementation_](const PlannedEdge& edge) {
    return std::ranges::all_of(i->parsed.decisions, [&](const PipelineDecision& decision) {
      return MayHave(decision, edge);
    });
  };
  for (const PipelineDecision& decision : decisions()) {
    for (const auto& [producer, consumer] : decision.pairs) {
      options.must_have.push_back({producer, consumer, PairKind(decision)});
    }
  }
  return options;
}

SearchPlanOptions PipelineSchedule::Under(SearchPlanOptions options) const {
  options.plan = Under(std::move(options.plan));
  options.is_wanted = [self = *this](const Partition& partition) { return self.MayBe(partition); };
  options.says = [self = *this](const Partition& partition,
                                int step) -> std::optional<std::string> {
    for (const PipelineDecision& decision : self.decisions()) {
      if (decision.kind != Kind::kTogether) continue;
      const auto together = Positions(decision, self.implementation_->names, partition.pipeline);
      const bool is_in = together.ok() && std::ranges::count(*together, step) > 0;
      if (is_in) return std::nullopt;
    }
    const Result<std::vector<Schedule>> steps = self.OfSteps(partition.pipeline, {});
    return steps.ok() ? (*steps)[step].CanonicalText() : "";
  };
  return options;
}

bool PipelineSchedule::MayBe(const Partition& partition) const {
  const auto groups = NamedGroups(
      partition.pipeline, [](const JointGroup& g) { return g; }, 1);
  return groups.ok() && AllowsEdges(partition.edges).ok() &&
         OfSteps(partition.pipeline, (*groups)[0]).ok();
}

Result<std::vector<std::vector<JointGroup>>> PipelineSchedule::NamedGroups(
    const Pipeline& partition, UsualGroup usual, size_t most) const {
  std::vector<std::vector<JointGroup>> ways = {{}};
  std::set<int> alone;
  for (const PipelineDecision& decision : decisions()) {
    const bool is_together = decision.kind == Kind::kTogether;
    if (!is_together && decision.kind != Kind::kAlone) continue;
    Result<std::vector<int>> positions = Positions(decision, implementation_->names, partition);
    Status possible = positions.status();
    if (possible.ok() && !is_together) alone.insert(positions->begin(), positions->end());
    if (possible.ok() && is_together) {
      const int first = positions->front(), last = positions->back();
      const Result<std::vector<JointGroup>> groups =
          GroupsWith(decision.group, first, last, partition, implementation_->is_key, usual, most);
      possible = groups.status();
      std::vector<std::vector<JointGroup>> more;
      for (const std::vector<JointGroup>& way : ways) {
        if (!groups.ok()) break;
        const JointGroup* const meets = GroupOf(way, first);
        for (const JointGroup& group : *groups) {
          if (more.size() == most) break;
          more.push_back(way);
          const bool is_there = meets != nullptr && meets->first == first && meets->last == last;
          if (!is_there) more.back().push_back(group);
        }
      }
      ways = std::move(more);
    }
    if (possible.ok()) continue;
    return InvalidArgument(PlaceOf(decision), ": '", TextOf(decision),
                           "' cannot be: ", std::string(possible.message()));
  }
  for (std::vector<JointGroup>& way : ways) {
    std::ranges::sort(way, {}, &JointGroup::first);
  }
  std::erase_if(ways, [&](const std::vector<JointGroup>& way) {
    for (size_t n = 1; n < way.size(); ++n) {
      if (way[n].first <= way[n - 1].last) return true;
    }
    return !AllowsGroups(partition, way).ok();
  });
  if (ways.empty()) {
    return InvalidArgument(implementation_->source_name,
                           ": lines about steps that run together contradict each "
                           "other");
  }
  return ways;
}

bool PipelineSchedule::names_groups() const {
  return std::ranges::any_of(decisions(), [](const PipelineDecision& decision) {
    return decision.kind == Kind::kTogether;
  });
}

bool PipelineSchedule::SaysEdges() const {
  const auto has = [&](Kind kind) {
    return std::ranges::any_of(
        decisions(), [&](const PipelineDecision& d) { return d.kind == kind && !d.has_others; });
  };
  if (!has(Kind::kSiblings) || !has(Kind::kSplit)) return false;
  const PlanOptions options = Under(PlanOptions());
  const std::vector<PlannedEdge> edges = EdgesOf(pipeline());
  return std::ranges::all_of(edges, [&](const PlannedEdge& edge) {
    int kinds = 0;
    for (const EdgeKind kind :
         {EdgeKind::kStage, EdgeKind::kInline, EdgeKind::kEpilogue, EdgeKind::kContraction}) {
      kinds += options.may_have({edge.producer, edge.consumer, kind}) ? 1 : 0;
    }
    return kinds == 1;
  });
}

bool PipelineSchedule::SaysGroups(const Pipeline& partition,
                                  absl::Span<const JointGroup> groups) const {
  std::set<int> said;
  for (const PipelineDecision& decision : decisions()) {
    if (decision.kind != Kind::kTogether && decision.kind != Kind::kAlone) continue;
    const auto positions = Positions(decision, implementation_->names, partition);
    if (!positions.ok()) return false;
    const JointGroup* const group = GroupOf(groups, positions->front());
    const bool is_whole =
        decision.kind == Kind::kAlone || (group != nullptr && IsWhole(decision.group, *group));
    if (is_whole) said.insert(positions->begin(), positions->end());
  }
  return said.size() == partition.steps().size();
}

}  // namespace mdh
