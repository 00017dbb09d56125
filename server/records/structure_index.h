// Which records there are of the same computation in other sizes, or on other devices.
#pragma once

#include <array>
#include <cstddef>
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
  void Add(const SerializedRecordPtr& record);
  void Remove(const SerializedRecordPtr& record);

  // Of a key whose expression has no records.
  v1::MissReason WhyUnknown(const KernelKeyView& asked) const;

  enum class Devices { kOneOnly, kAlike };
  // Records of the structure of `key`, the nearest first: for the same device and numerics policy,
  // or for all devices of the kind of `device`. It takes time in proportion to their number.
  std::vector<SerializedRecordPtr> FindNearest(const v1::KernelKey& key, size_t limit,
                                               const v1::DeviceDescription& device,
                                               Devices devices) const;

 private:
  using CountByDevice = absl::flat_hash_map<std::string, int64_t>;
  // Both by structure. Many records share few structures, so that it is chance which part a record
  // is in: threads that add seldom meet.
  struct alignas(64) Part {
    mutable absl::Mutex counts_mutex;
    absl::flat_hash_map<uint64_t, CountByDevice> counts ABSL_GUARDED_BY(counts_mutex);
    mutable absl::Mutex records_mutex;
    absl::flat_hash_map<uint64_t, absl::flat_hash_set<SerializedRecordPtr>> records
        ABSL_GUARDED_BY(records_mutex);
  };
  static constexpr size_t kPartBits = 4;
  Part& PartOf(const SerializedRecordPtr& record);

  std::array<Part, size_t{1} << kPartBits> parts_;
};

}  // namespace mdh
