// Whether register tiles without lanes are computed without vectors.
#pragma once

#include "core/decomposition/tuning_parameters.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"

namespace mdh {

// Whether lanes of register tiles are a decision: some dimension may have them, and numbers are of
// floating-point types. Then compilers make no vectors of tiles that have none, and it is known
// what these cannot be faster than (codegen/bounds/design_bound.h).
bool DecidesLanes(const Expression& expression, const SystemModel& model, NumericsPolicy numerics);
// And these parameters decide for none.
bool HasScalarTiles(const Expression& expression, const SystemModel& model,
                    const TuningParameters& parameters);

}  // namespace mdh
