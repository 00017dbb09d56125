// What the daemon says of its device, with the peaks that it measured.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/expression.h"
#include "core/status.h"
#include "mdh/v1/device.pb.h"
#include "server/kernel_key.h"
#include "server/store.h"
#include "server/tuning_backend.h"

namespace mdh {

// Thread-safe.
class DeviceCatalogue {
 public:
  // Both must outlive this.
  DeviceCatalogue(TuningBackend& backend, Store& store)
      : backend_(backend), store_(store), environment_(KeyEnvironment::Of(backend.device())) {}

  // The CPU; with peaks as Peaks() gives them, without if there are none.
  v1::Device Describe();

  // Measured once per process. A peak is what was reached at least once: of earlier measurements of
  // this device the largest values are kept, because a busy machine reaches less. Without a
  // compiler the stored ones. Errors: FailedPrecondition if there are none and none can be
  // measured.
  Result<v1::MachinePeaks> Peaks();

  const KeyEnvironment& environment() const { return environment_; }

 private:
  TuningBackend& backend_;
  Store& store_;
  const KeyEnvironment environment_;
  absl::Mutex mutex_;
  std::optional<v1::MachinePeaks> peaks_ ABSL_GUARDED_BY(mutex_);
};

// Whether the expression computes in double precision: then the peak of fp64 bounds it.
bool IsDoublePrecision(const Expression& expression);

// Errors: Internal if `time_ns` is so short that the device would have exceeded its peak by half:
// then something was not computed.
Status CheckPlausible(const Expression& expression, int64_t time_ns, const v1::MachinePeaks& peaks);

}  // namespace mdh
