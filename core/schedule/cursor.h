// Where the reader of a schedule is. Lines count, so that it goes from character to character.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/source.h"
#include "core/base/status.h"

namespace mdh {

// Does not own the source.
class ScheduleCursor {
 public:
  explicit ScheduleCursor(const Source& source) : source_(source), text_(source.text()) {}

  // Goes to the next line that has something; false: there is none.
  bool NextLine();
  // Whether nothing but blanks and a comment is left of the line.
  bool AtLineEnd();
  void SkipLine();

  // Reads this symbol or word if it is next: words end where names do.
  bool Accept(absl::string_view expected);
  // Errors: as Unexpected.
  Status Expect(absl::string_view expected);
  // The name that is next; empty: there is none.
  absl::string_view PeekName();
  Result<absl::string_view> ExpectName(absl::string_view what);
  // Errors: also for numbers beyond 63 bits.
  Result<int64_t> ExpectNumber(absl::string_view what);
  bool NextIsDigit();
  // What is next up to a blank, the end of the line or one of these characters.
  absl::string_view Word(absl::string_view ends);

  size_t offset();  // of what is next
  int line() const { return line_; }

  // "expected WHAT, found 'c'".
  Status Unexpected(absl::string_view expected);
  template <typename... Parts>
  Status ErrorAt(size_t offset, const Parts&... message) const {
    return source_.ErrorAt(offset, message...);
  }

 private:
  void SkipBlanks();
  absl::string_view rest() const { return text_.substr(offset_); }

  const Source& source_;
  absl::string_view text_;
  size_t offset_ = 0;
  size_t counted_ = 0;  // up to here, lines are counted
  int line_ = 0;
};

}  // namespace mdh
