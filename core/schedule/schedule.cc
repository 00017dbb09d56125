#include "core/schedule/schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/source.h"
#include "core/decomposition/fuse_dimensions.h"
#include "core/decomposition/validate.h"
#include "core/schedule/check_decisions.h"
#include "core/schedule/facts.h"
#include "core/schedule/parameters_as_decisions.h"
#include "core/schedule/parser.h"
#include "core/schedule/printer.h"
#include "core/schedule/steps.h"

namespace mdh {

using Kind = Decision::Kind;

struct Schedule::Implementation {
  Implementation(Expression whole, Expression fused, SystemModel of, std::string name)
      : expression(std::move(whole)),
        divided(std::move(fused)),
        model(std::move(of)),
        source_name(std::move(name)),
        names(divided, model) {}
  Implementation(const Implementation&) = delete;

  const Expression expression;
  const Expression divided;  // by the groups that the schedule names
  const SystemModel model;
  const std::string source_name;
  const ScheduleNames names;
  std::vector<Decision> decisions = {};
};

namespace {

// The value that a decision is about; nullopt: it has no effect.
std::optional<ChoiceValue> ValueOf(const Decision& decision, const ScheduleFacts& facts) {
  const TuningParameters& p = facts.parameters();
  const MdhLevel level = {decision.layer, decision.dimension};
  switch (decision.kind) {
    case Kind::kTile:
      return ChoiceValue{facts.Tile(level.layer, level.dimension)};
    case Kind::kParts:
      return ChoiceValue{facts.Parts(level.layer, level.dimension)};
    case Kind::kAxis:
    case Kind::kLanes:
    case Kind::kCombine: {
      const ScheduleFacts::Core* const core = facts.CoreAt(level);
      if (core == nullptr) return std::nullopt;
      return ChoiceValue{decision.kind == Kind::kAxis    ? core->axis
                         : decision.kind == Kind::kLanes ? core->lanes
                                                         : core->region};
    }
    case Kind::kAlong: {
      const std::vector<int64_t>& lanes = p.tile[level.layer - 1];
      const auto at = std::ranges::find_if(lanes, [](int64_t count) { return count > 1; });
      return ChoiceValue{at == lanes.end() ? Decision::kNoDimension : at - lanes.begin()};
    }
    case Kind::kOption:
      return decision.option->get(p);
    default:
      break;
  }
  const InputParameters& input = p.inputs[decision.buffer];
  switch (decision.kind) {
    case Kind::kCopy:
      return ChoiceValue{input.stage_layer};
    case Kind::kStrips:
      return ChoiceValue{input.strip_dimension};
    case Kind::kPadding:
      return ChoiceValue{input.padding};
    case Kind::kWidth:
      return ChoiceValue{input.copy_width};
    case Kind::kStages:
      return ChoiceValue{input.copy_stages};
    case Kind::kMode:
      return ChoiceValue{static_cast<int64_t>(input.copy_mode)};
    default:
      break;  // kLayout
  }
  if (decision.region < 0) {
    if (input.stage_layer == InputParameters::kInPlace) return std::nullopt;
    return ChoiceValue(input.layout.begin(), input.layout.end());
  }
  for (const ScheduleFacts::Copy& copy : facts.copies(decision.buffer)) {
    if (copy.region == decision.region) return ChoiceValue(copy.layout.begin(), copy.layout.end());
  }
  return std::nullopt;
}

bool AllowsOrder(const Decision& decision, const ScheduleFacts& facts) {
  const auto holds = [&](MdhLevel outer, MdhLevel inner) {
    return facts.IsOutside(outer, inner).value_or(true);
  };
  std::vector<MdhLevel> all = decision.before;
  all.insert(all.end(), decision.after.begin(), decision.after.end());
  for (size_t n = 0; n < all.size(); ++n) {
    for (size_t m = n + 1; m < all.size(); ++m) {
      if (!holds(all[n], all[m])) return false;
    }
  }
  if (!decision.has_others) return true;
  std::vector<MdhLevel> others = facts.loops();
  for (const ScheduleFacts::Core& core : facts.cores()) others.push_back(core.level);
  for (const MdhLevel& other : others) {
    if (decision.layer >= 0 && other.layer != decision.layer) continue;
    if (std::ranges::find(all, other) != all.end()) continue;
    for (const MdhLevel& level : decision.before) {
      if (!holds(level, other)) return false;
    }
    for (const MdhLevel& level : decision.after) {
      if (!holds(other, level)) return false;
    }
  }
  return true;
}

// Whether the buffer is in these regions, from these loops on.
bool AllowsRegions(const Decision& decision, const ScheduleFacts& facts, int shared) {
  const auto loops = static_cast<int>(facts.loops().size());
  std::vector<std::pair<int, int>> expected;  // loops around, region
  for (const RegionStep& step : decision.steps) {
    const int around = step.from == RegionStep::kInside ? loops : facts.LoopOf(step.from);
    if (around < 0) return false;
    expected.push_back({around, step.region});
  }
  if (!decision.is_output) {
    std::vector<std::pair<int, int>> copies;
    for (const ScheduleFacts::Copy& copy : facts.copies(decision.buffer)) {
      copies.push_back({copy.around, copy.region});
    }
    return copies == expected;
  }
  if (facts.accumulates_in_shared() != (!expected.empty() && expected[0].second == shared)) {
    return false;
  }
  for (int n = 0; n < loops; ++n) {
    int region = 0;
    for (const auto& [around, from] : expected) {
      if (around <= n) region = std::max(region, from);
    }
    if (facts.loop_regions()[n] != region) return false;
  }
  return true;
}

bool AllowsValue(const Decision& decision, const ScheduleFacts& facts, const ChoiceValue& value) {
  if (decision.kind != Kind::kTile) return decision.values.Contains(value);
  bool is_named = decision.values.Contains(value) != decision.values.is_negated();
  const bool is_as_outside =
      decision.values.Contains(Decision::kAsOutside) != decision.values.is_negated();
  is_named = is_named || (is_as_outside && facts.Outer(decision.layer, decision.dimension) ==
                                               facts.Tile(decision.layer, decision.dimension));
  return is_named != decision.values.is_negated();
}

bool IsInGroup(const std::vector<int>& group, int d) {
  return std::ranges::find(group, d) != group.end();
}

// The dimensions that a decision names, which keeps them as they are.
std::vector<int> NamedDimensions(const Decision& decision) {
  std::vector<int> named =
      decision.kind == Kind::kSeparate ? decision.dimensions : std::vector<int>();
  if (decision.dimension >= 0) named.push_back(decision.dimension);
  for (const auto* levels : {&decision.before, &decision.after}) {
    for (const MdhLevel& level : *levels) named.push_back(level.dimension);
  }
  for (const RegionStep& step : decision.steps) {
    if (step.from != RegionStep::kInside) named.push_back(step.from.dimension);
  }
  return named;
}

// Groups that `fuse` lines name: they say of what size dimensions are.
Result<FusedDimensions> ReadGroups(const Source& source, const ScheduleNames& names) {
  ScheduleCursor cursor(source);
  FusedDimensions groups;
  bool is_read = true;
  size_t first = 0;
  while (cursor.NextLine()) {
    const size_t at = cursor.offset();
    if (cursor.Accept("for")) {
      is_read = false;
      do {
        const absl::string_view name = cursor.Word(",:");
        is_read = is_read || name == "all" || name == names.model().name;
      } while (cursor.Accept(","));
    } else if (is_read && cursor.Accept("fuse")) {
      if (groups.empty()) first = at;
      MDH_ASSIGN_OR_RETURN(std::vector<int> group, ParseGroup(names, &cursor));
      if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
    }
    cursor.SkipLine();
  }
  if (groups.empty()) return groups;
  const Status fused = FuseDimensions(names.expression(), groups).status();
  if (fused.ok()) return groups;
  return cursor.ErrorAt(first, absl::StripPrefix(fused.message(), "tuning parameters: fused: "));
}

}  // namespace

Result<Schedule> Schedule::Parse(std::string_view text, const Expression& expression,
                                 const SystemModel& model, std::string_view source_name) {
  const Source source({source_name.data(), source_name.size()}, {text.data(), text.size()});
  constexpr size_t kMaxBytes = size_t{1} << 20;
  if (text.size() > kMaxBytes) {
    return InvalidArgument("the schedule has ", text.size(), " bytes; at most ", kMaxBytes,
                           " are allowed");
  }
  if (IsInSteps(source.text())) {
    MDH_ASSIGN_OR_RETURN(const std::string lines,
                         LinesOfSteps(source, ScheduleNames(expression, model)));
    return Parse(lines, expression, model, source_name);
  }
  MDH_ASSIGN_OR_RETURN(const FusedDimensions groups,
                       ReadGroups(source, ScheduleNames(expression, model)));
  MDH_ASSIGN_OR_RETURN(Expression divided, FuseDimensions(expression, groups));
  const auto made = std::make_shared<Implementation>(expression, std::move(divided), model,
                                                     std::string(source_name));
  MDH_ASSIGN_OR_RETURN(made->decisions, ParseDecisions(source, made->names));
  return Schedule(made);
}

Schedule Schedule::Of(const TuningParameters& parameters, const Expression& expression,
                      const SystemModel& model) {
  Result<Expression> divided = DividedExpression(expression, parameters);
  const auto made = std::make_shared<Implementation>(
      expression, divided.ok() ? *std::move(divided) : expression, model, "<schedule>");
  made->decisions = AsDecisions(parameters, made->names);
  return Schedule(made);
}

std::string Schedule::CanonicalText() const {
  return LinesText(implementation_->decisions, implementation_->names);
}

bool Schedule::AllowsFused(const FusedDimensions& fused) const {
  for (const Decision& decision : decisions()) {
    if (decision.kind != Kind::kFuse) continue;
    if (std::ranges::find(fused, decision.dimensions) == fused.end()) return false;
  }
  const FusedDimensions named = this->fused();
  for (const std::vector<int>& group : fused) {
    if (std::ranges::find(named, group) != named.end()) continue;
    for (const Decision& decision : decisions()) {
      if (decision.kind == Kind::kFuse) continue;
      for (const int d : NamedDimensions(decision)) {
        if (IsInGroup(group, d)) return false;
      }
    }
  }
  return true;
}

Status Schedule::Allows(const TuningParameters& p) const {
  const Implementation& i = *implementation_;
  if (p.system_model != i.model.name) {
    return InvalidArgument(i.source_name, ": the schedule is for ", i.model.name, ", not for ",
                           p.system_model);
  }
  if (!AllowsFused(p.fused)) {
    return InvalidArgument(i.source_name, ": other dimensions are run through as one");
  }
  if (is_free()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(const Expression divided, DividedExpression(i.expression, p));
  const ScheduleFacts facts(divided, i.model, p);
  if (facts.has_exchanged_layers()) {
    return InvalidArgument(i.source_name,
                           ": levels belong to other layers than their own, as in no schedule");
  }
  for (const Decision& decision : i.decisions) {
    std::string found;
    if (decision.kind == Kind::kFuse || decision.kind == Kind::kSeparate) continue;
    if (decision.kind == Kind::kOrder) {
      if (AllowsOrder(decision, facts)) continue;
      found = "loops or axes are in another order";
    } else if (decision.kind == Kind::kRegions) {
      if (AllowsRegions(decision, facts, i.names.SharedRegion())) continue;
      found = "it is elsewhere";
    } else if (decision.kind == Kind::kRequire) {
      if (Evaluate(decision.limit, facts).value_or(0) != 0) continue;
      found = "it does not hold";
    } else {
      const std::optional<ChoiceValue> value = ValueOf(decision, facts);
      if (!value.has_value() || AllowsValue(decision, facts, *value)) continue;
      found = absl::StrCat("it is ", ValueText(decision, *value, i.names));
    }
    return InvalidArgument(PlaceOf(decision), ": '", TextOf(decision),
                           "' does not allow it: ", found);
  }
  return absl::OkStatus();
}

const Expression& Schedule::expression() const { return implementation_->expression; }
const SystemModel& Schedule::model() const { return implementation_->model; }
absl::Span<const Decision> Schedule::decisions() const { return implementation_->decisions; }

Schedule Schedule::With(std::vector<Decision> decisions) const {
  const Implementation& i = *implementation_;
  // Names are those of dimensions as they are fused; without the line that fuses them, too.
  const FusedDimensions groups = FusedBy(decisions);
  const bool is_other = !groups.empty() && groups != fused();
  Result<Expression> divided =
      is_other ? FuseDimensions(i.expression, groups) : Result<Expression>(i.divided);
  const auto made = std::make_shared<Implementation>(
      i.expression, divided.ok() ? *std::move(divided) : i.divided, i.model, i.source_name);
  made->decisions = std::move(decisions);
  return Schedule(made);
}

std::string Schedule::PlaceOf(const Decision& decision) const {
  if (decision.line == 0) return implementation_->source_name;
  return absl::StrCat(implementation_->source_name, ":", decision.line);
}

std::string Schedule::TextOf(const Decision& decision) const {
  std::string line = LineText(decision, implementation_->names);
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

FusedDimensions Schedule::fused() const { return FusedBy(implementation_->decisions); }

}  // namespace mdh
