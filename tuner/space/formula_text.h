// The text form of formulas: expressions of Python 3 over parameters.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/status.h"
#include "tuner/space/formula.h"

namespace mdh {

// Numbers, True and False (true, false), strings in single or double quotes; + - * / // % **;
// comparisons, also chained (32 <= a*b <= 1024); and, or, not (also &&, ||, !); a if c else b (also
// c ? a : b); x in (1, 2, 4); min, max, abs, ceil_div(a, b), divides(a, b), position(order, "k");
// parentheses. `definitions` are names for formulas that are written in place; they may use each
// other. Errors: InvalidArgument with the column and what was expected; for definitions that form a
// cycle, with the cycle.
Result<Formula> ParseFormula(std::string_view text,
                             const std::map<std::string, std::string>& definitions = {});

}  // namespace mdh
