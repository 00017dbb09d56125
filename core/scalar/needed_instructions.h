// Which operations of a scalar function no evaluation can do without.
#pragma once

#include <vector>

#include "core/scalar/scalar_function.h"

namespace mdh {

// By instruction: whether it must be evaluated whatever the arguments are, so that these results
// are known. Not so are both alternatives of a selection and both operands of && and ||, as one of
// them may decide alone. `results`: one per result.
std::vector<bool> NeededInstructions(const ScalarFunction& f, const std::vector<bool>& results);

// The same by parameter: those of which the value must be known.
std::vector<bool> NeededParameters(const ScalarFunction& f, const std::vector<bool>& results);

// By instruction, then by parameter: whether the value depends on it.
std::vector<std::vector<bool>> ParametersOfInstructions(const ScalarFunction& f);

}  // namespace mdh
