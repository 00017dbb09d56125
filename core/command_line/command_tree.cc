#include "core/command_line/command_tree.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_split.h"

namespace mdh {
namespace {

// "TEXT:{csv,json}" -> csv, json; of words that stand for values, "{cold->2,warm->1}", the words.
std::vector<std::string> ChoicesIn(const std::string& type) {
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> choices = absl::StrSplit(type.substr(open + 1, close - open - 1), ',');
  for (std::string& choice : choices) choice = choice.substr(0, choice.find("->"));
  return choices;
}

OptionEntry ReadOption(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() != 0) {
    entry.choices = ChoicesIn(type);
    entry.value = entry.names.empty() ? option.get_name(true) : type.substr(0, type.find(':'));
    if (entry.value.empty()) entry.value = "TEXT";
  }
  entry.environment = option.get_envname();
  entry.default_value = option.get_default_str();
  entry.description = option.get_description();
  entry.is_required = option.get_required();
  entry.is_repeatable = option.get_items_expected_max() > 1;
  return entry;
}

}  // namespace

CommandEntry ReadCommandTree(const CLI::App& app) {
  CommandEntry entry{.name = app.get_name(),
                     .description = app.get_description(),
                     .footer = app.get_footer(),
                     .options = {},
                     .positionals = {},
                     .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    OptionEntry read = ReadOption(*option);
    (read.names.empty() ? entry.positionals : entry.options).push_back(std::move(read));
  }
  for (const CLI::App* command : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    if (!command->get_group().empty()) entry.commands.push_back(ReadCommandTree(*command));
  }
  return entry;
}

}  // namespace mdh
