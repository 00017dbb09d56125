// Creation of search spaces: plan, diagram, and what to say when there is nothing in them.
#include <algorithm>
#include <utility>

#include "tuner/space/diagram/construction.h"
#include "tuner/space/preparation.h"
#include "tuner/space/search_space_implementation.h"
#include "tuner/space/solver/constraint_solver.h"

namespace mdh {
namespace {

// For looking for the constraint that emptied a space.
constexpr int64_t kMaxSearchBytes = int64_t{32} << 20;

// The values of an incident's constraint.
std::string IncidentValues(const Incident& incident, const LevelGraph& graph,
                           const std::vector<int>& parameter_of_level,
                           const std::vector<TuningParameter>& parameters,
                           const std::vector<Constraint>& constraints) {
  Configuration configuration;
  for (const TuningParameter& parameter : parameters) {
    configuration.push_back(parameter.range.CodeAt(0));
  }
  const std::vector<uint32_t> positions = PositionsOf(graph, incident);
  for (size_t level = 0; level < positions.size(); ++level) {
    const int parameter = parameter_of_level[level];
    configuration[parameter] = parameters[parameter].range.CodeAt(positions[level]);
  }
  return ValuesOf(constraints[incident.constraint], parameters, configuration);
}

bool IsEmpty(const std::vector<TuningParameter>& parameters,
             const std::vector<Constraint>& constraints, size_t count,
             const SpaceOptions& options) {
  const std::vector<Constraint> some(constraints.begin(), constraints.begin() + count);
  Result<Preparation> preparation = Prepare(parameters, some, options.order);
  if (!preparation.ok()) return absl::IsFailedPrecondition(preparation.status());
  const int64_t bytes = std::min(options.max_bytes, kMaxSearchBytes);
  const Construction construction =
      Construct(preparation->plan, bytes, options.threads, options.gives_up);
  return construction.outcome == Construction::Outcome::kEmpty;
}

// The first constraint that leaves nothing together with those before it; `obstacle` if that
// cannot be told.
Status EmptyError(const std::vector<TuningParameter>& parameters,
                  const std::vector<Constraint>& constraints, const SpaceOptions& options,
                  int obstacle) {
  if (!options.names_what_empties) return FailedPrecondition("the search space is empty");
  size_t lo = 0;  // so many leave something
  size_t hi = constraints.size();
  while (hi - lo > 1) {
    const size_t middle = lo + (hi - lo) / 2;
    (IsEmpty(parameters, constraints, middle, options) ? hi : lo) = middle;
  }
  const bool is_sure = hi < constraints.size() || IsEmpty(parameters, constraints, hi, options);
  const size_t culprit = is_sure || obstacle < 0 ? hi - 1 : static_cast<size_t>(obstacle);
  return FailedPrecondition("the search space is empty: no configuration satisfies constraint '",
                            TextOf(constraints[culprit]), "'",
                            culprit == 0 ? ""
                            : is_sure    ? " and the constraints before it"
                                         : " and the others");
}

Status GivenUpError() { return Cancelled("the search space is not wanted any more"); }

Status TooLargeError(const SpaceOptions& options) {
  return ResourceExhausted("the search space needs more than ", options.max_bytes, " bytes");
}

}  // namespace

Result<Configuration> SearchSpace::FindOne(const std::vector<TuningParameter>& parameters,
                                           const std::vector<Constraint>& constraints,
                                           const SpaceOptions& options) {
  MDH_RETURN_IF_ERROR(CheckInput(parameters, constraints));
  ConstraintSolver solver(parameters, constraints);
  ConstraintSolver::Answer answer = solver.Find({}, options.gives_up);
  switch (answer.outcome) {
    case ConstraintSolver::Answer::Outcome::kFound:
      return std::move(answer.configuration);
    case ConstraintSolver::Answer::Outcome::kEmpty:
      return FailedPrecondition("the search space is empty");
    case ConstraintSolver::Answer::Outcome::kGivenUp:
      return GivenUpError();
    case ConstraintSolver::Answer::Outcome::kUnknown:
      break;
  }
  SpaceOptions whole = options;
  whole.may_be_lazy = whole.names_what_empties = false;
  MDH_ASSIGN_OR_RETURN(const SearchSpace space, Create(parameters, constraints, whole));
  return space.At(Count(0));
}

Result<SearchSpace> SearchSpace::Create(std::vector<TuningParameter> parameters,
                                        std::vector<Constraint> constraints,
                                        const SpaceOptions& options) {
  auto space = std::make_shared<Implementation>();
  MDH_ASSIGN_OR_RETURN(Preparation preparation, Prepare(parameters, constraints, options.order));
  Construction construction =
      Construct(preparation.plan, options.max_bytes, options.threads, options.gives_up);
  space->notices = std::move(preparation.notices);
  for (const Incident& incident : construction.divisions_by_zero) {
    space->notices.push_back(DivisionByZeroNotice(
        constraints[incident.constraint],
        IncidentValues(incident, construction.graph, preparation.parameter_of_level, parameters,
                       constraints)));
  }
  if (construction.outcome == Construction::Outcome::kOverflow) {
    const Incident& overflow = construction.overflow;
    return OverflowError(constraints[overflow.constraint],
                         IncidentValues(overflow, construction.graph,
                                        preparation.parameter_of_level, parameters, constraints));
  }
  if (construction.outcome == Construction::Outcome::kGivenUp) return GivenUpError();
  bool is_empty = construction.outcome == Construction::Outcome::kEmpty;
  if (construction.outcome == Construction::Outcome::kComplete) {
    std::optional<Diagram> diagram = Diagram::Build(construction.graph);
    is_empty = !diagram.has_value();
    if (diagram) space->diagram = *std::move(diagram);
  } else if (construction.outcome == Construction::Outcome::kOutOfMemory) {
    if (!options.may_be_lazy) return TooLargeError(options);
    construction.graph.clear();
    auto lazy = std::make_shared<LazySpace>(std::move(preparation.plan), options.max_bytes);
    if (!lazy->FindFirst(is_empty) && !is_empty) {
      return ResourceExhausted("the search space needs more than ", options.max_bytes,
                               " bytes, and no configuration was found without a diagram");
    }
    space->lazy = std::move(lazy);
  }
  if (is_empty) return EmptyError(parameters, constraints, options, construction.obstacle);
  for (const TuningParameter& parameter : parameters) space->codes.emplace_back(parameter.range);
  space->level_of_parameter.resize(parameters.size());
  for (size_t level = 0; level < parameters.size(); ++level) {
    space->level_of_parameter[preparation.parameter_of_level[level]] = static_cast<int>(level);
  }
  space->parameters = std::move(parameters);
  space->constraints = std::move(constraints);
  space->parameter_of_level = std::move(preparation.parameter_of_level);
  return SearchSpace(std::move(space));
}

}  // namespace mdh
