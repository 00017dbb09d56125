// Checks of the buffers of one view: part of Expression::Create.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/expression.h"
#include "core/expression_place.h"
#include "core/status.h"

namespace mdh {

// Checks names, shapes, indices, boundaries, layouts and sizes of all buffers of inp_view (kInput)
// or out_view (kOutput); computes the extents that are not given, and brings layouts and boundaries
// to one form per meaning. Errors: InvalidArgument or OutOfRange with a place.
Status CheckView(ExpressionPlace::Kind kind, const std::vector<Dimension>& dimensions,
                 std::vector<Buffer>* buffers);

// "(i=3, k=0)".
std::string PointText(const std::vector<Dimension>& dimensions, absl::Span<const int64_t> point);

}  // namespace mdh
