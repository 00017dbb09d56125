// What mdh tune-program would do, without doing it.
#pragma once

#include <string>

#include "core/base/status.h"
#include "mdh/v1/study.pb.h"
#include "tuner/program/program.h"

namespace mdh {

// Several lines: the space, the search, and how `configuration` would be evaluated, with whole
// commands. `study`: with its specification. Errors: as FillCommands.
Result<std::string> FormatDryRun(const v1::Study& study,
                                 const v1::NamedConfiguration& configuration,
                                 const TunableProgram& program);

}  // namespace mdh
