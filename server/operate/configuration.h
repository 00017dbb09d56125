// The daemon's configuration: flags before environment before file before defaults.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace mdh {

// A line of a configuration file.
struct ConfigurationLine {
  std::string name;   // of an option, without "--"
  std::string value;  // without quotes
  int number = 0;     // counted from 1
};

// Reads lines `name = value`. A value may stand between double quotes; "#" begins a comment at the
// start of a line or after a blank, but not between quotes. Errors: InvalidArgument, with the
// number of the line.
Result<std::vector<ConfigurationLine>> ParseConfigurationFile(std::string_view text);

enum class ValueSource { kDefault, kFile, kEnvironment, kFlag };

// The value of an option, as it was written.
struct ConfiguredValue {
  std::string value;  // several are joined by commas
  ValueSource source = ValueSource::kDefault;
  std::string place;  // of the file, with the line; the variable
};

// Immutable.
class DaemonConfiguration {
 public:
  // Parses a command line with `app`. If it, or the environment, names a file by --config, options
  // that neither gives are taken from there: an option that is repeatable may have several lines.
  // Throws what app.parse does (CLI::ParseError). Errors: as ReadFileContent, trusting whom the
  // option trusted-users names outside of the file; InvalidArgument, naming file and line, if the
  // file names an option that there is not, or one twice, or has a wrong value.
  static Result<DaemonConfiguration> Parse(CLI::App& app, int argc, const char* const* argv);

  // By name.
  const std::map<std::string, ConfiguredValue>& values() const { return values_; }
  // A configuration file that says the same, with where each value comes from: --print-config.
  std::string ToText() const;
  // Names of options with other values than here.
  std::vector<std::string> DifferencesTo(const DaemonConfiguration& other) const;

 private:
  std::map<std::string, ConfiguredValue> values_;
};

}  // namespace mdh
