// Scripts that complete a program's command line in a shell.
#pragma once

#include <string>

#include "core/command_line/command_tree.h"

namespace mdh {

// Each completes commands, options and choices, and files elsewhere; options of the program itself
// may stand anywhere. To be sourced, or installed as bash-completion and zsh look for them:
// PROGRAM, and _PROGRAM.
std::string BashCompletion(const CommandEntry& program);
std::string ZshCompletion(const CommandEntry& program);

}  // namespace mdh
