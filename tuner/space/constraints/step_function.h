// Choices between constants by the size of one integer, as tables: what logarithms and other
// lookups in formulas come to.
#pragma once

#include <optional>

#include "tuner/space/constraints/operation_graph.h"

namespace mdh {

// `condition ? then : otherwise` as one operation, if the condition compares an integer operation
// with a constant and both values are constants, or such tables of the same operation.
std::optional<Operation> StepFunction(const OperationGraph& graph, int condition, int then,
                                      int otherwise);

// Bounds of a table for those of its operand.
void EvaluateSteps(const Operation& operation, const Bounds& operand, Bounds& result);

}  // namespace mdh
