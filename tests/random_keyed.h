// Random expressions whose results have keys (core/decomposition/keyed_form.h): rarely what random
// functions give.
#pragma once

#include "core/expression/expression.h"
#include "tests/random_expression.h"

namespace mdh {

// A sum, minimum, maximum or bit operation over one or more dimensions, of values where the keys of
// elements and of results are equal; both keys are random functions of what they may depend on, and
// so are the values and, sometimes, another condition. With several results, batches, kept
// dimensions that nothing depends on, and the choice said mirrored and negated. FindKeyedForm
// accepts it.
Expression RandomKeyedExpression(Rng& rng, const RandomExpressionOptions& options);

}  // namespace mdh
