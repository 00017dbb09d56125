#include "tuner/space/preparation.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tuner/space/levels/level_order.h"

namespace mdh {
namespace {

bool IsIdentifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  return std::ranges::all_of(name, [](unsigned char character) {
    return std::isalnum(character) != 0 || character == '_';
  });
}

}  // namespace

Status CheckInput(const std::vector<TuningParameter>& parameters,
                  const std::vector<Constraint>& constraints) {
  absl::flat_hash_set<std::string> names;
  for (const TuningParameter& parameter : parameters) {
    if (!IsIdentifier(parameter.name)) {
      return InvalidArgument("parameter name '", parameter.name,
                             "' is not an identifier (letters, digits "
                             "and _, not starting with a digit)");
    }
    if (!names.insert(parameter.name).second) {
      return InvalidArgument("two parameters are named '", parameter.name, "'");
    }
  }
  for (const Constraint& constraint : constraints) {
    const Result<ValueType> type = CheckFormula(constraint.formula, parameters);
    if (!type.ok()) {
      return InvalidArgument("constraint '", TextOf(constraint), "': ", type.status().message());
    }
    if (*type != ValueType::kBool) {
      return InvalidArgument("constraint '", TextOf(constraint), "' is of type ",
                             std::string(Name(*type)), ", a condition is expected");
    }
  }
  return absl::OkStatus();
}

namespace {

// What is prepared step by step.
class Preparer {
 public:
  Preparer(const std::vector<TuningParameter>& parameters,
           const std::vector<Constraint>& constraints)
      : parameters_(parameters),
        constraints_(constraints),
        strings_(RankStrings(parameters, constraints)) {
    for (const TuningParameter& parameter : parameters) {
      values_.emplace_back(parameter.range, strings_);
      domains_.push_back({{0, parameter.range.size() - 1}});
    }
  }

