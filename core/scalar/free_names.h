// Names of results for functions that are made of those of users.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/scalar/scalar_function.h"

namespace mdh {

// The results under names that no parameter has: with as many underscores behind as that takes.
std::vector<TypedName> NamedBeside(absl::Span<const TypedName> parameters,
                                   std::vector<TypedName> results);

}  // namespace mdh
