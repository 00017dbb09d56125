// Neighbours, restrictions, and why a configuration is not in a space.

#include "absl/strings/str_cat.h"
#include "tuner/space/diagram/diagram_queries.h"
#include "tuner/space/partial_configuration.h"
#include "tuner/space/preparation.h"
#include "tuner/space/search_space_implementation.h"

namespace mdh {

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
  for (size_t level = 0; level < space.restricted.size(); ++level) {
    const int parameter = space.parameter_of_level[level];
    const uint32_t position = space.codes[parameter].PositionOf(configuration[parameter]);
    if (space.restricted[level].Contains(position)) continue;
    return absl::StrCat("the space is restricted in ",
                        RestrictionText(parameters()[parameter], space.restricted[level]));
  }
  return "";
}

Result<SearchSpace> SearchSpace::Restrict(const std::vector<Restriction>& restrictions) const {
  std::vector<PartialConfiguration::Decision> decisions;
  for (const Restriction& restriction : restrictions) {
    const int parameter = ParameterNamed(restriction.parameter);
    if (parameter < 0) {
      return InvalidArgument("no parameter is named '", restriction.parameter, "'");
    }
    decisions.push_back({parameter, restriction.codes});
  }
  MDH_ASSIGN_OR_RETURN(const PartialConfiguration left,
                       PartialConfiguration(*this).With(decisions));
  return left.AsSpace();
}

}  // namespace mdh
