// Texts of C with annotated loops, and what they mean.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "core/c_loops/c_loops.h"

namespace mdh {

inline Result<Expression> ParseLoops(const std::string& text, const Bindings& bindings = {},
                                     const std::string& function = "") {
  return ParseCLoops(text, {.bindings = bindings, .function = function}, "loops.c");
}

// A function with these parameters around annotated loops.
inline std::string InFunction(const std::string& parameters, const std::string& loops) {
  return absl::StrCat("#include <math.h>\n#include <stdint.h>\nvoid kernel(", parameters, ") {\n",
                      loops, "\n}\n");
}

}  // namespace mdh
