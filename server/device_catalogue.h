// What the daemon says of its devices, with the peaks that it measured, and of those it only knows.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/expression.h"
#include "core/status.h"
#include "mdh/v1/device.pb.h"
#include "server/kernel_key.h"
#include "server/store.h"
#include "server/tuning_device.h"

namespace mdh {

// Thread-safe.
class DeviceCatalogue {
 public:
  // At least one device; the CPU is the default, or else the first one. `missing`: kinds that are
  // not there, and why. `store` must outlive this.
  DeviceCatalogue(std::vector<std::unique_ptr<TuningDevice>> devices,
                  std::vector<std::string> missing, std::vector<v1::KnownDevice> known,
                  Store& store);

  absl::Span<const std::unique_ptr<TuningDevice>> devices() const { return devices_; }
  const std::vector<std::string>& missing() const { return missing_; }
  const std::vector<v1::KnownDevice>& known() const { return known_; }
  TuningDevice& default_device() const { return *default_; }
  // Of all devices, without repetitions, that of the default first.
  std::vector<KeyEnvironment> Environments() const;

  // The device of that name. Errors: NotFound, naming those that there are.
  Result<TuningDevice*> Find(const std::string& name) const;
  // The devices that a job may use; no names: the default. Errors: NotFound; InvalidArgument if
  // they are not of one fingerprint.
  Result<std::vector<TuningDevice*>> Select(absl::Span<const std::string> names) const;
  // The device that a request means: attached, known, or described by it; none: the default.
  // Errors: NotFound, InvalidArgument.
  Result<DeviceDescription> Resolve(const v1::DeviceSelection& selection) const;

  // The device without its queue; with peaks, if they are known or can be measured because nobody
  // uses the device.
  v1::Device Describe(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of a device that the caller holds, and of those that have its fingerprint. Measured once per
  // process. A peak is what was reached at least once: of earlier measurements the largest values
  // are kept, because a busy machine reaches less. If they cannot be measured, those of earlier
  // processes. Errors: what the runner says, if there are none.
  Result<v1::MachinePeaks> Peaks(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same with what its runner has reached since: a kernel that was too fast for the peaks may
  // have shown that they were measured while the machine was slow.
  Result<v1::MachinePeaks> ReachedPeaks(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, after they were measured once more.
  Result<v1::MachinePeaks> MeasurePeaksAgain(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of this process's measurements; nullopt before the first one.
  std::optional<v1::MachinePeaks> MeasuredPeaks(const std::string& fingerprint) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::optional<v1::MachinePeaks> KnownPeaks(TuningDevice& device) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::unique_ptr<TuningDevice>> devices_;
  const std::vector<std::string> missing_;
  const std::vector<v1::KnownDevice> known_;
  TuningDevice* const default_;
  Store& store_;
  mutable absl::Mutex mutex_;
  // By fingerprint; of this process's measurements.
  std::map<std::string, v1::MachinePeaks> peaks_ ABSL_GUARDED_BY(mutex_);
};

// Whether the expression computes in double precision: then the peak of fp64 bounds it.
bool IsDoublePrecision(const Expression& expression);

// Errors: Internal if `time_ns` is so short that the device would have exceeded its peak by half:
// then something was not computed.
Status CheckPlausible(const Expression& expression, int64_t time_ns,
                      const DeviceDescription& device, const v1::MachinePeaks& peaks);

}  // namespace mdh
