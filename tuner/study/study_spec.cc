// A specification as parameters, constraints, search and abort condition.
#include "tuner/study/study_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/space/formula/formula_names.h"
#include "tuner/space/formula/formula_text.h"
#include "tuner/space/formula_bound.h"
#include "tuner/space/partial_configuration.h"
#include "tuner/study/restrictions.h"
#include "tuner/study/study_spec_error.h"
#include "tuner/study/study_spec_range.h"
#include "tuner/study/study_spec_table.h"

namespace mdh {
namespace {

// Constraints are called by their texts, unless these are long.
constexpr size_t kMaxConstraintName = 200;

Status CheckAtMost(const char* field, int64_t count, int64_t limit) {
  if (count <= limit) return absl::OkStatus();
  return InvalidArgument(field, ": there are ", count, ", but at most ", limit, " are allowed");
}

Status CheckSizes(const v1::StudySpec& spec) {
  // Characters, not bytes.
  const auto length = std::ranges::count_if(
      spec.display_name(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  if (length > kMaxStudyNameLength) {
    return InvalidArgument("study.display_name: has ", length, " characters, but at most ",
                           kMaxStudyNameLength, " are allowed");
  }
  MDH_RETURN_IF_ERROR(
      CheckAtMost("study.definitions", spec.definitions().size(), kMaxStudyDefinitions));
  MDH_RETURN_IF_ERROR(CheckAtMost("study.constraints and study.tables",
                                  int64_t{spec.constraints_size()} + spec.tables_size(),
                                  kMaxStudyConstraints));
  MDH_RETURN_IF_ERROR(CheckAtMost("study.start", spec.start_size(), kMaxStudyStarts));
  uint64_t bytes = spec.abort().size();
  for (const auto& definition : spec.definitions()) {
    bytes += definition.first.size() + definition.second.size();
  }
  bytes += spec.lower_bound().size();
  for (const std::string& constraint : spec.constraints()) bytes += constraint.size();
  for (const v1::TableConstraint& table : spec.tables()) bytes += table.text().size();
  for (const v1::StudyParameter& parameter : spec.parameters()) {
    bytes += parameter.interval().generator().size();
  }
  if (bytes > static_cast<uint64_t>(kMaxStudyTextBytes)) {
    return InvalidArgument("study: definitions, constraints and generators have ", bytes,
                           " bytes of text, but at most ", kMaxStudyTextBytes, " are allowed");
  }
  return absl::OkStatus();
}

// The type of a formula, with suggestions for names that are neither parameters nor definitions.
Result<ValueType> CheckStudyFormula(const Formula& formula, const StudyDefinition& study) {
  for (const std::string& name : formula.Parameters()) {
    const bool is_known = std::ranges::any_of(
        study.parameters, [&](const TuningParameter& parameter) { return parameter.name == name; });
    if (is_known) continue;
    std::vector<std::string> names;
    for (const TuningParameter& parameter : study.parameters) names.push_back(parameter.name);
    for (const auto& definition : study.definitions) names.push_back(definition.first);
    return InvalidArgument("there is no parameter or definition '", name, "'",
                           Suggestion(name, names));
  }
  return CheckFormula(formula, study.parameters);
}

Result<std::map<std::string, Formula>> ReadDefinitions(const v1::StudySpec& spec) {
  auto definitions = ParseDefinitions({spec.definitions().begin(), spec.definitions().end()});
  if (!definitions.ok()) return InField("study.definitions", definitions.status());
  return definitions;
}

// Definitions are checked although no constraint may use them: launch geometries may.
Status CheckDefinitions(const StudyDefinition& study) {
  int64_t size = 0;
  for (const auto& [name, formula] : study.definitions) {
    size += formula.size();
    if (size > kMaxFormulaSize) {
      return InvalidArgument("study.definitions: with those that they use written in place, ",
                             "they have more than ", kMaxFormulaSize, " operations and operands");
    }
    const auto type = CheckStudyFormula(formula, study);
    if (!type.ok()) return InField(absl::StrCat("study.definitions['", name, "']"), type.status());
  }
  return absl::OkStatus();
}

Status ReadConstraints(const v1::StudySpec& spec, StudyDefinition* study) {
  int64_t size = 0;
  for (int i = 0; i < spec.constraints_size(); ++i) {
    const std::string& text = spec.constraints(i);
    const std::string field = absl::StrCat("study.constraints[", i, "]");
    auto formula = ReadStudyFormula(text, *study, {ValueType::kBool});
    if (!formula.ok()) return InField(field, formula.status());
    size += formula->size();
    if (size > kMaxFormulaSize) {
      return InvalidArgument(field, ": constraints up to here, with definitions written in ",
                             "place, have more than ", kMaxFormulaSize, " operations and operands");
    }
    study->constraints.emplace_back(text.size() <= kMaxConstraintName ? text : std::string(),
                                    *std::move(formula));
  }
  for (int i = 0; i < spec.tables_size(); ++i) {
    auto constraint = ReadTableConstraint(spec.tables(i), study->parameters);
    if (!constraint.ok()) {
      return InvalidArgument("study.tables[", i, "].", constraint.status().message());
    }
    study->constraints.push_back(*std::move(constraint));
  }
  return absl::OkStatus();
}

Status ReadLowerBound(const v1::StudySpec& spec, StudyDefinition* study) {
  if (!(spec.gap() >= 0 && spec.gap() < 1)) {
    return InvalidArgument("study.gap: ", spec.gap(), " is not at least 0 and less than 1");
  }
  if (spec.lower_bound().empty()) {
    if (spec.gap() == 0) return absl::OkStatus();
    return InvalidArgument("study.gap: it is about a lower bound, but there is none");
  }
  const auto formula =
      ReadStudyFormula(spec.lower_bound(), *study, {ValueType::kInteger, ValueType::kReal});
  if (!formula.ok()) return InField("study.lower_bound", formula.status());
  int64_t values = 0;
  for (const TuningParameter& parameter : study->parameters) values += parameter.range.size();
  if (values > kMaxBoundedValues) {
    return InvalidArgument("study.lower_bound: the parameters have ", values,
                           " values together, but at most ", kMaxBoundedValues, " may be bounded");
  }
  study->search.bound = std::make_shared<FormulaBound>(*formula, study->parameters);
  study->search.gap = spec.gap();
  return absl::OkStatus();
}

Status ReadSearch(const v1::StudySpec& spec, StudyDefinition* study) {
  const auto technique = SearchTechniqueNamed(spec.technique());
  if (!technique.ok()) return InField("study.technique", technique.status());
  if (spec.lookahead() < 1 || spec.lookahead() > kMaxStudyLookahead) {
    return InvalidArgument("study.lookahead: ", spec.lookahead(), " is not between 1 and ",
                           kMaxStudyLookahead);
  }
  study->search.technique = spec.technique();
  study->search.seed = spec.seed();
  study->search.lookahead = spec.lookahead();
  for (int i = 0; i < spec.start_size(); ++i) {
    auto start = WantedFromNamed(spec.start(i), study->parameters);
    if (!start.ok()) return InField(absl::StrCat("study.start[", i, "]"), start.status());
    study->search.start.push_back(*std::move(start));
  }
  if (spec.abort().empty()) return absl::OkStatus();
  auto abort = AbortCondition::Parse(spec.abort());
  if (!abort.ok()) return InField("study.abort", abort.status());
  study->abort = *std::move(abort);
  return absl::OkStatus();
}

}  // namespace

Result<SearchSpace> SpaceOf(const StudyDefinition& study, const SpaceOptions& options) {
  MDH_ASSIGN_OR_RETURN(SearchSpace space,
                       SearchSpace::Create(study.parameters, study.constraints, options));
  if (study.restrictions.empty()) return space;
  auto decisions = ReadDecisions(space, study.restrictions);
  if (!decisions.ok()) return InField("study.restrictions", decisions.status());
  MDH_ASSIGN_OR_RETURN(const PartialConfiguration left,
                       PartialConfiguration(space).With(*decisions));
  return left.AsSpace();
}

v1::StudySpec WithDefaults(v1::StudySpec spec) {
  const SearchOptions defaults;
  if (spec.technique().empty()) spec.set_technique(defaults.technique);
  if (spec.seed() == 0) spec.set_seed(defaults.seed);
  if (spec.lookahead() == 0) spec.set_lookahead(defaults.lookahead);
  for (v1::StudyParameter& parameter : *spec.mutable_parameters()) {
    if (parameter.has_interval() && parameter.interval().step() == 0) {
      parameter.mutable_interval()->set_step(1);
    }
  }
  return spec;
}

Result<StudyDefinition> ReadStudySpec(const v1::StudySpec& given) {
  const v1::StudySpec spec = WithDefaults(given);
  MDH_RETURN_IF_ERROR(CheckSizes(spec));
  StudyDefinition study;
  MDH_ASSIGN_OR_RETURN(study.definitions, ReadDefinitions(spec));
  MDH_ASSIGN_OR_RETURN(study.parameters, ReadStudyParameters(spec, study.definitions));
  MDH_RETURN_IF_ERROR(CheckDefinitions(study));
  MDH_RETURN_IF_ERROR(ReadConstraints(spec, &study));
  MDH_RETURN_IF_ERROR(ReadSearch(spec, &study));
  MDH_RETURN_IF_ERROR(ReadLowerBound(spec, &study));
  auto restrictions = ReadRestrictions(spec.restrictions());
  if (!restrictions.ok()) return InField("study.restrictions", restrictions.status());
  study.restrictions = *std::move(restrictions);
  return study;
}

Result<Formula> ReadStudyFormula(std::string_view text, const StudyDefinition& study,
                                 absl::Span<const ValueType> types) {
  MDH_ASSIGN_OR_RETURN(Formula formula, ParseFormulaOver(text, study.definitions));
  MDH_ASSIGN_OR_RETURN(const ValueType type, CheckStudyFormula(formula, study));
  if (std::ranges::find(types, type) != types.end()) return formula;
  std::string expected;
  for (const ValueType other : types) {
    absl::StrAppend(&expected, expected.empty() ? "" : " or ", std::string(Name(other)));
  }
  return InvalidArgument("is of type ", std::string(Name(type)), ", but ", expected,
                         " is expected");
}

}  // namespace mdh
