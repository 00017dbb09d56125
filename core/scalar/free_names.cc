#include "core/scalar/free_names.h"

#include <algorithm>

namespace mdh {

std::vector<TypedName> NamedBeside(absl::Span<const TypedName> parameters,
                                   std::vector<TypedName> results) {
  for (TypedName& result : results) {
    const auto has_name = [&result](const TypedName& p) { return p.name == result.name; };
    while (std::ranges::any_of(parameters, has_name)) result.name += '_';
  }
  return results;
}

}  // namespace mdh
