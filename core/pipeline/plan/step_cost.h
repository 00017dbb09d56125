// What a step of a pipeline costs by the plan.
#pragma once

#include <cstdint>

#include "core/pipeline/pipeline.h"

namespace mdh {

// Of any type, but for the reading of parameters and constants; at most the largest int64_t.
// Multiplications that neighbouring results have in common count once for them (FactorOrder).
int64_t OperationsOf(const Expression& expression);

// Bytes that it reads and writes at least, plus operations by the exchange rate.
double CostOf(const Expression& expression, double operations_per_byte);
// Of all steps, each by itself.
double CostOf(const Pipeline& pipeline, double operations_per_byte);

}  // namespace mdh
