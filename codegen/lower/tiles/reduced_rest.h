// What fills no vector along a reduction, as one vector whose last lanes are zeros.
#pragma once

#include "core/expression/expression.h"

namespace mdh {

// Whether zeros in place of all elements add nothing to what is reduced along dimension v, as in
// sums of products: every parameter of f is an element of four bytes or more that depends on v, of
// a buffer that ends without a boundary.
bool AddNothingAsZeros(const Expression& expression, int v);

}  // namespace mdh
