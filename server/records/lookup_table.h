// The read path of lookups: all records in memory, their replies serialised ahead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "server/records/kernel_key.h"
#include "server/records/serialized_record.h"
#include "server/records/serialized_reply.h"
#include "server/records/structure_index.h"

namespace mdh {

// A digest, which is somewhere else, with its hash: a table that grows need not read the digests,
// which lie anywhere in gigabytes of records.
struct HashedDigest {
  explicit HashedDigest(std::string_view text)
      : digest(text),
        // Faster than the hash of a std::string_view.
        hash(absl::Hash<absl::string_view>()(absl::string_view(text.data(), text.size()))) {}
  bool operator==(const HashedDigest& other) const {
    return hash == other.hash && digest == other.digest;
  }
  struct Hash {
    size_t operator()(const HashedDigest& hashed) const { return hashed.hash; }
  };

  std::string_view digest;
  size_t hash;
};

// Thread-safe. Records are immutable and shared; a lock is held only while they are found, for less
// than a microsecond, and no reader waits for a record to be made ready.
class LookupTable {
 public:
  // `here`: what the fields that a key leaves empty stand for; `others`: further devices of this
  // daemon.
  explicit LookupTable(KeyEnvironment here, std::vector<KeyEnvironment> others = {});
  // `environments`: of this daemon's devices, that of the default one first; none: as long as it is
  // unknown, keys without a device are not found.
  explicit LookupTable(std::vector<KeyEnvironment> environments);
  // From now on. Seldom others than before: the old ones are kept, as views of them may be in use.
  // The first may have no fingerprint: then keys without a device are not found.
  void SetEnvironments(std::vector<KeyEnvironment> environments) ABSL_LOCKS_EXCLUDED(mutex_);
  // What requests without a device get as long as the default one is unknown; OK: that devices are
  // being opened.
  void SetNoDefault(Status no_default) ABSL_LOCKS_EXCLUDED(mutex_);
  // Only records of devices with these fingerprints are kept; none: all. Before anything else.
  void ServeOnly(std::vector<std::string> fingerprints);

  // Adds a record or replaces the one with the same key.
  void Put(const v1::TuningRecord& record) { PutSerialized(record.SerializeAsString()); }
  // The same of a serialised v1::TuningRecord, which is copied, to `slab` if there is one.
  void PutSerialized(std::string_view record, SliceSlab* slab = nullptr);
  // Forgets the record with that key, if there is one.
  void Remove(const v1::KernelKey& key);
  // What a change of a record in the store means here.
  void Apply(v1::KernelChangeKind kind, const v1::TuningRecord& record);

  // The best match for `asked`. Of several equally good
  // matches, the fastest. Errors: InvalidArgument without a digest; NotFound with a v1::LookupMiss,
  // saying what there is instead; FailedPrecondition for a device that is not served.
  Result<SerializedReply> Find(const KernelKeyView& asked, v1::MatchKind weakest) const;
  Result<SerializedReply> Find(const v1::KernelKey& asked, v1::MatchKind weakest) const {
    return Find(KernelKeyView::Of(asked), weakest);
  }

  // The record with exactly this key. Errors: NotFound.
  Result<v1::TuningRecord> FindRecord(const v1::KernelKey& key) const;

  // Records of the same computation to start a search from, the most similar first, at most
  // `limit`: the one with this key, other compilers and generators, other sizes, other devices of
  // the kind of `device`, if that is given.
  std::vector<v1::TuningRecord> FindSimilar(const v1::KernelKey& key, size_t limit,
                                            const v1::DeviceDescription& device = {}) const;
  // Of these, those for the same device and numerics policy.
  std::vector<v1::TuningRecord> FindNearest(const v1::KernelKey& key, size_t limit) const;

  // The environment of the default device; empty if that is unknown.
  const KeyEnvironment& environment() const;
  // Larger after every change: what was found before may be found no more.
  int64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  // Of one expression: mostly one.
  using Records = absl::InlinedVector<SerializedRecordPtr, 1>;
  // Keys are digests in the bytes of the first record.
  struct alignas(64) Shard {
    mutable absl::Mutex mutex;
    absl::flat_hash_map<HashedDigest, Records, HashedDigest::Hash> records ABSL_GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 256;

  // The highest bits of the hash: the table of a shard uses the others.
  static size_t ShardNumber(const HashedDigest& digest) {
    return digest.hash >> (8 * sizeof(size_t) - 8);
  }
  Shard& ShardOf(const HashedDigest& digest) { return shards_[ShardNumber(digest)]; }
  const Shard& ShardOf(const HashedDigest& digest) const { return shards_[ShardNumber(digest)]; }
  Records RecordsOf(std::string_view expression_digest) const;
  Status DeviceUnknown() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsServed(std::string_view fingerprint) const {
    return served_.empty() || served_.contains(fingerprint);
  }
  Status NotServed(std::string_view fingerprint) const;
  Status Missing(const KernelKeyView& asked) const;

  using Environments = std::vector<KeyEnvironment>;

  std::set<std::string, std::less<>> served_;  // fingerprints; none: all
  mutable absl::Mutex mutex_;
  Status no_default_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const Environments>> all_environments_ ABSL_GUARDED_BY(mutex_);
  std::atomic<const Environments*> environments_ = nullptr;  // the latest of them
  std::array<Shard, kShards> shards_;
  StructureIndex structures_;
  std::atomic<int64_t> version_ = 0;
};

// How a record that a key accepts differs from it.
std::vector<v1::KeyDifference> Differences(const v1::KernelKey& asked, const v1::KernelKey& found);

}  // namespace mdh
