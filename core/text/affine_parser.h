// Sizes and affine indices of the text form: + - * / on integers, size parameters and dimensions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/index_function.h"
#include "core/text/token_stream.h"

namespace mdh {

using SizeValues = std::map<std::string, int64_t, std::less<>>;

// Names that mean something in an expression.
struct AffineNames {
  const SizeValues* sizes;
  std::vector<std::string> dimensions;  // empty where only sizes are allowed
};

// Errors: InvalidArgument with position for bad syntax, unknown names, products of two dimensions
// and divisions with a remainder; OutOfRange for values that do not fit in 63 bits.
Result<AffineIndex> ParseAffine(TokenStream* stream, const AffineNames& names);

// An expression without dimensions.
Result<int64_t> ParseSize(TokenStream* stream, const SizeValues& sizes);

}  // namespace mdh
