// The read path of lookups: all records in memory, the usual replies serialised ahead.
#pragma once

#include <grpcpp/support/slice.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
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

  // A serialised LookupKernelResponse with the best match for `asked`. Of several equally good
  // matches, the fastest. Errors: InvalidArgument without a digest; NotFound, saying what there is
  // instead.
  Result<grpc::Slice> Find(const v1::KernelKey& asked, v1::MatchKind weakest) const;

  // The record with exactly this key. Errors: NotFound.
  Result<v1::TuningRecord> FindRecord(const v1::KernelKey& key) const;

  // Records of the same computation to start a search from, the most similar first, at most
  // `limit`: the one with this key, other compilers and generators, other sizes, other devices of
  // the kind of `device`, if that is given.
  std::vector<v1::TuningRecord> FindSimilar(const v1::KernelKey& key, size_t limit,
                                            const v1::DeviceDescription& device = {}) const;

  // The environment of the default device.
  const KeyEnvironment& environment() const { return environments_.front(); }

 private:
  struct Entry {
    v1::TuningRecord record;
    grpc::Slice exact_reply;  // the others are rare and serialised when asked for
    std::optional<ExpressionShape> shape;
  };
  static Status Missing(const v1::KernelKey& asked, const std::vector<Entry>* entries);

  const std::vector<KeyEnvironment> environments_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::vector<Entry>> entries_
      ABSL_GUARDED_BY(mutex_);  // by digest
};

}  // namespace mdh
