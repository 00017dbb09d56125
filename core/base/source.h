// A text with a name, and errors that point into it.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"

namespace mdh {

// Does not own the text.
class Source {
 public:
  // A byte order mark, as editors put in front of UTF-8, is no part of the text.
  Source(absl::string_view name, absl::string_view text);

  absl::string_view text() const { return text_; }

  // "NAME:LINE:COLUMN: MESSAGE", then the line and a caret under the column. Lines and columns (of
  // bytes) count from 1. Of a very long line the part around the column is shown.
  Status ErrorOfCode(absl::StatusCode code, size_t offset, absl::string_view message) const;
  // InvalidArgument, the message in parts.
  template <typename... Parts>
  Status ErrorAt(size_t offset, const Parts&... parts) const {
    return ErrorOfCode(absl::StatusCode::kInvalidArgument, offset, absl::StrCat(parts...));
  }

 private:
  absl::string_view name_;
  absl::string_view text_;
};

}  // namespace mdh
