// The syntax of summation strings: words of letters, in which "..." stands for any dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/base/status.h"

namespace mdh {

// One letter, or "...", and where it stands in the text.
struct EinsumLetter {
  std::string name;
  size_t offset;

  bool is_ellipsis() const { return name == "..."; }
};
using EinsumWord = std::vector<EinsumLetter>;

struct EinsumSyntax {
  std::vector<EinsumWord> operands;
  EinsumWord output;  // as it is written, or as it follows from the operands
};

// Reads "OPERAND{,OPERAND}[->OUTPUT]". `shapes`: per operand its extents, from which follows what
// "..." stands for; none: it is an error. Dimensions of "..." are called e1, e2, ...; they are
// aligned at the last one. The result has no "...".
//
// Errors: InvalidArgument with position and caret.
Result<EinsumSyntax> ParseEinsumSyntax(const Source& source,
                                       const std::vector<std::vector<int64_t>>& shapes);

}  // namespace mdh
