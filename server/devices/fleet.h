// The daemons that share a database: what this one says of itself there, and what the others have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/device.pb.h"
#include "server/store/store.h"

namespace mdh {

struct FleetOptions {
  std::string daemon;  // the name of this one among the others
  // So long after it was heard of last a daemon is gone.
  absl::Duration lease = absl::Seconds(45);
  std::string server_version = "";
};

// Thread-safe. What it gives is in memory: nobody who asks waits for the store.
class Fleet {
 public:
  // `store` must outlive this.
  Fleet(Store& store, FleetOptions options);

  // "nodes/{node}" of this daemon.
  const std::string& self() const { return self_.name(); }
  // Announces that this daemon has these devices, and reads what the others have, the less often
  // the more they are: all of them read what all of them say. What fails is logged, once until it
  // succeeds again: the next call tries again.
  void Renew(const std::vector<v1::Device>& devices) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads what the others have. Errors: those of the store; then what was known before stays.
  Status Refresh() ABSL_LOCKS_EXCLUDED(mutex_);
  // This daemon ends.
  void Leave();

  // Of the others, called "nodes/{node}/devices/cuda0", by name. Those of a daemon that is gone are
  // unhealthy.
  std::shared_ptr<const std::vector<v1::Device>> devices() const ABSL_LOCKS_EXCLUDED(mutex_);
  // All daemons, this one first, without their devices.
  std::vector<v1::Node> nodes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Take(std::vector<v1::Node> nodes) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsToRead() const ABSL_LOCKS_EXCLUDED(mutex_);

  Store& store_;
  const FleetOptions options_;
  const v1::Node self_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const std::vector<v1::Device>> devices_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::Node> others_ ABSL_GUARDED_BY(mutex_);
  bool has_failed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_read_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // on the clock of NowNs
};

}  // namespace mdh
