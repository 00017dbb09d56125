// A low-level expression as data for drawing it: nested tiles, and where they lie.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/low_level_expression.h"

namespace mdh {

// Fields as decomposition.js reads them. Extents are in elements of buffers or points of
// dimensions; those of a tile are of the first part of a layer, which no other part exceeds.
nlohmann::json DecompositionData(const LowLevelExpression& low);

}  // namespace mdh
