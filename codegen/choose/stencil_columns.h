// A design for stencils.
#pragma once

#include <optional>

#include "codegen/choose/block_design.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"

namespace mdh {

// Of stencils: a warp has a row, a thread some points of neighbouring rows and planes, in one
// piece of unrolled code, which loads once what they have in common, and all at once. Measured,
// these are faster than the model says, and than what it holds to be better. nullopt: it is no
// stencil, has but rows, or too few results.
std::optional<BlockDesign> StencilColumns(const Expression& expression,
                                          const DeviceDescription& device);

}  // namespace mdh
