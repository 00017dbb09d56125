#include "server/lookup/replica_state.h"

#include "absl/strings/str_cat.h"
#include "proto/error_details.h"
#include "server/store/change_cursor.h"

namespace mdh {

Status ReplicaState::Check(std::string_view min_cursor) const {
  if (min_cursor.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(const ChangeCursor cursor,
                       InField("min_cursor", ParseCursor(min_cursor, incarnation_)));
  if (cursor.incarnation != incarnation_) return CursorOfOther(store_);
  const int64_t latest = store_.LatestChange();
  if (cursor.number <= latest) return absl::OkStatus();
  const Status behind = absl::AbortedError(
      absl::StrCat("this daemon knows the changes of records up to ", latest,
                   ", and not those up to ", cursor.number, " yet; it answers without min_cursor"));
  return WithRetry(
      WithReason(behind, "REPLICA_BEHIND", {{"latestCursor", LatestCursor(store_).ToText()}}),
      absl::Seconds(1));
}

Status ReplicaState::CheckAfter(std::string_view min_cursor, absl::Duration patience) const {
  const Status before = Check(min_cursor);
  if (!absl::IsAborted(before)) return before;
  MDH_ASSIGN_OR_RETURN(const ChangeCursor cursor, ParseCursor(min_cursor, incarnation_));
  store_.WaitForChange(cursor.number - 1, patience);
  return Check(min_cursor);
}

}  // namespace mdh
