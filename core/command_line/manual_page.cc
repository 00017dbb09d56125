#include "core/command_line/manual_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

// A text as roff prints it.
std::string Plain(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  // A dot or a quote at the start of a line would be a command.
  escaped = absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string Bold(const std::string& text) { return absl::StrCat("\\fB", Plain(text), "\\fR"); }
std::string Italic(const std::string& text) { return absl::StrCat("\\fI", Plain(text), "\\fR"); }

// "--listen TEXT", marked.
std::string TermOf(const OptionEntry& option) {
  if (option.names.empty()) return Italic(option.value);
  const std::string names = absl::StrJoin(
      option.names, ", ",
      [](std::string* out, const std::string& name) { absl::StrAppend(out, Bold(name)); });
  return option.value.empty() ? names : absl::StrCat(names, " ", Italic(option.value));
}

// What there is to say: choices, default, variable.
std::string DescriptionOf(const OptionEntry& option) {
  std::string text = absl::StrReplaceAll(option.description, {{"\n", " "}});
  std::vector<std::string> more;
  if (!option.choices.empty()) {
    more.push_back(absl::StrCat("one of ", absl::StrJoin(option.choices, ", ")));
  }
  if (!option.default_value.empty()) more.push_back("default " + option.default_value);
  if (!option.environment.empty()) more.push_back("environment " + option.environment);
  if (option.is_required) more.push_back("required");
  if (!more.empty()) absl::StrAppend(&text, " (", absl::StrJoin(more, "; "), ")");
  return Plain(text);
}

void AppendOptions(const std::vector<OptionEntry>& options, std::string& page) {
  for (const OptionEntry& option : options) {
    absl::StrAppend(&page, ".TP\n", TermOf(option), "\n", DescriptionOf(option), "\n");
  }
}

std::string Synopsis(const CommandEntry& command, const std::string& path) {
  std::string line = absl::StrCat(Bold(path), " [", Italic("options"), "]");
  for (const OptionEntry& argument : command.positionals) {
    const std::string name =
        absl::StrCat(Italic(argument.value), argument.is_repeatable ? " ..." : "");
    absl::StrAppend(&line, " ", argument.is_required ? name : absl::StrCat("[", name, "]"));
  }
  if (!command.commands.empty()) absl::StrAppend(&line, " ", Italic("command"), " ...");
  return line;
}

bool IsHelp(const OptionEntry& option) {
  return absl::StrJoin(option.names, " ").find("--help") != std::string::npos;
}

// A command and those in it; commands that only hold others are told by these.
void AppendCommand(const CommandEntry& command, const std::string& path, std::string& page) {
  const std::string name = absl::StrCat(path, " ", command.name);
  if (command.commands.empty()) {
    absl::StrAppend(&page, ".SS \"", Plain(name), "\"\n", Synopsis(command, name), "\n.PP\n",
                    Plain(command.description), ".\n");
    AppendOptions(command.positionals, page);
    std::vector<OptionEntry> options;
    for (const OptionEntry& option : command.options) {
      if (!IsHelp(option)) options.push_back(option);
    }
    AppendOptions(options, page);
  }
  for (const CommandEntry& inner : command.commands) AppendCommand(inner, name, page);
}

void AppendSection(const std::string& heading, const std::string& text, std::string& page) {
  absl::StrAppend(&page, ".SH \"", Plain(absl::AsciiStrToUpper(heading)), "\"\n");
  const char* separator = "";
  for (const absl::string_view paragraph : absl::StrSplit(text, "\n\n", absl::SkipWhitespace())) {
    const bool is_kept = paragraph.find("\n  ") != absl::string_view::npos ||
                         (!paragraph.empty() && paragraph.front() == ' ');
    absl::StrAppend(&page, separator, is_kept ? ".nf\n" : "", Plain(std::string(paragraph)), "\n",
                    is_kept ? ".fi\n" : "");
    separator = ".PP\n";
  }
}

}  // namespace

std::string ManualPage(const CommandEntry& program, const ManualPageOptions& options) {
  std::string page = absl::StrCat(".TH ", absl::AsciiStrToUpper(program.name), " ", options.section,
                                  " \"\" \"", options.version, "\"\n");
  // "name: what it does" of --help.
  const size_t colon = program.description.find(": ");
  const std::string what =
      colon == std::string::npos ? program.description : program.description.substr(colon + 2);
  absl::StrAppend(&page, ".SH NAME\n", program.name, " \\- ",
                  Plain(std::string(absl::StripSuffix(what, "."))), "\n.SH SYNOPSIS\n",
                  Synopsis(program, program.name), "\n.SH OPTIONS\n");
  AppendOptions(program.options, page);
  if (!program.commands.empty()) {
    absl::StrAppend(&page, ".SH COMMANDS\n");
    for (const CommandEntry& command : program.commands) AppendCommand(command, program.name, page);
  }
  for (const auto& [heading, text] : options.sections) AppendSection(heading, text, page);
  if (!options.see_also.empty()) AppendSection("see also", options.see_also, page);
  return page;
}

}  // namespace mdh
