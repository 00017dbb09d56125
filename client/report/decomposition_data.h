// A low-level expression as data for drawing it: nested tiles, and where they lie.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/unit_use.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// What parameters, as records and jobs have them, mean for an expression on a device. Errors: what
// in them cannot be read by this version, or does not fit.
Result<LowLevelExpression> Decompose(const Expression& expression, const std::string& parameters,
                                     const v1::DeviceDescription& device);
Result<LowLevelExpression> DecompositionOf(const v1::TuningRecord& record);

// The matrix unit that the record's kernel multiplies with, at the faster of the clocks that are
// known; nullopt: there is none.
std::optional<UnitUse> UnitUseOf(const v1::TuningRecord& record);

// Fields as decomposition.js reads them. Extents are in elements of buffers or points of
// dimensions; those of a tile are of the first part of a layer, which no other part exceeds.
nlohmann::json DecompositionData(const LowLevelExpression& low);

}  // namespace mdh
