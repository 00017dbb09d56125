// Checks of the buffers of one view: part of Expression::Create.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/expression/expression_place.h"

namespace mdh {

// Checks names, shapes, indices, boundaries, layouts and sizes of all buffers of inp_view
// (kInput), out_view (kOutput) or the store function (kStoreInput); computes the extents that are
// not given, and brings layouts and boundaries to one form per meaning. Errors: InvalidArgument or
// OutOfRange with a place.
Status CheckView(ExpressionPlace::Kind kind, const std::vector<Dimension>& dimensions,
                 std::vector<Buffer>* buffers);

// InvalidArgument and OutOfRange with a place.
template <typename... Parts>
Status InvalidAt(const ExpressionPlace& place, const Parts&... message) {
  return AtPlace(InvalidArgument(message...), place);
}
template <typename... Parts>
Status TooLarge(const ExpressionPlace& place, const Parts&... message) {
  return AtPlace(OutOfRange(message...), place);
}

// False if the product does not fit.
inline bool MultiplyInto(int64_t* product, int64_t factor) {
  return !__builtin_mul_overflow(*product, factor, product);
}

// "(i=3, k=0)".
std::string PointText(const std::vector<Dimension>& dimensions, absl::Span<const int64_t> point);

}  // namespace mdh
