// Accesses that register tiles are chosen for one by one.
#pragma once

#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// What the choices of an expression are counted for: accesses that move apart, as the two of a Gram
// matrix, are of inputs of their own, of which copies can be made (WithSeparateAccesses). Not where
// dot instructions may multiply, which need words of all.
Expression CountedExpression(const Expression& expression, const DeviceDescription& device);

// Parameters for the expression, by those for its counted one: of an input whose accesses are
// apart, the copy of the first of those that have lanes along its strips, or none
// (WithSeparateStrips).
TuningParameters ForOwners(TuningParameters parameters, const Expression& expression,
                           const Expression& counted, const SystemModel& model);

}  // namespace mdh
