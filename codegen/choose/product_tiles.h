// Designs whose threads have the usual tiles of matrix products.
#pragma once

#include "absl/functional/function_ref.h"
#include "codegen/choose/block_design.h"
#include "core/device/device_description.h"
#include "core/expression/expression.h"

namespace mdh {

// Shows `visit` designs for a reduction whose inputs are all copied chunk by chunk, through
// registers and, where the device can, asynchronously: a thread has a tile of results along `lane`
// and another dimension, which are both kept, and along neither of which all inputs move; blocks
// have many shapes, and those few parts of the longest reduction with which the last wave of blocks
// is fuller than with fewer, and with which every multiprocessor has three warps per scheduler. The
// compiler leaves registers for as many blocks as have room for their results.
// None, where `lane` or the expression is not of that kind. They need not fit the device.
//
// Local searches from a few starts often end at other designs that cost more: from there, tiles,
// threads and parts would have to change at once.
void VisitProductTiles(const Expression& expression, const DeviceDescription& device, int lane,
                       absl::FunctionRef<void(const BlockDesign&)> visit);

}  // namespace mdh
