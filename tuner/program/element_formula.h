// Formulas that are evaluated for every element of buffers: reference results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "tuner/space/formula/formula.h"
#include "tuner/space/formula/formula_number.h"

namespace mdh {

// Numbers are those of formulas; conditions are 1 and 0. Thread-safe.
class ElementFormula {
 public:
  // Names are columns, whose values differ from element to element, or constants. Expects numbers
  // and conditions only, and no other names. Constants go before columns of the same name.
  ElementFormula(const Formula& formula, const std::vector<std::string>& columns,
                 const std::map<std::string, Number>& constants);

  // The value where columns have these values. Errors: InvalidArgument for division by zero,
  // OutOfRange for overflow.
  Result<Number> At(absl::Span<const Number> columns) const;

 private:
  struct Node {
    FormulaOp op;  // kParameter: a column
    Number constant = {};
    size_t column = 0;
    std::vector<size_t> operands = {};  // nodes
  };
  size_t Add(const Formula& formula, const std::vector<std::string>& columns,
             const std::map<std::string, Number>& constants);
  ArithmeticOutcome Evaluate(size_t node, absl::Span<const Number> columns, Number* result) const;
  ArithmeticOutcome EvaluateNumbers(const Node& node, absl::Span<const Number> columns,
                                    Number* result) const;

  std::vector<Node> nodes_;  // operands before those that use them
};

}  // namespace mdh
