// What `mdh check` says about an expression.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/expression/expression.h"

namespace mdh {

// Several lines: dimensions with their operators and laws, buffers with shapes, layouts, borders
// and reuse, types of results, operations per point, work and least traffic, digest.
std::string ExplainAsText(const Expression& expression);

// The same for programs. Sizes and counts are numbers.
nlohmann::ordered_json ExplainAsJson(const Expression& expression);

}  // namespace mdh
