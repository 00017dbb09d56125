// The body of a function in the text form.
#pragma once

#include <string>
#include <vector>

#include "core/scalar/scalar_function.h"

namespace mdh {

// How the scalars that a function is made of are written.
struct FunctionNames {
  std::vector<std::string> parameters;  // "a", or "a.x" for a field of a record
  size_t first_index = 0;               // parameters from here on are indices
  struct Result {
    std::string name;
    std::vector<std::string> fields;  // of a record; none: a scalar
  };
  std::vector<Result> results;
};

// "{ w = M * v }", with `let` for values that are used more than once. Values are nested no deeper
// than the parser allows.
std::string BodyText(const ScalarFunction& function, const FunctionNames& names);

}  // namespace mdh
