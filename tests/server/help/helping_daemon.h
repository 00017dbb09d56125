// A daemon that searches on a device that sleeps, as far as help among daemons needs one.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/records/lookup_table.h"
#include "server/records/resource_names.h"
#include "server/store/store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/help/sleeping_device.h"
#include "tests/server/matmul_expression.h"

namespace mdh {

struct HelpingDaemonOptions {
  std::string name = "a";
  TrialSharing sharing = TrialSharing::kBoth;
  absl::Duration each = absl::Milliseconds(5);  // a trial
  DeviceDescription device = FakeCpu();
  absl::Duration job_lease = absl::Hours(1);
  absl::Duration seat_lease = absl::Seconds(30);
  TuneFunction tune = TuneOnRunners;
  DeriveKernel derive = &OfferedKernels::KernelOf;
};

class HelpingDaemon {
 public:
  // `store` must outlive it.
  HelpingDaemon(Store& store, HelpingDaemonOptions options) : store_(store), device_(options.each) {
    const DeviceDescription description = options.device;
    std::vector<std::unique_ptr<TuningDevice>> devices;
    devices.push_back(StartSleeping(device_, description));
    table_ = std::make_unique<LookupTable>(KeyEnvironment::Of(description));
    catalogue_.reset(new DeviceCatalogue(std::move(devices), {}, {}, store));
    JobQueueOptions queue;
    queue.owner = options.name;
    queue.lease = options.job_lease;
    queue.is_shared = true;
    queue.trial_sharing = options.sharing;
    queue.helping.lease = options.seat_lease;
    queue.helping.renew = options.seat_lease / 4;
    queue.helping.find = absl::Milliseconds(20);
    queue.helping.look = absl::Milliseconds(5);
    queue.metrics = &metrics_;
    queue.helping.derive = options.derive;
    queue.tune = options.tune;
    queue_ = *JobQueue::Start(store, *table_, *catalogue_, std::move(queue));
  }

  // Gives the number of the job.
  int64_t Create(int64_t size, int64_t trials, absl::Duration budget = absl::Minutes(30)) {
    v1::TuningOptions options;
    options.set_max_trials(trials);
    options.set_budget_ns(absl::ToInt64Nanoseconds(budget));
    const Result<v1::CreateTuningJobResponse> created =
        queue_->Create({.computation = MatMulExpression(size, 2 * size, 96),
                        .options = *CheckTuningOptions(options)});
    return *ParseJobName(created->job().name());
  }
  v1::TuningJob Get(int64_t job) { return *queue_->Get(job); }
  bool HasState(int64_t job, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(job)->state() == state; });
  }
  bool Succeeds(int64_t job) { return HasState(job, v1::TUNING_JOB_STATE_SUCCEEDED); }
  // Trials that ended, by the device that measured them; "": that none had to measure.
  std::map<std::string, int> Places(int64_t job) {
    std::map<std::string, int> places;
    const std::vector<v1::TuningTrial> trials = *store_.ListTrials(job, 0, 0);
    for (const v1::TuningTrial& trial : trials) {
      if (!trial.outcome().empty()) ++places[trial.device()];
    }
    return places;
  }
  JobQueue& queue() { return *queue_; }
  SleepingDevice& device() { return device_; }
  JobMetrics::Figures figures() { return metrics_.Read(); }
  bool IsFree() { return catalogue_->default_device().IsFree(); }

 private:
  Store& store_;
  SleepingDevice device_;
  JobMetrics metrics_;
  std::unique_ptr<LookupTable> table_;
  std::unique_ptr<DeviceCatalogue> catalogue_;
  std::unique_ptr<JobQueue> queue_;
};

}  // namespace mdh
