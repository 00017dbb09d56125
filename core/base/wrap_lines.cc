#include "core/base/wrap_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

constexpr absl::string_view kDots = "...";

bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

// Where character number `n` begins, counted from 0; the end if there are fewer.
size_t OffsetOfCharacter(int n, absl::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && n-- == 0) return at;
  }
  return text.size();
}

absl::string_view First(absl::string_view text, int characters) {
  return text.substr(0, OffsetOfCharacter(characters, text));
}

absl::string_view Last(absl::string_view text, int characters) {
  return text.substr(OffsetOfCharacter(CharactersIn(text) - characters, text));
}

void AppendWrapped(absl::string_view line, int columns, int hang, std::string& text) {
  absl::string_view indent;
  const std::string spaces(static_cast<size_t>(std::clamp(hang, 0, std::max(columns / 2, 0))), ' ');
  while (CharactersIn(line) + static_cast<int>(indent.size()) > columns) {
    const size_t limit = OffsetOfCharacter(columns - static_cast<int>(indent.size()), line);
    const size_t begin = line.find_first_not_of(' ');
    // Behind a bar, where there is one: parts between bars stay together.
    const size_t bar = limit < 2 ? absl::string_view::npos : line.rfind(" | ", limit - 2);
    size_t space = bar == absl::string_view::npos ? line.rfind(' ', limit) : bar + 2;
    if (space == absl::string_view::npos || begin == absl::string_view::npos || space < begin) {
      space = line.find(' ', std::max(limit, begin));
      if (begin == absl::string_view::npos || space == absl::string_view::npos) break;
    }
    const absl::string_view rest = line.substr(space);
    const size_t next = rest.find_first_not_of(' ');
    if (next == absl::string_view::npos) break;
    absl::StrAppend(&text, indent, line.substr(0, line.find_last_not_of(' ', space) + 1), "\n");
    line = rest.substr(next);
    indent = spaces;
  }
  absl::StrAppend(&text, indent, line);
}

}  // namespace

int CharactersIn(absl::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, BeginsCharacter));
}

std::string WrapLines(absl::string_view text, int columns, int hang) {
  std::string wrapped;
  bool is_first = true;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!is_first) wrapped.push_back('\n');
    is_first = false;
    AppendWrapped(line, columns, hang, wrapped);
  }
  return wrapped;
}

std::string ElideMiddle(absl::string_view text, int columns) {
  if (CharactersIn(text) <= columns) return std::string(text);
  const int kept = columns - static_cast<int>(kDots.size());
  if (kept < 2) return std::string(First(text, std::max(columns, 0)));
  return absl::StrCat(First(text, kept - kept / 2), kDots, Last(text, kept / 2));
}

std::string ElideEnd(absl::string_view text, int columns) {
  if (CharactersIn(text) <= columns) return std::string(text);
  const int kept = columns - static_cast<int>(kDots.size());
  if (kept < 1) return std::string(First(text, std::max(columns, 0)));
  return absl::StrCat(First(text, kept), kDots);
}

}  // namespace mdh