  Result<Preparation> Run(ParameterOrder order) {
    OperationGraph graph(ParameterBounds());
    std::vector<RootCondition> roots =
        CompileConstraints(constraints_, parameters_, strings_, graph);
    MDH_RETURN_IF_ERROR(TakeCertain(graph, roots));
    std::vector<int> levels(parameters_.size());
    for (size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<int>(i);
    MDH_RETURN_IF_ERROR(TakeUnary(graph, roots, levels));
    std::vector<Bounds> bounds = ParameterBounds();
    graph.SetParameterBounds(bounds);
    std::vector<int> parameter_of_level = levels;
    if (order == ParameterOrder::kAutomatic) {
      parameter_of_level = OrderParameters(graph, roots, Sizes());
      for (size_t level = 0; level < levels.size(); ++level) {
        levels[parameter_of_level[level]] = static_cast<int>(level);
      }
    }
    OperationGraph ordered = OrderedByLevel(graph, roots, levels, std::move(bounds));
    MDH_RETURN_IF_ERROR(TakeCertain(ordered, roots));
    Preparation result{
        PlanLevels(std::move(ordered), std::move(values_), roots, parameter_of_level),
        parameter_of_level, std::move(notices_)};
    for (LevelPlan& level : result.plan.levels) level.domain = domains_[level.parameter];
    return result;
  }

 private:
  std::vector<Bounds> ParameterBounds() const {
    std::vector<Bounds> bounds;
    for (size_t i = 0; i < values_.size(); ++i) {
      const std::vector<PositionRun>& domain = domains_[i];
      const ParameterValues& values = values_[i];
      Bounds all = values.BoundsOf(domain.front().first, domain.front().last);
      for (const PositionRun& run : domain)
        Include(values.kind(), values.BoundsOf(run.first, run.last), all);
      bounds.push_back(all);
    }
    return bounds;
  }

  static void Include(ValueKind kind, const Bounds& more, Bounds& all) {
    all.can |= more.can;
    if (kind == ValueKind::kReal) {
      all.lo.r = std::min(all.lo.r, more.lo.r);
      all.hi.r = std::max(all.hi.r, more.hi.r);
    } else {
      all.lo.i = std::min(all.lo.i, more.lo.i);
      all.hi.i = std::max(all.hi.i, more.hi.i);
    }
  }

  std::vector<double> Sizes() const {
    std::vector<double> sizes;
    for (const std::vector<PositionRun>& domain : domains_) {
      double size = 0;
      for (const PositionRun& run : domain) size += static_cast<double>(run.last - run.first) + 1;
      sizes.push_back(size);
    }
    return sizes;
  }

  // Removes conditions that hold whatever the parameters are.
  Status TakeCertain(const OperationGraph& graph, std::vector<RootCondition>& roots) {
    std::vector<RootCondition> others;
    const std::vector<std::vector<int>> below = ParametersOfOperations(graph);
    for (const RootCondition& root : roots) {
      const uint8_t can = graph.bounds()[root.operation].can;
      if (can == kCanBeTrue) continue;
      others.push_back(root);
      if ((can & kCanBeTrue) != 0) continue;
      // Values decide what there is to tell, unless it depends on none.
      const Constraint& constraint = constraints_[root.constraint];
      if (!below[root.operation].empty() && (can & kCanBeUndefined) != 0) continue;
      if ((can & kCanOverflow) != 0) return OverflowError(constraint, "all values");
      return FailedPrecondition(
          "the search space is empty: constraint '", TextOf(constraint),
          (can & kCanDivideByZero) != 0 ? "' always divides by zero" : "' never holds");
    }
    roots = std::move(others);
    return absl::OkStatus();
  }

  // Applies conditions on one parameter to its domain.
  Status TakeUnary(const OperationGraph& graph, std::vector<RootCondition>& roots,
                   const std::vector<int>& levels) {
    std::vector<std::vector<RootCondition>> unary(parameters_.size());
    std::vector<RootCondition> unary_roots;
    std::vector<RootCondition> others;
    const std::vector<std::vector<int>> below = ParametersOfOperations(graph);
    for (const RootCondition& root : roots) {
      (below[root.operation].size() == 1 ? unary_roots : others).push_back(root);
    }
    roots = std::move(others);
    if (unary_roots.empty()) return absl::OkStatus();
    SpacePlan plan{OrderedByLevel(graph, unary_roots, levels, ParameterBounds()), values_, {}, {}};
    const std::vector<std::vector<int>> of_operations = ParametersOfOperations(plan.graph);
    for (const RootCondition& root : unary_roots) {
      if (!of_operations[root.operation].empty()) {
        unary[of_operations[root.operation][0]].push_back(root);
      }
    }
    Expander expander(plan, std::numeric_limits<size_t>::max());
    for (size_t parameter = 0; parameter < parameters_.size(); ++parameter) {
      for (const RootCondition& root : unary[parameter]) {
        MDH_RETURN_IF_ERROR(
            TakeUnary(static_cast<int>(parameter), root, of_operations, plan, expander));
      }
    }
    for (const Incident& incident : expander.divisions_by_zero()) {
      notices_.push_back(DivisionByZeroNotice(constraints_[incident.constraint],
                                              ValueAt(incident.prefix, incident.position)));
    }
    return absl::OkStatus();
  }

  Status TakeUnary(int parameter, const RootCondition& root,
                   const std::vector<std::vector<int>>& of_operations, const SpacePlan& plan,
                   Expander& expander) {
    LevelPlan level = PlanUnary(parameter, root, of_operations, plan.graph);
    std::vector<PositionRun> domain = expander.Filter(level, static_cast<uint32_t>(parameter));
    const Constraint& constraint = constraints_[root.constraint];
    if (expander.overflow().constraint >= 0) {
      return OverflowError(constraint,
                           ValueAt(static_cast<uint32_t>(parameter), expander.overflow().position));
    }
    if (domain.empty()) {
      return FailedPrecondition(
          "the search space is empty: no value of '", parameters_[parameter].name, "' (",
          parameters_[parameter].range.ToText(), ") satisfies constraint '", TextOf(constraint),
          "'",
          constraint.formula.Parameters().size() > 1 || domains_[parameter].size() > 1 ||
                  domains_[parameter][0].last - domains_[parameter][0].first + 1 <
                      parameters_[parameter].range.size()
              ? " and the constraints before it"
              : "");
    }
    domains_[parameter] = std::move(domain);
    return absl::OkStatus();
  }

  LevelPlan PlanUnary(int parameter, const RootCondition& root,
                      const std::vector<std::vector<int>>& of_operations,
                      const OperationGraph& graph) const {
    LevelPlan level{.parameter = parameter,
                    .domain = domains_[parameter],
                    .leaves = {},
                    .unknown = {},
                    .prelude = {},
                    .roots = {},
                    .slot_sources = {},
                    .gate_sources = {}};
    LevelRoot planned{.operation = root.operation,
                      .constraint = root.constraint,
                      .is_complete = true,
                      .steps = {}};
    const std::vector<bool> is_used = UsedOperations(graph, {root});
    for (size_t number = 0; number < is_used.size(); ++number) {
      if (!is_used[number] || of_operations[number].empty()) continue;
      const int operation = static_cast<int>(number);
      if (IsLeafOfParameter(graph.operations()[number].code)) {
        level.leaves.push_back(operation);
      } else {
        planned.steps.push_back(StepOf(graph, operation, true));
      }
    }
    std::vector<bool> is_known(of_operations.size());
    for (size_t number = 0; number < is_known.size(); ++number) {
      is_known[number] = of_operations[number].empty();
    }
    for (int leaf : level.leaves) {
      if (graph.operations()[leaf].code == OperationCode::kParameter &&
          graph.operations()[leaf].kind == ValueKind::kInteger) {
        planned.factors = FindFactors(graph, root.operation, leaf, is_known);
      }
    }
    level.roots.push_back(std::move(planned));
    return level;
  }

  std::string ValueAt(uint32_t parameter, uint32_t position) const {
    const TuningParameter& of = parameters_[parameter];
    return absl::StrCat(of.name, "=", ToText(of.range.ValueOf(of.range.CodeAt(position))));
  }

  const std::vector<TuningParameter>& parameters_;
  const std::vector<Constraint>& constraints_;
  StringRanks strings_;
  std::vector<ParameterValues> values_;
  std::vector<std::vector<PositionRun>> domains_;  // by parameter
  std::vector<std::string> notices_;
};

}  // namespace

std::string TextOf(const Constraint& constraint) {
  return constraint.name.empty() ? constraint.formula.ToText() : constraint.name;
}

std::string ValuesOf(const Constraint& constraint, const std::vector<TuningParameter>& parameters,
                     absl::Span<const int64_t> configuration) {
  std::string text;
  for (const std::string& name : constraint.formula.Parameters()) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name != name) continue;
      absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=",
                      ToText(parameters[i].range.ValueOf(configuration[i])));
    }
  }
  return text;
}

std::string DivisionByZeroNotice(const Constraint& constraint, const std::string& values) {
  return absl::StrCat("constraint '", TextOf(constraint), "' divides by zero for ", values,
                      "; where it does, it counts as not satisfied");
}

Status OverflowError(const Constraint& constraint, const std::string& values) {
  return OutOfRange("constraint '", TextOf(constraint), "' leaves 64-bit integers, or reals, for ",
                    values);
}

Result<Preparation> Prepare(const std::vector<TuningParameter>& parameters,
                            const std::vector<Constraint>& constraints, ParameterOrder order) {
  MDH_RETURN_IF_ERROR(CheckInput(parameters, constraints));
  return Preparer(parameters, constraints).Run(order);
}

}  // namespace mdh
