#include "tuner/program/text_template.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tuner/space/formula/formula_names.h"

namespace mdh {
namespace {

Status UnknownName(const std::string& name, const std::vector<std::string>& names) {
  return InvalidArgument("{", name, "} is no parameter or definition", Suggestion(name, names),
                         "; a { that is meant as such is written {{");
}

// Between which quotes one is after a part of a command.
class ShellQuotes {
 public:
  void Read(std::string_view text) {
    for (size_t n = 0; n < text.size(); ++n) {
      const char c = text[n];
      if (inside_.back() == '\'') {
        if (c == '\'') inside_.pop_back();
      } else if (c == '\\') {
        ++n;  // what follows means nothing
      } else if (c == '"') {
        inside_.back() == '"' ? inside_.pop_back() : inside_.push_back('"');
      } else if (text.substr(n).starts_with("$(")) {
        inside_.push_back('(');
        ++n;
      } else if (c == ')' && inside_.back() == '(') {
        inside_.pop_back();
      } else if (c == '\'' && inside_.back() != '"') {
        inside_.push_back('\'');
      }
    }
  }

  // What the shell reads as `text` here.
  std::string Quoted(const std::string& text) const {
    if (inside_.back() == '\'') return absl::StrReplaceAll(text, {{"'", "'\\''"}});
    if (inside_.back() == '"') {
      return absl::StrReplaceAll(text,
                                 {{"\\", "\\\\"}, {"\"", "\\\""}, {"$", "\\$"}, {"`", "\\`"}});
    }
    const auto is_plain = [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
             std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
    };
    if (std::ranges::all_of(text, is_plain)) return text;
    return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
  }

 private:
  std::string inside_ = " ";  // of quotes and substitutions, the innermost last
};

}  // namespace

Result<TextTemplate> TextTemplate::Parse(std::string_view text,
                                         const std::vector<std::string>& names) {
  TextTemplate parsed;
  std::string plain;
  for (size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '{') {
      plain += text[n];
      continue;
    }
    if (text.substr(n).starts_with("{{")) {
      plain += '{';
      ++n;
      continue;
    }
    const size_t end = text.find('}', n);
    if (end == std::string_view::npos) {
      return InvalidArgument("the { in column ", n + 1,
                             " has no }; a { that is meant as such is written "
                             "{{");
    }
    const std::string name(text.substr(n + 1, end - n - 1));
    if (std::ranges::find(names, name) == names.end()) return UnknownName(name, names);
    if (!plain.empty()) parsed.parts_.push_back({std::exchange(plain, ""), false});
    parsed.parts_.push_back({name, true});
    n = end;
  }
  if (!plain.empty()) parsed.parts_.push_back({plain, false});
  return parsed;
}

bool TextTemplate::Uses(std::string_view name) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.is_name && part.text == name; });
}

std::string TextTemplate::Fill(const std::map<std::string, std::string>& texts) const {
  std::string filled;
  for (const Part& part : parts_) filled += part.is_name ? texts.at(part.text) : part.text;
  return filled;
}

std::string TextTemplate::FillForShell(const std::map<std::string, std::string>& texts,
                                       const std::set<std::string>& paths) const {
  std::string filled;
  ShellQuotes quotes;
  for (const Part& part : parts_) {
    if (part.is_name && paths.contains(part.text)) {
      filled += quotes.Quoted(texts.at(part.text));
      continue;
    }
    const std::string& text = part.is_name ? texts.at(part.text) : part.text;
    quotes.Read(text);
    filled += text;
  }
  return filled;
}

std::string PlainText(const Value& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "1" : "0";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
    return absl::StrJoin(*items, ",");
  }
  return ToText(value);
}

}  // namespace mdh
