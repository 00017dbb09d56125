// The owner's side of a search that daemons help with: it asks for help on the board, and lets each
// helper join the search as a runner.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "server/devices/trial_places.h"
#include "server/help/remote_runner.h"
#include "server/records/kernel_key.h"
#include "server/store/trial_board.h"

namespace mdh {

// What all devices that measure trials of a search have in common: the device, its compilers, and
// the generator of kernels.
std::string EnvironmentOfTrials(const KeyEnvironment& environment);

struct HelpedSearchOptions {
  HelpedJob job = {};
  DeviceDescription device = {};  // of the owner
  TrialPlaces* places = nullptr;
  // Called, from another thread, with the names of the devices that help from now on. It must not
  // wait for the end of the search.
  std::function<void(std::vector<std::string>)> on_helpers = [](auto) {};
  // Without news the board is looked at so often.
  absl::Duration look = absl::Milliseconds(500);
};

// One thread. What it cannot do because the store is not there it does later; a job that another
// daemon has taken is not offered any more.
class HelpedSearch {
 public:
  // `board` and `cancelled` must outlive it; runners are interrupted once `cancelled` is true.
  // Errors: ResourceExhausted if there is no thread; what the board says.
  static Result<std::unique_ptr<HelpedSearch>> Start(TrialBoard& board, HelpedSearchOptions options,
                                                     const std::atomic<bool>& cancelled);
  // Takes back what is offered. Nobody uses the runners any more.
  ~HelpedSearch();

  // Before a kernel is submitted: what it comes from.
  void Note(const TuningParameters& parameters, const std::string& identity)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Helpers that have come since the last call.
  std::vector<Runner*> TakeJoining() ABSL_LOCKS_EXCLUDED(mutex_);
  // The devices that have measured something.
  std::set<std::string> helpers() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  HelpedSearch(TrialBoard& board, HelpedSearchOptions options, const std::atomic<bool>& cancelled,
               std::unique_ptr<BoardWatch> watch);
  void Work();
  // One look at the board.
  Status Trade() ABSL_LOCKS_EXCLUDED(mutex_);
  void Seat(const std::vector<HelperSeat>& helpers) ABSL_LOCKS_EXCLUDED(mutex_);
  void SendAllAway(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<std::string> ParametersOf(const std::string& digest) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<RemoteRunner*> Present() const ABSL_LOCKS_EXCLUDED(mutex_);

  TrialBoard& board_;
  const HelpedSearchOptions options_;
  const std::atomic<bool>& cancelled_;
  const std::unique_ptr<BoardWatch> watch_;
  std::atomic<bool> is_ending_ = false;
  // Of the thread: what the board has not been told yet.
  std::vector<OfferedTrial> offers_;
  std::vector<MeasuredTrial> settled_;
  bool was_interrupted_ = false;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<RemoteRunner>> runners_ ABSL_GUARDED_BY(mutex_);  // all there were
  std::vector<Runner*> joining_ ABSL_GUARDED_BY(mutex_);
  // Texts by digest of the kernel.
  absl::flat_hash_map<std::string, std::string> parameters_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace mdh
