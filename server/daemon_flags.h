// The command line's names for what a daemon can be told.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "server/daemon.h"

namespace mdh {

// Of the user whom the daemon runs as; empty where the environment does not say.
struct UserFolders {
  std::string runtime;  // $XDG_RUNTIME_DIR
  std::string state;    // $XDG_STATE_HOME
  std::string home;     // $HOME
};

// Without a version.
DaemonOptions DefaultDaemonOptions(const UserFolders& folders);

// Adds one flag, with its environment variable, for every field of `options` but the version; what
// they hold is the default. `options` must outlive `app`.
void AddDaemonFlags(CLI::App& app, DaemonOptions& options);

}  // namespace mdh
