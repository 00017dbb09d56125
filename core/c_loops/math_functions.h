// The functions of math.h and stdlib.h that have a counterpart among the scalar operations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/c_loops/scalar_builder.h"

namespace mdh {

// `arguments` are of the types of the C function's parameters. nullopt if the function is not known
// or has another number of parameters.
std::optional<int> BuildMathCall(const std::string& name, const std::vector<int>& arguments,
                                 ScalarBuilder* builder);

}  // namespace mdh
