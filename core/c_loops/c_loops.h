// Annotated sequential C loops as a front end; README.md describes what they may contain.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/pipeline/computation.h"
#include "core/text/parser.h"

namespace mdh {

struct CLoopsOptions {
  // Values of sizes: of macros, as with -D, and of integer parameters and variables without a
  // value. Names of scalar types ("fp64") are values of macros that stand for types.
  Bindings bindings;
  // The function whose loops are meant; empty: the only annotated loops of the file.
  std::string function;
};

// Parses a C file with clang and makes an expression of the loops after "#pragma mdh", or a
// pipeline of the nests in the block after it.
// `source_name`: the file's path, from which it includes others.
// Errors: InvalidArgument, OutOfRange or what Expression::Create says; the message is
//   source_name:LINE:COLUMN: MESSAGE
// followed by the line and a caret. NotFound if there are no such loops.
Result<Computation> ParseCComputation(std::string_view text, const CLoopsOptions& options = {},
                                      std::string_view source_name = "<text>.c");

}  // namespace mdh
