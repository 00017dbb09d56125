#include "server/operate/configuration.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/operate/file_content.h"

namespace mdh {
namespace {

constexpr const char* kFileOption = "config";
constexpr const char* kTrustOption = "trusted-users";
constexpr int64_t kMaxFileBytes = 1 << 20;

// Those that say what to do rather than how.
bool IsSetting(const CLI::Option& option) {
  static const auto* others =
      new std::set<std::string>{"help", "version", "print-config", "manual", kFileOption};
  return !option.get_lnames().empty() && !others->contains(option.get_lnames()[0]);
}

std::string LongName(const CLI::Option& option) { return option.get_lnames()[0]; }

Result<std::string> ReadQuoted(std::string_view text, int number) {
  const size_t end = text.find('"', 1);
  if (end == std::string_view::npos) return InvalidArgument(number, ": the quotes are not closed");
  const std::string_view rest = text.substr(end + 1);
  const size_t after = rest.find_first_not_of(" \t");
  if (after != std::string_view::npos && rest[after] != '#') {
    return InvalidArgument(number, ": there is more after the quotes");
  }
  return std::string(text.substr(1, end - 1));
}

// Up to " #", without blanks around it.
std::string ReadPlain(std::string_view text) {
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '#' && (text[at - 1] == ' ' || text[at - 1] == '\t')) {
      text = text.substr(0, at);
      break;
    }
  }
  return std::string(absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())));
}

bool IsInEnvironment(const CLI::Option& option) {
  return !option.get_envname().empty() && std::getenv(option.get_envname().c_str()) != nullptr;
}

// "--name" or "--name=...".
bool IsOnCommandLine(const CLI::Option& option, int argc, const char* const* argv) {
  const std::string flag = "--" + LongName(option);
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    if (word == flag || word.starts_with(flag + "=")) return true;
  }
  return false;
}

// Whom the command line or the environment trusts: what the file says of that is for other files.
TrustedUsers TrustedWithoutFile(const CLI::App& app) {
  const CLI::Option* option = app.get_option_no_throw(std::string("--") + kTrustOption);
  if (option == nullptr || option->count() == 0) return {};
  return TrustedUsers::Parse(option->results()[0]).value_or(TrustedUsers());
}

Result<std::vector<ConfigurationLine>> ReadFileLines(const std::string& path,
                                                     const TrustedUsers& trusted) {
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadFileContent(path, kMaxFileBytes, trusted));
  Result<std::vector<ConfigurationLine>> lines = ParseConfigurationFile(text);
  if (lines.ok()) return lines;
  return InvalidArgument(path, ":", lines.status().message());
}

void Parse(CLI::App& app, int argc, const char* const* argv, const std::vector<std::string>& more) {
  std::vector<const char*> words(argv, argv + argc);
  // Before the others: a subcommand ends the options of the program.
  for (size_t n = 0; n < more.size(); ++n) {
    words.insert(words.begin() + 1 + static_cast<std::ptrdiff_t>(n), more[n].c_str());
  }
  app.parse(static_cast<int>(words.size()), words.data());
}

// The default of an option, without the brackets that CLI11 puts around several values.
std::string DefaultText(const CLI::Option& option) {
  const std::string text = option.get_default_str();
  const bool is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  return is_list ? text.substr(1, text.size() - 2) : text;
}

std::string Quoted(const std::string& value) {
  const bool is_plain = !value.empty() && value.find_first_of(" \t#\"") == std::string::npos;
  return is_plain ? value : absl::StrCat("\"", value, "\"");
}

std::string Describe(const ConfiguredValue& value) {
  switch (value.source) {
    case ValueSource::kDefault:
      return "default";
    case ValueSource::kFile:
      return value.place;
    case ValueSource::kEnvironment:
      return absl::StrCat("environment ", value.place);
    case ValueSource::kFlag:
      return "command line";
  }
  return "";
}

}  // namespace

Result<std::vector<ConfigurationLine>> ParseConfigurationFile(std::string_view text) {
  std::vector<ConfigurationLine> lines;
  int number = 0;
  for (const absl::string_view raw :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line[0] == '#') continue;
    const size_t equals = line.find('=');
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, equals)));
    if (equals == absl::string_view::npos || name.empty()) {
      return InvalidArgument(number, ": expected name = value, found '", line, "'");
    }
    const absl::string_view rest = absl::StripAsciiWhitespace(line.substr(equals + 1));
    const std::string_view value(rest.data(), rest.size());
    lines.push_back({.name = name, .value = ReadPlain(value), .number = number});
    if (value.starts_with('"')) {
      MDH_ASSIGN_OR_RETURN(lines.back().value, ReadQuoted(value, number));
    }
  }
  return lines;
}

Result<DaemonConfiguration> DaemonConfiguration::Parse(CLI::App& app, int argc,
                                                       const char* const* argv) {
  mdh::Parse(app, argc, argv, {});
  const CLI::Option* file_option = app.get_option(std::string("--") + kFileOption);
  std::string path;
  std::vector<ConfigurationLine> lines;
  if (file_option->count() > 0) {
    path = file_option->results()[0];
    MDH_ASSIGN_OR_RETURN(lines, ReadFileLines(path, TrustedWithoutFile(app)));
  }
  std::map<std::string, std::string> places;
  std::vector<std::string> words;
  for (const ConfigurationLine& line : lines) {
    const std::string place = absl::StrCat(path, ":", line.number);
    const CLI::Option* option = app.get_option_no_throw("--" + line.name);
    if (option == nullptr || !IsSetting(*option)) {
      return InvalidArgument(place, ": there is no option ", line.name);
    }
    const bool is_first = places.emplace(line.name, place).second;
    if (!is_first && option->get_items_expected_max() <= 1) {
      return InvalidArgument(place, ": ", line.name, " is there twice");
    }
    if (option->count() == 0) words.push_back(absl::StrCat("--", line.name, "=", line.value));
  }
  if (!words.empty()) {
    try {
      mdh::Parse(app, argc, argv, words);
    } catch (const CLI::ParseError& error) {
      return InvalidArgument(path, ": ", error.what());
    }
  }
  DaemonConfiguration configuration;
  for (const CLI::Option* option : app.get_options()) {
    if (!IsSetting(*option)) continue;
    ConfiguredValue value{
        .value = DefaultText(*option), .source = ValueSource::kDefault, .place = ""};
    if (option->count() > 0) {
      const bool is_flag = IsOnCommandLine(*option, argc, argv);
      const bool is_environment = !is_flag && IsInEnvironment(*option);
      value = {.value = absl::StrJoin(option->results(), ","),
               .source = is_flag          ? ValueSource::kFlag
                         : is_environment ? ValueSource::kEnvironment
                                          : ValueSource::kFile,
               .place = is_environment ? option->get_envname() : places[LongName(*option)]};
    }
    configuration.values_.emplace(LongName(*option), std::move(value));
  }
  return configuration;
}

std::string DaemonConfiguration::ToText() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    // What has no value has no line that could be read again.
    const bool is_set = value.source != ValueSource::kDefault || !value.value.empty();
    absl::StrAppend(&text, is_set ? "" : "# ", name, " = ", is_set ? Quoted(value.value) : "",
                    "  # ", Describe(value), "\n");
  }
  return text;
}

std::vector<std::string> DaemonConfiguration::DifferencesTo(
    const DaemonConfiguration& other) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) {
    const auto found = other.values_.find(name);
    if (found == other.values_.end() || found->second.value != value.value) names.push_back(name);
  }
  return names;
}

}  // namespace mdh
