// The text form of formulas: expressions of Python 3 over parameters.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tuner/space/formula/formula.h"

namespace mdh {

inline constexpr size_t kMaxFormulaLength = size_t{1} << 20;  // bytes of text
// How deeply parentheses, signs, powers and choices nest in a text.
inline constexpr int kMaxFormulaNesting = 200;

// Numbers, True and False (true, false), strings in single or double quotes; + - * / // % **;
// comparisons, also chained (32 <= a*b <= 1024); and, or, not (also &&, ||, !); a if c else b (also
// c ? a : b); x in (1, 2, 4); min, max, abs, ceil_div(a, b), divides(a, b), position(order, "k");
// ["i", "k", "j"] for a permutation; parentheses. Precedence is Python's, but that ! binds as
// tightly as a sign. `definitions` are names for formulas that are written in place; they may use
// each other. Errors: InvalidArgument with the column and what was expected; for definitions that
// form a cycle, with the cycle.
Result<Formula> ParseFormula(std::string_view text,
                             const std::map<std::string, std::string>& definitions = {});

// The same in two steps, for many formulas over the same definitions: these, with those that they
// use written in place; and one formula over them.
Result<std::map<std::string, Formula>> ParseDefinitions(
    const std::map<std::string, std::string>& definitions);
Result<Formula> ParseFormulaOver(std::string_view text,
                                 const std::map<std::string, Formula>& definitions);

}  // namespace mdh
