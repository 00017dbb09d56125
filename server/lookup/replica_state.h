// Whether the records of this daemon are as new as an answer is to be: daemons that share a
// database know of each other's changes a moment later.
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/store/store.h"

namespace mdh {

// So long an answer waits for changes that are not known yet.
inline constexpr absl::Duration kPatienceForChanges = absl::Seconds(1);

// Thread-safe.
class ReplicaState {
 public:
  // The store must outlive it, and be open already.
  explicit ReplicaState(Store& store) : store_(store), incarnation_(store.incarnation()) {}

  // Whether all changes up to the cursor are known here; empty: there are none. Errors: Aborted,
  // with reason REPLICA_BEHIND, if they are not; InvalidArgument; OutOfRange, with reason
  // CURSOR_EXPIRED, if it is of another database.
  Status Check(std::string_view min_cursor) const;
  // The same after a wait of at most kPatienceForChanges.
  Status Await(std::string_view min_cursor) const {
    return CheckAfter(min_cursor, kPatienceForChanges);
  }
  // As Check; has the changes read at once if they are not known.
  Status Hurry(std::string_view min_cursor) const {
    return CheckAfter(min_cursor, absl::ZeroDuration());
  }

 private:
  Status CheckAfter(std::string_view min_cursor, absl::Duration patience) const;

  Store& store_;
  const std::string incarnation_;
};

}  // namespace mdh
