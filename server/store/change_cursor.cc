#include "server/store/change_cursor.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/error_details.h"

namespace mdh {

std::string ChangeCursor::ToText() const { return absl::StrCat(incarnation, ".", number); }

Result<ChangeCursor> ParseCursor(std::string_view text, const std::string& incarnation) {
  const size_t dot = text.find('.');
  const bool is_number = dot == std::string_view::npos;
  const std::string number(is_number ? text : text.substr(dot + 1));
  ChangeCursor cursor = {is_number ? incarnation : std::string(text.substr(0, dot))};
  if (!absl::SimpleAtoi(number, &cursor.number) || cursor.number < 0) {
    return absl::InvalidArgumentError("the cursor is not one that this service gave");
  }
  return cursor;
}

ChangeCursor LatestCursor(Store& store) { return {store.incarnation(), store.LatestChange()}; }

std::string SharedCursor(Store& store) {
  const std::optional<int64_t> number = store.SharedChange();
  return number.has_value() ? ChangeCursor{store.incarnation(), *number}.ToText() : "";
}

Status CursorExpired(Status why, Store& store) {
  return WithReason(std::move(why), "CURSOR_EXPIRED",
                    {{"latestCursor", LatestCursor(store).ToText()}});
}

Status CursorOfOther(Store& store) {
  return CursorExpired(
      absl::OutOfRangeError(
          "the cursor is of another database, or of this one before a backup was restored"),
      store);
}

}  // namespace mdh
