// Whether the machine's clock can be believed where it decides what is deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/store/store.h"
#include "tuner/process/clock.h"

namespace mdh {

// A clock that was set wrong is believed once too often: what it deletes is gone when it is right
// again. So a time counts only as far as it follows from what was stored before this process began,
// and from how long it has run, by a clock that nobody sets. Immutable.
class RetentionClock {
 public:
  // `stored`: the latest time that was stored before; nullopt: none was. `keep`: how long things
  // are kept. `now_ns`: as NowNs().
  RetentionClock(std::optional<absl::Time> stored, absl::Duration keep,
                 std::function<int64_t()> now_ns = NowNs);
  // With the latest time of a job in the store. Errors: what the store says.
  static Result<RetentionClock> Of(Store& store, absl::Duration keep);

  // Errors: FailedPrecondition if `now` is so late that even the latest of what was stored, had
  // nothing been done for as long as things are kept, would be too old.
  Status Check(absl::Time now) const;

 private:
  std::optional<absl::Time> stored_;
  absl::Duration keep_;
  std::function<int64_t()> now_ns_;
  int64_t begin_ns_;
};

}  // namespace mdh
