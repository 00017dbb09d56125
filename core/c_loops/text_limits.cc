#include "core/c_loops/text_limits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace mdh {
namespace {

// Offset behind the comment or the literal at `at`; `at` itself if there is none.
size_t BehindCommentOrLiteral(absl::string_view text, size_t at) {
  const auto behind = [&](size_t from, absl::string_view end) {
    const size_t found = text.find(end, from);
    return found == absl::string_view::npos ? text.size() : found + end.size();
  };
  const absl::string_view rest = text.substr(at);
  if (absl::StartsWith(rest, "//")) return behind(at, "\n");
  if (absl::StartsWith(rest, "/*")) return behind(at + 2, "*/");
  if (rest[0] != '"' && rest[0] != '\'') return at;
  for (size_t end = at + 1; end < text.size() && text[end] != '\n'; ++end) {
    if (text[end] == '\\') {
      ++end;
    } else if (text[end] == rest[0]) {
      return end + 1;
    }
  }
  return at + 1;  // not closed on this line
}

size_t BehindWord(absl::string_view text, size_t at) {
  while (at < text.size() && (absl::ascii_isalnum(text[at]) || text[at] == '_')) ++at;
  return at;
}

}  // namespace

Status CheckTextLimits(const Source& source) {
  const absl::string_view text = source.text();
  int tokens = 0, parentheses = 0, elses = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t behind = BehindCommentOrLiteral(text, at);
    if (behind > at || absl::ascii_isspace(text[at])) {
      at = behind > at ? behind : at + 1;
      continue;
    }
    const char first = text[at];
    const size_t end = BehindWord(text, at);
    elses += text.substr(at, end - at) == "else" ? 1 : 0;
    parentheses += first == '(' ? 1 : first == ')' ? -1 : 0;
    if (first == '{' || first == '}') parentheses = 0;
    const bool is_inside = parentheses > 0;  // of for (;;), a call, ...
    const bool is_end = first == '{' || first == '}' || first == ';' || first == ',';
    tokens = is_end && !is_inside ? 0 : tokens + 1;
    if (tokens > kMaxStatementTokens) {
      return source.ErrorAt(at, "this statement has more than ", kMaxStatementTokens, " tokens");
    }
    if (elses > kMaxElse) return source.ErrorAt(at, "more than ", kMaxElse, " 'else' in a file");
    at = end > at ? end : at + 1;
  }
  return absl::OkStatus();
}

}  // namespace mdh
