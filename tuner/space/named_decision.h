// Decisions on parameters of a space as people and messages write them: by names.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/space/partial_configuration.h"
#include "tuner/space/search_space.h"

namespace mdh {

struct NamedDecision {
  std::string parameter;
  std::vector<std::string> values;
  bool is_forbidden = false;  // these do not remain; else only these
  friend bool operator==(const NamedDecision&, const NamedDecision&) = default;
};

// As formulas spell it, or by its name, or, of strings, without quotes. Errors: InvalidArgument,
// with the values that there are.
Result<int64_t> CodeNamed(const TuningParameter& parameter, const std::string& text,
                          const ValueNames& names = {});
// Its name, or as formulas spell it.
std::string ValueText(const TuningParameter& parameter, int64_t code, const ValueNames& names = {});

// `names`: by parameter, or empty. Errors: InvalidArgument for parameters and values that there are
// not, with those that there are, and for decisions without values.
Result<std::vector<PartialConfiguration::Decision>> ReadDecisions(
    const SearchSpace& space, absl::Span<const NamedDecision> decisions,
    absl::Span<const ValueNames> names = {});

}  // namespace mdh
