// Factors that sums have in common are multiplied in the store function.
#pragma once

#include "core/base/status.h"
#include "core/expression/contraction_form.h"
#include "core/expression/expression.h"

namespace mdh {

// The same computation whose f is the product of both operands alone, and whose store function
// multiplies the sum with the factor of the form first. Inputs stay as they are, in number and
// order, also those that only the factor reads. Without a factor it is the expression itself.
// Numerics as FindContractionForm says. Errors: those of Expression::Create.
Result<Expression> WithFactorStored(const Expression& expression, const ContractionForm& form);

}  // namespace mdh
