// FILE and --set NAME=VALUE, or --einsum STRING and --size LETTER=SIZE, on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "core/teml/to_schedule.h"
#include "core/text/parser.h"

namespace mdh {

// An expression comes from a file or from a summation string, a pipeline from a file.
struct ExpressionArguments {
  // Text; a message as *.binpb or *.json; annotated loops as *.c or *.h; a TeML program as *.teml;
  // "-": text, or a TeML program, on standard input.
  std::string file = {};
  std::vector<std::string> set = {};  // "NAME=VALUE": of --set, then as words behind the file
  std::string function = {};          // C loops: those of this function
  std::string einsum = {};            // instead of a file
  // Of --einsum.
  std::vector<std::string> sizes = {};   // "a=24,b=16"
  std::vector<std::string> shapes = {};  // of the operands: "8,16,32"
  std::string type = "fp32";             // of the operands
  std::string out_type = {};             // of the output; empty: that of the operands
  std::string accumulate = {};           // of sums; empty: the wider one of both
  std::string epilogue = {};             // what is made of sums; empty: nothing
};

// `file_help`: what the positional argument may be.
void AddExpressionArguments(
    CLI::App& command, ExpressionArguments& arguments,
    const std::string& file_help =
        "expression or pipeline (.mdh, .teml, .c, .h, .binpb, .json); -: standard input");

// The words that give the same expression to another command; none if it comes from standard input.
std::vector<std::string> WordsOf(const ExpressionArguments& arguments);

// Errors: NotFound if the file cannot be read; InvalidArgument or OutOfRange, with the position and
// a caret where there is one; all with ExitCode::kBadExpression.
Result<Computation> LoadComputation(const ExpressionArguments& arguments);

// The text of a file, or with "-" of standard input. Errors: NotFound.
Result<std::string> ReadText(const std::string& file);

// What the transformations of a TeML program say; nullopt: it is no TeML program, or none of its
// loops is transformed. Errors: as LoadComputation.
Result<std::optional<ScheduledTeml>> LoadTemlSchedules(
    const ExpressionArguments& arguments, ScheduleDetail detail = ScheduleDetail::kWhatIsSaid);

// The loops of a TeML program. Errors: also InvalidArgument if it is none.
Result<std::string> LoadLoops(const ExpressionArguments& arguments);

}  // namespace mdh
