// The neighbourhood of a configuration of matrix units (core/decomposition/unit_plan.h): small
// changes, the steps of local searches.
#pragma once

#include <vector>

#include "core/decomposition/tuning_parameters.h"

namespace mdh {

// Configurations that one change leads to: rows or columns of a tile up or down, or one up and the
// other down; its rows among more groups or fewer; stages; parts of k; packed operands; and the
// choices that blocks have (BlockChoices). They need not be valid. Expects unit.rows > 0.
std::vector<TuningParameters> UnitMoves(const TuningParameters& parameters);

}  // namespace mdh
