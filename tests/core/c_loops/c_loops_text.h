// Texts of C with annotated loops, and what they mean.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/text_view.h"
#include "core/c_loops/c_loops.h"

namespace mdh {

// As ParseCComputation where it must be one nest.
inline Result<Expression> ParseCLoops(std::string_view text, const CLoopsOptions& options = {},
                                      std::string_view source_name = "<text>.c") {
  MDH_ASSIGN_OR_RETURN(Computation computation, ParseCComputation(text, options, source_name));
  if (auto* const expression = std::get_if<Expression>(&computation); expression != nullptr) {
    return std::move(*expression);
  }
  return InvalidArgument(View(source_name), ": the loops are a pipeline of ",
                         std::get<Pipeline>(computation).steps().size(),
                         " nests; here one nest is wanted");
}

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
