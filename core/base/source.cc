// Errors that show the line they are in.
#include "core/base/source.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace mdh {

Source::Source(absl::string_view name, absl::string_view text)
    : name_(name), text_(absl::StripPrefix(text, "\xEF\xBB\xBF")) {}

Status Source::ErrorOfCode(absl::StatusCode code, size_t offset, absl::string_view message) const {
  offset = std::min(offset, text_.size());
  const absl::string_view before = text_.substr(0, offset);
  const auto line_number = 1 + std::ranges::count(before, '\n');
  const size_t newline = before.rfind('\n');
  const size_t line_start = newline == absl::string_view::npos ? 0 : newline + 1;
  const absl::string_view line = text_.substr(line_start, text_.find('\n', offset) - line_start);
  const size_t column = offset - line_start;

  constexpr size_t kBefore = 70, kShown = 100;
  const size_t first = line.size() > kShown && column > kBefore ? column - kBefore : 0;
  std::string shown(line.substr(first, kShown));
  std::string caret;
  for (size_t c = 0; c < shown.size(); ++c) {
    // Tabs stay, so that the caret stands under its column; other control characters would confuse
    // a terminal.
    if (absl::ascii_iscntrl(shown[c]) && shown[c] != '\t') shown[c] = ' ';
    if (first + c < column) caret += shown[c] == '\t' ? '\t' : ' ';
  }
  return Status(code, absl::StrCat(name_, ":", line_number, ":", column + 1, ": ", message, "\n",
                                   shown, "\n", caret, "^"));
}

}  // namespace mdh
