// Specifications of studies as what they define: parameters, constraints, how to search and when to
// end. Configurations by name and as codes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "tuner/search/abort_condition.h"
#include "tuner/search/search.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/named_decision.h"
#include "tuner/space/search_space.h"

namespace mdh {

// Limits of a specification.
inline constexpr int kMaxStudyNameLength = 64;  // characters of the display name
inline constexpr int kMaxStudyParameters = 1000;
inline constexpr int kMaxStudyDefinitions = 10'000;
inline constexpr int kMaxStudyConstraints = 10'000;  // formulas and tables together
inline constexpr int kMaxStudyStarts = 1000;
inline constexpr int kMaxStudyLookahead = 1024;
inline constexpr int64_t kMaxStudyTextBytes = int64_t{1} << 20;  // of the texts of all formulas
inline constexpr int64_t kMaxSetValues = int64_t{1} << 20;       // of one set
inline constexpr int64_t kMaxBoundedValues = int64_t{1} << 20;   // of all parameters, with a bound
inline constexpr int64_t kMaxTableTuples = int64_t{1} << 24;     // of one table

// A checked specification: types are right, names are known. Whether any configuration is valid is
// only known once the space is built (SearchSpace::Create).
struct StudyDefinition {
  std::vector<TuningParameter> parameters;
  std::vector<Constraint> constraints;
  // Definitions as formulas over parameters and constants alone.
  std::map<std::string, Formula> definitions;
  SearchOptions search;
  std::vector<NamedDecision> restrictions;
  // nullopt: when the space is used up.
  std::optional<AbortCondition> abort;
};

// Errors: InvalidArgument, beginning with the field, e.g. "study.parameters[2].interval: ...".
Result<StudyDefinition> ReadStudySpec(const v1::StudySpec& spec);

// What is searched: the space of the parameters, as far as constraints and restrictions leave it.
// Errors: those of SearchSpace::Create, ReadDecisions and PartialConfiguration::With.
Result<SearchSpace> SpaceOf(const StudyDefinition& study, const SpaceOptions& options = {});

// The specification with the defaults of technique, seed, lookahead and steps filled in.
v1::StudySpec WithDefaults(v1::StudySpec spec);

// A further formula over parameters and definitions of a study, e.g. a launch geometry. Errors:
// InvalidArgument for its syntax, unknown names and wrong types; if it is not of one of `types`.
Result<Formula> ReadStudyFormula(std::string_view text, const StudyDefinition& study,
                                 absl::Span<const ValueType> types);

// Codes of a configuration by name, in the order of `parameters`. Integers may be given as decimal
// strings, which have no limit of 2^53. Errors: InvalidArgument for a parameter that is missing or
// unknown, and for a value of another type or out of its range, naming parameter and value.
Result<Configuration> ConfigurationFromNamed(const v1::NamedConfiguration& named,
                                             absl::Span<const TuningParameter> parameters);

// The same, but values may be out of their ranges; their codes are then none of the range's. For
// configurations that are repaired (SearchSpace::Nearest).
Result<Configuration> WantedFromNamed(const v1::NamedConfiguration& named,
                                      absl::Span<const TuningParameter> parameters);

// Inverse of ConfigurationFromNamed. Integers beyond 2^53 become decimal strings. Expects codes of
// the ranges.
v1::NamedConfiguration NamedFromConfiguration(absl::Span<const int64_t> configuration,
                                              absl::Span<const TuningParameter> parameters);

}  // namespace mdh
