// What a program's command line accepts, for completions and manual pages: read from the tables
// that parse it, so that neither can say anything else.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace mdh {

struct OptionEntry {
  std::vector<std::string> names;    // "--listen", "-h"; none: a positional argument
  std::string value;                 // what it takes: "FILE", "TEXT"; empty: nothing
  std::vector<std::string> choices;  // the only values, if that is so
  std::string environment;           // the variable that gives it, too
  std::string default_value;         // empty: none that is known
  std::string description;
  bool is_required = false;
  bool is_repeatable = false;
};

struct CommandEntry {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionEntry> options;      // in the order of --help
  std::vector<OptionEntry> positionals;  // in their order
  std::vector<CommandEntry> commands;
};

CommandEntry ReadCommandTree(const CLI::App& app);

}  // namespace mdh
