#include "core/schedule/cursor.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

bool IsNameStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNamePart(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

size_t NameLength(absl::string_view text) {
  if (text.empty() || !IsNameStart(text[0])) return 0;
  return std::ranges::find_if_not(text, IsNamePart) - text.begin();
}

}  // namespace

void ScheduleCursor::SkipBlanks() {
  while (offset_ < text_.size() && absl::StrContains(" \t\r", text_[offset_])) ++offset_;
  if (offset_ < text_.size() && text_[offset_] == '#') {
    offset_ = std::min(text_.find('\n', offset_), text_.size());
  }
}

bool ScheduleCursor::NextLine() {
  while (AtLineEnd()) {
    if (offset_ == text_.size()) return false;
    ++offset_;
  }
  const absl::string_view passed = text_.substr(counted_, offset_ - counted_);
  if (line_ == 0) line_ = 1;
  line_ += static_cast<int>(std::ranges::count(passed, '\n'));
  counted_ = offset_;
  return true;
}

bool ScheduleCursor::AtLineEnd() {
  SkipBlanks();
  return offset_ == text_.size() || text_[offset_] == '\n';
}

void ScheduleCursor::SkipLine() { offset_ = std::min(text_.find('\n', offset_), text_.size()); }

bool ScheduleCursor::Accept(absl::string_view expected) {
  SkipBlanks();
  if (!absl::StartsWith(rest(), expected)) return false;
  if (NameLength(expected) > 0 && NameLength(rest()) != expected.size()) return false;
  offset_ += expected.size();
  return true;
}

Status ScheduleCursor::Expect(absl::string_view expected) {
  if (Accept(expected)) return absl::OkStatus();
  return Unexpected(absl::StrCat("'", expected, "'"));
}

absl::string_view ScheduleCursor::PeekName() {
  SkipBlanks();
  return rest().substr(0, NameLength(rest()));
}

Result<absl::string_view> ScheduleCursor::ExpectName(absl::string_view what) {
  const absl::string_view name = PeekName();
  if (name.empty()) return Unexpected(what);
  offset_ += name.size();
  return name;
}

bool ScheduleCursor::NextIsDigit() {
  SkipBlanks();
  return !rest().empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest()[0]));
}

Result<int64_t> ScheduleCursor::ExpectNumber(absl::string_view what) {
  if (!NextIsDigit()) return Unexpected(what);
  size_t length = 0;
  const absl::string_view left = rest();
  while (length < left.size() && absl::ascii_isdigit(static_cast<unsigned char>(left[length]))) {
    ++length;
  }
  int64_t number;
  if (!absl::SimpleAtoi(left.substr(0, length), &number)) {
    return ErrorAt(offset_, "the number is too large");
  }
  offset_ += length;
  return number;
}

absl::string_view ScheduleCursor::Word(absl::string_view ends) {
  SkipBlanks();
  const size_t length =
      std::min(rest().find_first_of(absl::StrCat(" \t\r\n#", ends)), rest().size());
  const absl::string_view word = rest().substr(0, length);
  offset_ += length;
  return word;
}

size_t ScheduleCursor::offset() {
  SkipBlanks();
  return offset_;
}

Status ScheduleCursor::Unexpected(absl::string_view expected) {
  if (AtLineEnd()) return ErrorAt(offset_, "expected ", expected, ", found the end of the line");
  const size_t name = NameLength(rest());
  const absl::string_view found = rest().substr(0, std::max<size_t>(1, std::min<size_t>(name, 40)));
  const auto byte = static_cast<unsigned char>(found[0]);
  const std::string shown = absl::ascii_isprint(byte)
                                ? absl::StrCat("'", found, "'")
                                : absl::StrCat("byte 0x", absl::Hex(byte, absl::kZeroPad2));
  return ErrorAt(offset_, "expected ", expected, ", found ", shown);
}

}  // namespace mdh
