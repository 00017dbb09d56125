// Which records there are of the same computation in other sizes, or on other devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "server/records/serialized_record.h"

namespace mdh {

// Thread-safe. WhyUnknown never waits for a search; Add and Remove do.
class StructureIndex {
 public:
  void Add(const SerializedRecordPtr& record) ABSL_LOCKS_EXCLUDED(counts_mutex_, records_mutex_);
  void Remove(const SerializedRecordPtr& record) ABSL_LOCKS_EXCLUDED(counts_mutex_, records_mutex_);

  // Of a key whose expression has no records.
  v1::MissReason WhyUnknown(const KernelKeyView& asked) const ABSL_LOCKS_EXCLUDED(counts_mutex_);

  enum class Devices { kOneOnly, kAlike };
  // Records of the structure of `key`, the nearest first: for the same device and numerics policy,
  // or for all devices of the kind of `device`. It takes time in proportion to their number.
  std::vector<SerializedRecordPtr> FindNearest(const v1::KernelKey& key, size_t limit,
                                               const v1::DeviceDescription& device,
                                               Devices devices) const
      ABSL_LOCKS_EXCLUDED(records_mutex_);

 private:
  using CountByDevice = absl::flat_hash_map<std::string, int64_t>;
  // By structure.
  mutable absl::Mutex counts_mutex_;
  absl::flat_hash_map<uint64_t, CountByDevice> counts_ ABSL_GUARDED_BY(counts_mutex_);
  mutable absl::Mutex records_mutex_;
  absl::flat_hash_map<uint64_t, absl::flat_hash_set<SerializedRecordPtr>> records_
      ABSL_GUARDED_BY(records_mutex_);
};

}  // namespace mdh
