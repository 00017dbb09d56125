// The helper's side of searches of other daemons: devices that this daemon does not need measure
// trials of jobs that ask for help.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/devices/device_catalogue.h"
#include "server/devices/device_lease.h"
#include "server/help/offered_kernels.h"
#include "server/store/trial_board.h"

namespace mdh {

// OfferedKernels::KernelOf, or what tests put in its place.
using DeriveKernel =
    std::function<Result<Kernel>(const OfferedKernels& kernels, const OfferedTrial& trial)>;

struct TrialHelperOptions {
  std::string daemon;  // whose devices help
  // Whether a job of this daemon waits for the device, or could use it: then it does not help, and
  // who helps goes back at once. Called without locks.
  std::function<bool(const TuningDevice&)> is_wanted = [](const TuningDevice&) { return false; };
  // Called after each trial that was measured for another daemon, from any thread.
  std::function<void()> on_measured = [] {};
  // By the store's clock: a helper that is not heard of for so long has given its trials up.
  absl::Duration lease = absl::Seconds(30);
  absl::Duration renew = absl::Seconds(5);
  // How often one looks whether the device is wanted.
  absl::Duration look = absl::Milliseconds(50);
  // How often idle devices look for jobs, without news of any.
  absl::Duration find = absl::Seconds(2);
  // A job that a device could not help with is left alone for so long.
  absl::Duration rest = absl::Minutes(1);
  DeriveKernel derive = &OfferedKernels::KernelOf;
};

// Whether a name is that of a device of another daemon (DeviceOfNode).
bool IsOfOtherDaemon(std::string_view device);

// A thread for each device, and one that watches them. A kernel is derived from its parameters by
// this daemon's own generator, and measured only if it is, byte for byte, the owner's.
class TrialHelper {
 public:
  // All must outlive it. The devices are open. Errors: ResourceExhausted if there is no thread.
  static Result<std::unique_ptr<TrialHelper>> Start(TrialBoard& board, DeviceCatalogue& catalogue,
                                                    TrialHelperOptions options);
  // Gives back what is being measured.
  ~TrialHelper();

  // Whether the device helps: it is given back as soon as it is wanted.
  bool IsHelping(const TuningDevice& device) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What a device does at the moment.
  struct Help {
    DeviceLease* lease = nullptr;
    int64_t seat = 0;  // 0: it has none yet
    int64_t renewed_ns = 0;
    BoardWatch* watch = nullptr;  // that it waits with; null: with none
  };

  TrialHelper(TrialBoard& board, DeviceCatalogue& catalogue, TrialHelperOptions options)
      : board_(board), catalogue_(catalogue), options_(std::move(options)) {}
  // Of a device, until the end.
  void Work(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  bool CanHelp(const TuningDevice& device) const;
  // Whether there was something to help with.
  bool HelpSomebody(TuningDevice& device);
  void HelpWith(TuningDevice& device, const HelpedJob& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Until the job needs no help any more (Aborted), or the device is taken back or gives up.
  Status MeasureFor(const HelpedJob& job, TuningDevice& device, DeviceLease& lease);
  Status MeasureOffers(const OfferedKernels& kernels, int64_t seat, BoardWatch& watch,
                       TuningDevice& device, DeviceLease& lease);
  void SetSeat(const TuningDevice& device, int64_t seat, BoardWatch* watch)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Watches those that help: renews their seats, and takes devices back.
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAt(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeBack(const TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveAlone(const HelpedJob& job, const TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsLeftAlone(const HelpedJob& job, const TuningDevice& device) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  TrialBoard& board_;
  DeviceCatalogue& catalogue_;
  const TrialHelperOptions options_;
  std::atomic<bool> is_ending_ = false;
  mutable absl::Mutex mutex_;
  std::map<const TuningDevice*, Help> helping_ ABSL_GUARDED_BY(mutex_);
  std::vector<BoardWatch*> idle_ ABSL_GUARDED_BY(mutex_);
  struct Pause {
    const TuningDevice* device;
    int64_t job;
    int64_t epoch;
    int64_t until_ns;
  };
  std::vector<Pause> pauses_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace mdh
