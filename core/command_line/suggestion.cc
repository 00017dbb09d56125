#include "core/command_line/suggestion.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// The one that is nearest to `word`; empty if too many letters differ to be a slip.
std::string Nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string nearest;
  int least = static_cast<int>(word.size()) / 3 + 1;
  for (const std::string& one : known) {
    const int distance = EditDistance(word, one);
    if (distance > least || (distance == least && !nearest.empty())) continue;
    least = distance;
    nearest = one;
  }
  return nearest;
}

std::string Explain(const char* what, const std::string& word, const std::string& of,
                    const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return absl::StrCat(of, " has no ", what, " '", word, "'",
                      nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"));
}

void AddOptions(const CommandEntry& command, std::vector<const OptionEntry*>& options) {
  for (const OptionEntry& option : command.options) options.push_back(&option);
}

const OptionEntry* OptionNamed(const std::string& name,
                               const std::vector<const OptionEntry*>& options) {
  for (const OptionEntry* option : options) {
    const auto& names = option->names;
    if (std::ranges::find(names, name) != names.end()) return option;
  }
  return nullptr;
}

std::vector<std::string> OptionNames(const std::vector<const OptionEntry*>& options) {
  std::vector<std::string> names;
  for (const OptionEntry* option : options) {
    names.insert(names.end(), option->names.begin(), option->names.end());
  }
  return names;
}

}  // namespace

int EditDistance(const std::string& a, const std::string& b) {
  // Rows of the usual table: the last but one, the last, this one.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = last;
    last = row;
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string ExplainUnknownWord(const CommandEntry& program, const std::vector<std::string>& words) {
  const CommandEntry* command = &program;
  std::string path = program.name;
  std::vector<const OptionEntry*> options;
  AddOptions(program, options);
  for (size_t n = 0; n < words.size(); ++n) {
    const std::string& word = words[n];
    if (word == "--") return "";
    if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const OptionEntry* option = OptionNamed(name, options);
      if (option == nullptr) return Explain("option", name, path, OptionNames(options));
      if (!option->value.empty() && name == word) ++n;
      continue;
    }
    if (word.starts_with("-") || command->commands.empty()) continue;
    const auto inner = std::ranges::find(command->commands, word, &CommandEntry::name);
    if (inner == command->commands.end()) {
      std::vector<std::string> names;
      for (const CommandEntry& candidate : command->commands) names.push_back(candidate.name);
      return Explain("command", word, path, names);
    }
    command = &*inner;
    absl::StrAppend(&path, " ", word);
    AddOptions(*command, options);
  }
  return "";
}

}  // namespace mdh
