// Where one is in the changes of records, as clients have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "server/store/store.h"

namespace mdh {

// Clients have it as "INCARNATION.NUMBER", and a number alone from daemons that knew of no
// incarnations.
struct ChangeCursor {
  std::string incarnation;
  int64_t number = 0;  // of a change; 0: before the first

  std::string ToText() const;
};

// `incarnation`: of a number alone. Errors: InvalidArgument.
Result<ChangeCursor> ParseCursor(std::string_view text, const std::string& incarnation);

// After the latest change.
ChangeCursor LatestCursor(Store& store);
// What lookups at any daemon must have seen to know what this one has written, and what its lookups
// know; empty if no other daemon can have the store open.
std::string SharedCursor(Store& store);

// OutOfRange, with reason CURSOR_EXPIRED and where the store is now.
Status CursorExpired(Status why, Store& store);
// The same for a cursor of another incarnation.
Status CursorOfOther(Store& store);

}  // namespace mdh
