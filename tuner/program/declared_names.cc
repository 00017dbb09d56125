#include "tuner/program/declared_names.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace mdh {
namespace {

// Before an expression, not before a name that is declared.
constexpr std::string_view kNoTypes[] = {"return", "else", "case",   "goto",  "sizeof",
                                         "throw",  "new",  "delete", "do",    "and",
                                         "or",     "not",  "if",     "while", "for"};
// What may stand before the * of a pointer.
constexpr std::string_view kPointedTo[] = {"void",  "bool",  "char",     "short", "int",    "long",
                                           "half",  "float", "double",   "uchar", "ushort", "uint",
                                           "ulong", "const", "unsigned", "signed"};

bool IsOfName(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

template <size_t N>
bool Contains(const std::string_view (&words)[N], std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

// Names and numbers as they are, everything else by character.
std::vector<std::string> Tokens(std::string_view source) {
  std::vector<std::string> tokens;
  bool is_line_start = true;
  for (size_t n = 0; n < source.size();) {
    const std::string_view rest = source.substr(n);
    if (rest.starts_with("//") || (is_line_start && rest[0] == '#')) {
      n = std::min(source.find('\n', n), source.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = source.find("*/", n + 2);
      n = end == std::string_view::npos ? source.size() : end + 2;
    } else if (absl::ascii_isspace(static_cast<unsigned char>(rest[0]))) {
      is_line_start = is_line_start || rest[0] == '\n';
      ++n;
    } else {
      is_line_start = false;
      size_t length = 1;
      while (IsOfName(rest[0]) && length < rest.size() && IsOfName(rest[length])) ++length;
      tokens.emplace_back(rest.substr(0, length));
      n += length;
    }
  }
  return tokens;
}

bool IsTypeLike(const std::string& token) {
  const bool is_name =
      IsOfName(token[0]) && !absl::ascii_isdigit(static_cast<unsigned char>(token[0]));
  return is_name && !Contains(kNoTypes, token);
}

}  // namespace

bool DeclaresVariable(std::string_view source, std::string_view name) {
  constexpr std::string_view kAfter = ",;)=[";
  const std::vector<std::string> tokens = Tokens(source);
  for (size_t n = 1; n + 1 < tokens.size(); ++n) {
    if (tokens[n] != name || kAfter.find(tokens[n + 1][0]) == std::string_view::npos) continue;
    const std::string& before = tokens[n - 1];
    const bool is_pointer =
        (before == "*" || before == "&") && n >= 2 && Contains(kPointedTo, tokens[n - 2]);
    if (is_pointer || IsTypeLike(before)) return true;
  }
  return false;
}

}  // namespace mdh
