// A device of another daemon as a runner of a search: what is submitted is offered to it, and what
// it says is handed out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/devices/trial_places.h"
#include "server/store/trial_board.h"
#include "tuner/measure/runner.h"

namespace mdh {

struct RemoteRunnerOptions {
  HelperSeat helper;
  DeviceDescription device;  // as the owner has one
  // The parameters that became the kernel of that digest, as text; nullopt if it is none of the
  // search's.
  std::function<std::optional<std::string>(const std::string& digest)> parameters = {};
  // Called when there is something to offer or to take away.
  std::function<void()> on_change = [] {};
  TrialPlaces* places = nullptr;  // null: nobody wants to know
};

// It measures trials of the search alone: what is measured once more at the end is the owner's to
// measure. When its helper goes, calls fail as those of a runner whose device is unhealthy; whoever
// tunes goes on with the others, to which what was offered is given.
class RemoteRunner final : public Runner {
 public:
  explicit RemoteRunner(RemoteRunnerOptions options) : options_(std::move(options)) {}

  const HelperSeat& helper() const { return options_.helper; }

  // ---- For who stands at the board; of any thread ----

  // What is to be offered since the last call.
  std::vector<OfferedTrial> TakeOffers() ABSL_LOCKS_EXCLUDED(mutex_);
  // What is known, or not wanted any more, since the last call.
  std::vector<MeasuredTrial> TakeSettled() ABSL_LOCKS_EXCLUDED(mutex_);
  // What the helper says. What is no measurement counts as a failed trial.
  void Deliver(const MeasuredTrial& trial) ABSL_LOCKS_EXCLUDED(mutex_);
  // The helper has gone.
  void Go(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_gone() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Measurements that counted.
  int64_t measured() const ABSL_LOCKS_EXCLUDED(mutex_);

  // ---- As a runner ----

  const DeviceDescription& device() const override { return options_.device; }
  // Errors: FailedPrecondition but for the first problem.
  Status SetProblem(const ComputationView& computation, uint64_t seed,
                    const Numerics& numerics) override ABSL_LOCKS_EXCLUDED(mutex_);
  Result<int64_t> LoopNestTime() override { return 0; }
  void SetDeadline(int64_t deadline_ns) override ABSL_LOCKS_EXCLUDED(mutex_);
  Status Submit(int64_t number, const Kernel& kernel, const MeasureOptions& options) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  Result<Finished> Next() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool TakeBack(int64_t number) override ABSL_LOCKS_EXCLUDED(mutex_);
  Result<MachinePeaks> Peaks() override;
  Status Health() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Interrupt() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Status Gone() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Hands what is submitted out as cancelled: what the helper says of it does not count any more.
  void CancelAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RemoteRunnerOptions options_;
  mutable absl::Mutex mutex_;
  bool has_problem_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::string> gone_ ABSL_GUARDED_BY(mutex_);  // why
  int64_t deadline_ns_ ABSL_GUARDED_BY(mutex_) = 0;          // on the clock of NowNs(); 0: never
  // Digests by number.
  absl::flat_hash_map<int64_t, std::string> submitted_ ABSL_GUARDED_BY(mutex_);
  std::vector<OfferedTrial> offers_ ABSL_GUARDED_BY(mutex_);
  std::vector<MeasuredTrial> settled_ ABSL_GUARDED_BY(mutex_);
  std::vector<Finished> finished_ ABSL_GUARDED_BY(mutex_);
  int64_t measured_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mdh
