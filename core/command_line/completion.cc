#include "core/command_line/completion.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace mdh {
namespace {

// Calls visit(path, command) for every command, the program itself with the path "".
void ForEachCommand(const CommandEntry& command, const std::string& path,
                    const std::function<void(const std::string&, const CommandEntry&)>& visit) {
  visit(path, command);
  for (const CommandEntry& inner : command.commands) {
    ForEachCommand(inner, path.empty() ? inner.name : absl::StrCat(path, " ", inner.name), visit);
  }
}

std::vector<std::string> NamesOf(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> names;
  for (const CommandEntry& command : commands) names.push_back(command.name);
  return names;
}

// All names of options that take a value.
std::vector<std::string> NamesWithValue(const CommandEntry& program) {
  std::vector<std::string> names;
  ForEachCommand(program, "", [&](const std::string&, const CommandEntry& command) {
    for (const OptionEntry& option : command.options) {
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
  });
  return names;
}

std::string SingleQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The shells' function that finds the path of commands on the line: `words` and `last` are the
// names of its variables.
std::string FindPath(const CommandEntry& program, const std::string& words,
                     const std::string& first, const std::string& last) {
  std::string cases;
  ForEachCommand(program, "", [&](const std::string& path, const CommandEntry& command) {
    if (command.commands.empty()) return;
    const std::string prefix = path.empty() ? "" : path + " ";
    absl::StrAppend(&cases, "      ",
                    absl::StrJoin(NamesOf(command.commands), "|",
                                  [&](std::string* out, const std::string& name) {
                                    absl::StrAppend(out, "'", path, "/", name, "'");
                                  }),
                    ") place=\"", prefix, "$word\" ;;\n");
  });
  return absl::StrCat("  local place='' word skip=0 i\n  for ((i = ", first, "; i < ", last,
                      "; ++i)); do\n    word=${", words,
                      "[i]}\n    if ((skip)); then skip=0; continue; fi\n"
                      "    case \"$word\" in\n      ",
                      absl::StrJoin(NamesWithValue(program), "|"),
                      ") skip=1; continue ;;\n      -*) continue ;;\n    esac\n"
                      "    case \"$place/$word\" in\n",
                      cases, "    esac\n  done\n");
}

// "path --option" and its choices, for options and those of the program everywhere.
std::string ChoiceCases(const CommandEntry& program,
                        const std::function<std::string(const OptionEntry&)>& line) {
  std::string cases;
  ForEachCommand(program, "", [&](const std::string& path, const CommandEntry& command) {
    for (const OptionEntry& option : command.options) {
      if (option.choices.empty()) continue;
      for (const std::string& name : option.names) {
        absl::StrAppend(&cases, "    '", path, " ", name, "') ", line(option), " ;;\n");
      }
    }
  });
  return cases;
}

std::string Identifier(const std::string& program) {
  return absl::StrCat("_", absl::StrReplaceAll(program, {{"-", "_"}}));
}

std::vector<std::string> WordsOf(const CommandEntry& command) {
  std::vector<std::string> words = NamesOf(command.commands);
  for (const OptionEntry& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  for (const OptionEntry& positional : command.positionals) {
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  }
  return words;
}

// "'--name:description'" for zsh's _describe.
std::string Described(const std::string& name, const std::string& description) {
  return SingleQuoted(absl::StrCat(absl::StrReplaceAll(name, {{":", "\\:"}}), ":",
                                   description.substr(0, description.find('\n'))));
}

std::string DescribedOptions(const CommandEntry& command) {
  std::string words;
  for (const OptionEntry& option : command.options) {
    for (const std::string& name : option.names) {
      absl::StrAppend(&words, " ", Described(name, option.description));
    }
  }
  return words;
}

}  // namespace

std::string BashCompletion(const CommandEntry& program) {
  std::string cases;
  ForEachCommand(program, "", [&](const std::string& path, const CommandEntry& command) {
    absl::StrAppend(&cases, "    '", path, "') candidates='", absl::StrJoin(WordsOf(command), " "),
                    "' ;;\n");
  });
  std::vector<std::string> global;
  for (const OptionEntry& option : program.options) {
    global.insert(global.end(), option.names.begin(), option.names.end());
  }
  const std::string name = Identifier(program.name);
  const auto choices = [](const OptionEntry& option) {
    return absl::StrCat("COMPREPLY=($(compgen -W '", absl::StrJoin(option.choices, " "),
                        "' -- \"$current\")); return");
  };
  return absl::StrCat(
      "# Completion of ", program.name, " for bash; printed by: ", program.name,
      " completion bash\n", name, "() {\n",
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
      "candidates=''\n",
      FindPath(program, "COMP_WORDS", "1", "COMP_CWORD"), "  case \"$place $previous\" in\n",
      ChoiceCases(program, choices), "  esac\n", "  case \"$previous\" in\n    ",
      absl::StrJoin(NamesWithValue(program), "|"),
      ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n  esac\n", "  case \"$place\" in\n",
      cases, "  esac\n", "  COMPREPLY=($(compgen -W \"$candidates ", absl::StrJoin(global, " "),
      "\" -- \"$current\"))\n",
      "  if [ ${#COMPREPLY[@]} = 0 ]; then COMPREPLY=($(compgen -f -- \"$current\")); fi\n}\n",
      "complete -o filenames -F ", name, " ", program.name, "\n");
}

std::string ZshCompletion(const CommandEntry& program) {
  std::string cases;
  ForEachCommand(program, "", [&](const std::string& path, const CommandEntry& command) {
    absl::StrAppend(&cases, "    ('", path, "')\n      entries=(");
    for (const CommandEntry& inner : command.commands) {
      absl::StrAppend(&cases, " ", Described(inner.name, inner.description));
    }
    for (const OptionEntry& positional : command.positionals) {
      for (const std::string& choice : positional.choices) {
        absl::StrAppend(&cases, " ", Described(choice, positional.description));
      }
    }
    absl::StrAppend(&cases, " )\n      options+=(", path.empty() ? "" : DescribedOptions(command),
                    " ) ;;\n");
  });
  const std::string name = Identifier(program.name);
  const auto choices = [](const OptionEntry& option) {
    return absl::StrCat("compadd -- ", absl::StrJoin(option.choices, " "), "; return");
  };
  return absl::StrCat(
      "#compdef ", program.name, "\n# Completion of ", program.name,
      " for zsh; printed by: ", program.name, " completion zsh\n", name, "() {\n",
      "  local previous=${words[CURRENT-1]}\n  local -a entries options\n",
      FindPath(program, "words", "2", "CURRENT"), "  case \"$place $previous\" in\n",
      ChoiceCases(program, choices), "  esac\n", "  case \"$previous\" in\n    ",
      absl::StrJoin(NamesWithValue(program), "|"), ") _files; return ;;\n  esac\n", "  options=(",
      DescribedOptions(program), " )\n  case \"$place\" in\n", cases, "  esac\n",
      "  if [[ ${words[CURRENT]} == -* ]]; then\n    _describe -o -t options option options\n",
      "  elif ((${#entries})); then\n    _describe -t commands command entries\n",
      "  else\n    _files\n  fi\n}\n", "if [[ $funcstack[1] == ", name, " ]]; then ", name,
      " \"$@\"; else compdef ", name, " ", program.name, "; fi\n");
}

std::string FishCompletion(const CommandEntry& program) {
  const std::string at = absl::StrCat("__", Identifier(program.name).substr(1), "_at");
  std::string places, lines;
  const auto quoted = [](const std::string& text) {
    return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  };
  const auto described = [&](const std::string& description) {
    return absl::StrCat(" -d ", quoted(description.substr(0, description.find('\n'))), "\n");
  };
  ForEachCommand(program, "", [&](const std::string& path, const CommandEntry& command) {
    // Options of the program itself may stand anywhere.
    const std::string begin = absl::StrCat("complete -c ", program.name);
    const std::string here = absl::StrCat(begin, " -n ", quoted(absl::StrCat(at, " '", path, "'")));
    for (const CommandEntry& inner : command.commands) {
      absl::StrAppend(&places, "      case ", quoted(absl::StrCat(path, "/", inner.name)),
                      "\n        set place ",
                      quoted(path.empty() ? inner.name : absl::StrCat(path, " ", inner.name)),
                      "\n");
      absl::StrAppend(&lines, here, " -f -a ", inner.name, described(inner.description));
    }
    for (const OptionEntry& option : command.options) {
      absl::StrAppend(&lines, path.empty() ? begin : here);
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        absl::StrAppend(&lines, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
      }
      if (!option.choices.empty()) {
        absl::StrAppend(&lines, " -x -a ", quoted(absl::StrJoin(option.choices, " ")));
      } else if (!option.value.empty()) {
        absl::StrAppend(&lines, " -r");
      }
      absl::StrAppend(&lines, described(option.description));
    }
    for (const OptionEntry& positional : command.positionals) {
      if (positional.choices.empty()) continue;
      absl::StrAppend(&lines, here, " -f -a ", quoted(absl::StrJoin(positional.choices, " ")),
                      described(positional.description));
    }
  });
  return absl::StrCat(
      "# Completion of ", program.name, " for fish; printed by: ", program.name,
      " completion fish\n# Whether the words so far are those of this command.\nfunction ", at,
      "\n  set -l place ''\n  set -l skip 0\n  set -l words (commandline -opc)\n  set -e words[1]\n"
      "  for word in $words\n    if test $skip = 1\n      set skip 0\n      continue\n    end\n"
      "    switch $word\n      case ",
      absl::StrJoin(NamesWithValue(program), " "),
      "\n        set skip 1\n        continue\n      case '-*'\n        continue\n    end\n"
      "    switch \"$place/$word\"\n",
      places, "    end\n  end\n  test \"$place\" = \"$argv[1]\"\nend\n", lines);
}

}  // namespace mdh
