#include "tests/build/source_tokens.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace mdh {
namespace {

using Kind = SourceToken::Kind;

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The bytes of what `text` begins with, up to and with `end`.
size_t SizeUntil(std::string_view text, std::string_view end, size_t from) {
  const size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// Of a directive, without the end of its line: lines that end with a backslash go on.
size_t DirectiveSize(std::string_view text) {
  size_t size = text.find('\n');
  while (size != std::string_view::npos && text[size - 1] == '\\') size = text.find('\n', size + 1);
  return std::min(size, text.size());
}

size_t QuotedSize(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && text[size] != text[0]) size += text[size] == '\\' ? 2 : 1;
  return std::min(size + 1, text.size());
}

// Of R"delimiter(...)delimiter".
size_t RawStringSize(std::string_view text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos) return text.size();
  return SizeUntil(text, ")" + std::string(text.substr(2, open - 2)) + "\"", open);
}

size_t WordSize(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && IsWordCharacter(text[size])) ++size;
  return size;
}

// Digits, letters, points, and quotes between digits.
size_t NumberSize(std::string_view text) {
  size_t size = 0;
  while (size < text.size() &&
         (IsWordCharacter(text[size]) || text[size] == '.' || text[size] == '\'')) {
    ++size;
  }
  return size;
}

struct Piece {
  Kind kind;
  size_t size;
};

Piece FirstPiece(std::string_view text, bool begins_line) {
  if (text[0] == '#' && begins_line) return {Kind::kDirective, DirectiveSize(text)};
  if (text.starts_with("R\"")) return {Kind::kLiteral, RawStringSize(text)};
  if (text[0] == '"' || text[0] == '\'') return {Kind::kLiteral, QuotedSize(text)};
  if (IsDigit(text[0])) return {Kind::kLiteral, NumberSize(text)};
  if (IsWordCharacter(text[0])) return {Kind::kWord, WordSize(text)};
  if (text.starts_with("::") || text.starts_with("->")) return {Kind::kSymbol, 2};
  return {Kind::kSymbol, 1};
}

// Of the white space or comment that `text` begins with; 0: there is none.
size_t BlankSize(std::string_view text) {
  if (text.starts_with("//")) return SizeUntil(text, "\n", 0);
  if (text.starts_with("/*")) return SizeUntil(text, "*/", 2);
  return std::isspace(static_cast<unsigned char>(text[0])) ? 1 : 0;
}

}  // namespace

std::vector<SourceToken> SourceTokens(std::string_view text) {
  std::vector<SourceToken> tokens;
  int line = 1;
  int line_of_last = 0;  // where the last token ended
  while (!text.empty()) {
    size_t size = BlankSize(text);
    const bool is_token = size == 0;
    if (is_token) {
      const Piece piece = FirstPiece(text, line_of_last != line);
      size = piece.size;
      tokens.push_back({piece.kind, text.substr(0, size), line});
    }
    line += static_cast<int>(std::count(text.begin(), text.begin() + size, '\n'));
    if (is_token) line_of_last = line;
    text.remove_prefix(size);
  }
  return tokens;
}

}  // namespace mdh
