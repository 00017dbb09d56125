// Spelling of the parts of formulas: names of operations, suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/space/formula/formula.h"

namespace mdh {

// As the text form spells it: "+", "min", "if", ...
std::string_view Spelling(FormulaOp op);

// Names of the functions of the text form.
const std::vector<std::string>& FormulaFunctions();

// "; did you mean 'WPT'?" for the candidate that takes the fewest changes of single characters to
// become `name`; empty if all are too far away. Smaller and larger letters differ little.
std::string Suggestion(std::string_view name, const std::vector<std::string>& candidates);

// Text of a formula in quotes for messages, cut if it is long.
std::string QuotedFormula(const Formula& formula);

}  // namespace mdh
