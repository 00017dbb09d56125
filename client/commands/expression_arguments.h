// FILE and --set NAME=VALUE, or --einsum STRING and --size LETTER=SIZE, on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/status.h"
#include "core/text/parser.h"

namespace mdh {

// An expression comes from a file or from a summation string.
struct ExpressionArguments {
  // Text; a message as *.binpb or *.json; annotated loops as *.c or *.h; "-": text on standard
  // input.
  std::string file = {};
  std::vector<std::string> set = {};    // "NAME=VALUE"
  std::string function = {};            // C loops: those of this function
  std::string einsum = {};              // instead of a file
  std::vector<std::string> sizes = {};  // einsum: "a=24,b=16"
  std::string type = "fp32";            // einsum: of all buffers
};

// `file_help`: what the positional argument may be.
void AddExpressionArguments(
    CLI::App& command, ExpressionArguments& arguments,
    const std::string& file_help = "expression (.mdh, .c, .h, .binpb, .json); -: standard input");

// Errors: NotFound if the file cannot be read; InvalidArgument or OutOfRange, with the position and
// a caret where there is one.
Result<Expression> LoadExpression(const ExpressionArguments& arguments);

}  // namespace mdh
