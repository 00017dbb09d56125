// A tuning job that the daemon works on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "core/device/device_description.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/tuning.pb.h"
#include "server/devices/device_lease.h"
#include "server/devices/trial_places.h"
#include "server/devices/tuning_device.h"
#include "server/store/store.h"

namespace mdh {

// Devices that only other daemons have: one of these works on the job.
struct DevicesElsewhere {
  DeviceDescription description;
  Status can_tune;  // why none of them can
};

struct CreateJob {
  Computation computation;    // of a pipeline whole kernels are measured
  v1::TuningOptions options;  // as CheckTuningOptions and TakeSchedule give them
  std::string key_schedule = "";
  bool force = false;
  std::string request_id = "";
  std::vector<TuningDevice*> devices = {};  // all of one fingerprint; none: the default
  std::optional<DevicesElsewhere> elsewhere = std::nullopt;  // in place of them
  std::vector<std::string> device_names = {};  // as others call them; none: as they are called
  std::string source = "";                     // who asks
  int64_t max_queued_of_source = 0;            // 0: as the queue says
  int priority = 0;                            // among the jobs of its source
  // A record with any search behind it will do, and so will a job with any limits.
  bool takes_any_search = false;
  // Names of jobs that must have ended before this one begins.
  std::vector<std::string> awaited = {};
};

// Of the devices that the request is for, of which it has some.
const DeviceDescription& DeviceOf(const CreateJob& request);

// What identical requests share: the key, whether whole kernels are measured, and what is decided
// for this job alone.
std::string TwinIdOf(const v1::TuningJob& job);

// Why a running job is asked to stop.
enum class StopReason { kNone, kCancel, kPause, kRequeue, kDrain, kLost };

// What is const needs no guard, `is_stopping` neither; all else is guarded by the queue's mutex
// once the job is in the queue.
struct Job {
  Job(const JobClaim& claim, CreateJob request, v1::TuningJob proto);

  // Makes `step` the latest one; at most `max_steps` are kept.
  void Publish(v1::TuningProgress step, int max_steps);

  const JobClaim claim;
  const int64_t number;
  const Computation computation;
  const std::vector<TuningDevice*> devices;  // that it may run on
  const std::string source;
  const int priority;
  // The search is to end soon.
  std::atomic<bool> is_stopping = false;

  // Those of `proto`, whose limits can be raised; the numbers count how often they were, and how
  // often when the search was last told.
  const v1::TuningOptions& options() const { return proto.options(); }
  int64_t extensions = 0, told_extensions = 0;

  // Another daemon has it: nothing of it is written any more.
  bool is_lost = false;
  // What others want of it, which the next change of its state is about.
  JobWish heard = JobWish::kNone;
  v1::TuningJob proto;  // `progress` is the last of `steps`
  std::deque<v1::TuningProgress> steps;
  bool is_finished = false;
  // From the moment that it has devices, which is before its search begins, until what comes after
  // its search is settled.
  bool is_running = false;
  // A change of its state is on the way to the disk; nobody else changes it until it is there.
  bool is_being_written = false;
  int64_t next_progress_ns = 0;  // on the clock of NowNs(): when its progress is stored again
  StopReason stop_reason = StopReason::kNone;  // with `is_stopping`
  TrialPlaces places;                          // of its search; needs no guard
  // While it runs; those at the front never change. Of these, `joining` have not been told to the
  // search yet.
  std::vector<std::unique_ptr<DeviceLease>> leases;
  std::vector<DeviceLease*> joining;
  bool is_searching = false;         // more devices can join
  std::vector<std::string> helpers;  // devices of other daemons that measure trials of it
  // Of the jobs that must have ended before, some are other daemons' and have not, as far as is
  // known.
  bool awaits_others = false;
  // Of earlier runs, which ended because all devices died, or the machine lacked something.
  int failed_runs = 0;
  int64_t not_before_ns = 0;  // on the clock of NowNs(): it waits so long for what was lacking
  v1::TuningProgress before;
};

// Devices of this daemon that it has.
size_t CountHeld(const Job& job);
// Whether a job that waits or runs may have the device.
template <typename AnyJob>
bool MayUse(const AnyJob& job, const TuningDevice& device) {
  return std::find(job.devices.begin(), job.devices.end(), &device) != job.devices.end();
}
// Of one that runs. A limit on the time of all devices together was divided between those that the
// search began with.
bool CanGetMore(const Job& job);
// Says in `proto` which devices it runs on, those of other daemons, too.
void NameRunningDevices(Job& job);

void SetError(const Status& error, v1::TuningJob& job);

}  // namespace mdh
