// Steps that are sums of products.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"

namespace mdh {

// All that f does with one access, and that it is multiplied with.
struct ProductFactor {
  int buffer, access;
  // Takes the parameters of f, of which it reads those of this access, and has one result.
  ScalarFunction function;

  // Whether the factor is what is read, as it is.
  bool is_plain() const;
};

// The factors of f, of which every access is in one; their product is the result. Numbers that
// depend on nothing are part of the first factor. Errors: FailedPrecondition if f is no such
// product or results are combined by anything but +.
Result<std::vector<ProductFactor>> ProductForm(const Expression& expression);

}  // namespace mdh
