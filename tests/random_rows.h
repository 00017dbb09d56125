// Random pipelines of steps on rows, and layouts for them.
#pragma once

#include "core/device/device_description.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/plan/joint_group.h"
#include "tests/random_expression.h"

namespace mdh {

// Two to five steps along one dimension of up to 130 points, and for one or two others: sums,
// largest and smallest elements, statistics of two results, and maps; some have store functions,
// or no row at all. Inputs are whole, transposed, strided, the same for all rows, or one element
// per row. Values are clamped where they are read, so that sums are exact. `points`: of the largest
// steps, about, of rows of up to 4096; 0: few.
Pipeline RandomRowPipeline(Rng& rng, int64_t points = 0);

// Any layout whose constraints hold for rows of so many points; registers and shared memory aside.
RowLayout RandomRowLayout(Rng& rng, int64_t length, const DeviceDescription& device);

}  // namespace mdh
