// What the parameters of a space of decompositions mean: in words, and in those of schedules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/schedule/decision.h"
#include "tuner/space/formula/range.h"
#include "tuner/space/named_decision.h"

namespace mdh {

struct ParameterMeaning {
  std::string text;  // "into how many parts layer SHR cuts dimension k"
  // What it is about; empty if that is no one of them.
  std::string layer, dimension, buffer;
  std::string schedule;  // as lines of schedules begin: "SHR: parts k"; empty: they do not have it
  ValueNames names;      // of its values, spelled as in schedules; empty: numbers are right
  // The decision of schedules that fixes it, without values, and what the values are there; nullopt
  // where the others say more, or less. No decision: no schedule says the same.
  std::optional<Decision> decision = std::nullopt;
  std::vector<std::optional<ChoiceValue>> values = {};  // by position in the range
};

// Of a parameter that stands for a code-level choice, whose values are given by position.
ParameterMeaning MeaningOfChoice(const Choice& row, const std::vector<ChoiceValue>& values);
// Of any other; `divided`: the expression whose dimensions are fused. Empty: it is not known.
ParameterMeaning MeaningOf(const TuningParameter& parameter, const Expression& divided,
                           const SystemModel& model);

// The names of values, by parameter.
std::vector<ValueNames> ValueNamesOf(const std::vector<ParameterMeaning>& meanings);

}  // namespace mdh
