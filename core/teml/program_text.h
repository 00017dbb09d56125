// The text of a program, as messages refer to it.
#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/source.h"
#include "core/base/status.h"
#include "core/text/token_stream.h"

namespace mdh {

// Does not own the source.
class ProgramText {
 public:
  explicit ProgramText(const Source& source) : source_(source) {}

  template <typename... Parts>
  Status ErrorAt(const Token& token, const Parts&... message) const {
    return source_.ErrorAt(token.offset, message...);
  }
  // "line 12".
  std::string LineOf(const Token& token) const {
    const absl::string_view before = source_.text().substr(0, token.offset);
    return absl::StrCat("line ", 1 + std::ranges::count(before, '\n'));
  }

 private:
  const Source& source_;
};

}  // namespace mdh
