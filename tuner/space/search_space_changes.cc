// Neighbours, restrictions, and why a configuration is not in a space.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/space/diagram/diagram_queries.h"
#include "tuner/space/preparation.h"
#include "tuner/space/search_space_implementation.h"

namespace mdh {
namespace {

// "'a' to 1, 2, 4", no more than a few values.
std::string RestrictionText(const SearchSpace::Restriction& restriction,
                            const TuningParameter& parameter) {
  constexpr size_t kShown = 8;
  std::vector<std::string> values;
  for (int64_t code : restriction.codes) {
    if (values.size() == kShown) {
      values.push_back("...");
      break;
    }
    values.push_back(ToText(parameter.range.ValueOf(code)));
  }
  return absl::StrCat("'", parameter.name, "' to {", absl::StrJoin(values, ", "), "}");
}

// Positions first..last without those that are not accepted.
void Intersect(PositionRun run, const std::vector<uint32_t>& accepted,
               std::vector<PositionRun>& result) {
  auto position = std::lower_bound(accepted.begin(), accepted.end(), run.first);
  for (; position != accepted.end() && *position <= run.last; ++position) {
    if (!result.empty() && result.back().last + 1 == *position) {
      result.back().last = *position;
    } else {
      result.push_back({*position, *position});
    }
  }
}

// The same plan with fewer values; false if no value is left.
bool Restrict(const std::vector<const std::vector<uint32_t>*>& accepted, SpacePlan& plan) {
  for (int number = 0; number < plan.level_count(); ++number) {
    if (accepted[number] == nullptr) continue;
    LevelPlan& level = plan.levels[number];
    std::vector<PositionRun> domain;
    for (const PositionRun& run : level.domain) Intersect(run, *accepted[number], domain);
    if (domain.empty()) return false;
    level.domain = std::move(domain);
  }
  return true;
}

}  // namespace

std::vector<Change> SearchSpace::Neighbours(absl::Span<const int64_t> configuration) const {
  std::vector<Change> changes;
  const Implementation& space = *implementation_;
  std::vector<uint32_t> positions(parameters().size());
  if (!space.ToPositions(configuration, absl::MakeSpan(positions))) return changes;
  std::vector<uint32_t> nodes;
  if (!is_lazy()) nodes = NodesOf(space.diagram, positions);
  std::vector<PositionRun> runs;
  for (int parameter = 0; parameter < space.depth(); ++parameter) {
    const int level = space.level_of_parameter[parameter];
    runs.clear();
    if (is_lazy()) {
      runs = space.lazy->Alternatives(positions, level);
    } else {
      AppendAlternatives(space.diagram, positions, nodes, level, runs);
    }
    for (const PositionRun& run : runs) {
      for (uint32_t position = run.first; position <= run.last; ++position) {
        if (position == positions[level]) continue;
        changes.push_back({parameter, space.codes[parameter].CodeAt(position)});
      }
    }
  }
  return changes;
}

std::string SearchSpace::WhyNot(absl::Span<const int64_t> configuration) const {
  const Implementation& space = *implementation_;
  if (configuration.size() != parameters().size()) {
    return absl::StrCat("it has ", configuration.size(), " values, the space ", parameters().size(),
                        " parameters");
  }
  for (size_t i = 0; i < parameters().size(); ++i) {
    const TuningParameter& parameter = parameters()[i];
    if (space.codes[i].PositionOf(configuration[i]) != PositionCodes::kNone) continue;
    return absl::StrCat("the range of '", parameter.name, "' (", parameter.range.ToText(),
                        ") has no value with code ", configuration[i]);
  }
  for (const Constraint& constraint : constraints()) {
    const Result<Value> value = Evaluate(constraint.formula, parameters(), configuration);
    if (value.ok() && std::get<bool>(*value)) continue;
    return absl::StrCat("constraint '", TextOf(constraint), "' ",
                        value.ok() ? "does not hold"
                                   : absl::StrCat("is undefined (", value.status().message(), ")"),
                        " for ", ValuesOf(constraint, parameters(), configuration));
  }
  for (const Restriction& restriction : space.restrictions) {
    const int parameter = ParameterNamed(restriction.parameter);
    if (std::find(restriction.codes.begin(), restriction.codes.end(), configuration[parameter]) !=
        restriction.codes.end()) {
      continue;
    }
    return absl::StrCat("the space is restricted in ",
                        RestrictionText(restriction, parameters()[parameter]));
  }
  return "";
}

Result<SearchSpace> SearchSpace::Restrict(const std::vector<Restriction>& restrictions) const {
  const Implementation& space = *implementation_;
  SearchSpace result = *this;
  for (const Restriction& restriction : restrictions) {
    const int parameter = ParameterNamed(restriction.parameter);
    if (parameter < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("no parameter is named '", restriction.parameter, "'"));
    }
    std::vector<uint32_t> accepted;
    for (int64_t code : restriction.codes) {
      accepted.push_back(space.codes[parameter].PositionOf(code));
      if (accepted.back() != PositionCodes::kNone) continue;
      return absl::InvalidArgumentError(absl::StrCat("the range of '", restriction.parameter, "' (",
                                                     parameters()[parameter].range.ToText(),
                                                     ") has no value with code ", code));
    }
    std::sort(accepted.begin(), accepted.end());
    std::vector<const std::vector<uint32_t>*> by_level(parameters().size());
    by_level[space.level_of_parameter[parameter]] = &accepted;
    auto restricted = std::make_shared<Implementation>(*result.implementation_);
    restricted->restrictions.push_back(restriction);
    bool is_empty = false;
    if (is_lazy()) {
      SpacePlan plan = restricted->lazy->plan();
      is_empty = !mdh::Restrict(by_level, plan);
      auto lazy = std::make_shared<LazySpace>(std::move(plan), restricted->lazy->max_bytes());
      is_empty = is_empty || !lazy->FindFirst(is_empty);
      restricted->lazy = std::move(lazy);
    } else {
      std::optional<Diagram> diagram = Diagram::Build(restricted->diagram.Restricted(by_level));
      is_empty = !diagram.has_value();
      if (diagram) restricted->diagram = *std::move(diagram);
    }
    if (is_empty) {
      return absl::FailedPreconditionError(
          absl::StrCat("no configuration remains after restricting ",
                       RestrictionText(restriction, parameters()[parameter])));
    }
    result = SearchSpace(std::move(restricted));
  }
  return result;
}

}  // namespace mdh
