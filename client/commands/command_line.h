// The whole command line of `mdh`.
#pragma once

#include "client/commands/call/command.h"

namespace mdh {

// All options and commands. `options` and `selected` must outlive `app`. `token_file` is set by
// --token-file.
void AddCommandLine(CLI::App& app, GlobalOptions& options, std::string& token_file,
                    const std::string& version, SelectedCommand& selected);

}  // namespace mdh
