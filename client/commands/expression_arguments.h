// FILE.mdh and --set NAME=VALUE on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/status.h"
#include "core/text/parser.h"

namespace mdh {

struct ExpressionArguments {
  std::string file;  // text, or a message as *.binpb or *.json; "-": text on standard input
  std::vector<std::string> set;  // "NAME=VALUE"
};

// `file_help`: what the positional argument may be.
void AddExpressionArguments(
    CLI::App& command, ExpressionArguments& arguments,
    const std::string& file_help = "expression (.mdh, .binpb, .json); -: standard input");

// Errors: NotFound if the file cannot be read; InvalidArgument or OutOfRange, with the position and
// a caret where there is one.
Result<Expression> LoadExpression(const ExpressionArguments& arguments);

}  // namespace mdh
