// The read path of lookups: all records in memory, the usual replies serialised ahead.
#pragma once

#include <grpcpp/support/slice.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "core/status.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/kernel_key.h"
#include "server/similar_records.h"

namespace mdh {

// Thread-safe; readers do not wait for each other.
class LookupTable {
 public:
  // `here`: what the fields that a key leaves empty stand for; `others`: further devices of this
  // daemon.
  explicit LookupTable(KeyEnvironment here, std::vector<KeyEnvironment> others = {});

  // Adds a record or replaces the one with the same key.
  void Put(const v1::TuningRecord& record);
  // Forgets the record with that key, if there is one.
  void Remove(const v1::KernelKey& key);
  // What a change of a record in the store means here.
  void Apply(v1::KernelChangeKind kind, const v1::TuningRecord& record);

  // A serialised LookupKernelResponse with the best match for `asked`. Of several equally good
  // matches, the fastest. Errors: InvalidArgument without a digest; NotFound with a v1::LookupMiss,
  // saying what there is instead.
  Result<grpc::Slice> Find(const v1::KernelKey& asked, v1::MatchKind weakest) const;

  // The record with exactly this key. Errors: NotFound.
  Result<v1::TuningRecord> FindRecord(const v1::KernelKey& key) const;

  // Records of the same computation to start a search from, the most similar first, at most
  // `limit`: the one with this key, other compilers and generators, other sizes, other devices of
  // the kind of `device`, if that is given.
  std::vector<v1::TuningRecord> FindSimilar(const v1::KernelKey& key, size_t limit,
                                            const v1::DeviceDescription& device = {}) const;
  // Of these, those for the same device and numerics policy.
  std::vector<v1::TuningRecord> FindNearest(const v1::KernelKey& key, size_t limit) const;

  // The environment of the default device.
  const KeyEnvironment& environment() const { return environments_.front(); }
  // Calls of Find that found something, and that did not.
  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }

 private:
  struct Entry {
    v1::TuningRecord record;
    grpc::Slice exact_reply;  // the others are rare and serialised when asked for
    std::optional<ExpressionShape> shape;
  };
  enum class Devices { kOneOnly, kAlike };
  std::vector<v1::TuningRecord> FindOfStructure(const v1::KernelKey& key, size_t limit,
                                                const v1::DeviceDescription& device,
                                                Devices devices) const ABSL_LOCKS_EXCLUDED(mutex_);
  Status Missing(const v1::KernelKey& asked) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Of an expression that has no records.
  v1::MissReason WhyUnknown(const v1::KernelKey& asked) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const std::vector<KeyEnvironment> environments_;
  mutable std::atomic<int64_t> hits_ = 0;
  mutable std::atomic<int64_t> misses_ = 0;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::vector<Entry>> entries_
      ABSL_GUARDED_BY(mutex_);  // by digest
  // Digests of the expressions of one structure, which differ in sizes.
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> by_structure_
      ABSL_GUARDED_BY(mutex_);
};

// How a record that a key accepts differs from it.
std::vector<v1::KeyDifference> Differences(const v1::KernelKey& asked, const v1::KernelKey& found);

}  // namespace mdh
