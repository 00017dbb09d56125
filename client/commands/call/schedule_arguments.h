// --schedule FILE on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/base/status.h"

namespace mdh {

// A schedule comes from a file, or from standard input as "-".
struct ScheduleArguments {
  std::string file = {};  // empty: not given
};

void AddScheduleOption(CLI::App& command, ScheduleArguments& arguments,
                       const std::string& what =
                           "file with a schedule that the kernel must keep to; what it does not "
                           "say is searched; -: standard input");

// Its text; empty if none is given. Errors: NotFound, with ExitCode::kBadExpression.
Result<std::string> LoadSchedule(const ScheduleArguments& arguments);

// An error of the daemon about a schedule's text with the name of the file in place of
// "<schedule>".
Status InScheduleFile(const ScheduleArguments& arguments, const Status& error);

}  // namespace mdh
