// Scripts that complete a program's command line in a shell.
#pragma once

#include <string>

#include "core/command_line/command_tree.h"

namespace mdh {

// Each completes commands, options and choices, and files elsewhere; options of the program itself
// may stand anywhere. To be sourced, or installed as bash-completion, zsh and fish look for them:
// PROGRAM, _PROGRAM and PROGRAM.fish.
std::string BashCompletion(const CommandEntry& program);
std::string ZshCompletion(const CommandEntry& program);
std::string FishCompletion(const CommandEntry& program);

}  // namespace mdh
