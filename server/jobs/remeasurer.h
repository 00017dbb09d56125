// Measures again, when the machine is quiet, what was measured while others used it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mdh/v1/record.pb.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/records/lookup_table.h"

namespace mdh {

// Of all cores of this machine since it was started, in ticks; nullopt: the system does not say.
struct HostTicks {
  int64_t busy = 0;
  int64_t all = 0;
};
std::optional<HostTicks> ReadHostTicks();

struct RemeasurerOptions {
  // How often it looks whether the machine is quiet: whether so little of the cores was used since
  // it looked last.
  absl::Duration period = absl::Seconds(15);
  double most_busy = 0.05;
  // A record that stays disturbed is measured again after this, then after twice as long, ...
  absl::Duration first_retry = absl::Minutes(5);
  std::function<std::optional<HostTicks>()> ticks = ReadHostTicks;
};

// One thread. Peaks that are marked as disturbed are measured again, and a short job is created for
// a record that is (from the source "mdhd", behind all others); one thing at a time. All arguments
// must outlive this. Thread-safe.
class Remeasurer {
 public:
  // Errors: ResourceExhausted if there is no thread.
  static Result<std::unique_ptr<Remeasurer>> Start(LookupTable& lookup_table,
                                                   DeviceCatalogue& catalogue, JobQueue& jobs,
                                                   RemeasurerOptions options);
  ~Remeasurer();

  // To be called for every record there is, and for each that changes or goes.
  void Note(const v1::TuningRecord& record, bool is_there = true) ABSL_LOCKS_EXCLUDED(mutex_);
  // How many records wait to be measured again.
  size_t pending() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Pending {
    v1::KernelKey key;
    absl::Duration retry;
    absl::Time next = absl::InfinitePast();
  };

  Remeasurer(LookupTable& lookup_table, DeviceCatalogue& catalogue, JobQueue& jobs,
             RemeasurerOptions options);
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the cores were hardly used since the last call.
  bool IsQuiet();
  // Whether there was something to do.
  bool MeasurePeaks();
  void MeasureOneRecord() ABSL_LOCKS_EXCLUDED(mutex_);
  // The first one that is due and can be measured here now.
  std::optional<v1::KernelKey> TakeDue() ABSL_LOCKS_EXCLUDED(mutex_);
  TuningDevice* FreeDeviceFor(const v1::KernelKey& key) const;

  LookupTable& lookup_table_;
  DeviceCatalogue& catalogue_;
  JobQueue& jobs_;
  const RemeasurerOptions options_;
  std::optional<HostTicks> last_ticks_;
  mutable absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Pending> pending_ ABSL_GUARDED_BY(mutex_);  // by name of the record
  std::thread thread_;
};

// Whether a serialised v1::TuningRecord is marked as disturbed: without parsing all of it.
bool IsMarkedAsDisturbed(std::string_view record);

}  // namespace mdh
