// Lookups that are answered in the client's process: a framework that dispatches asks for the same
// kernels again and again.
//
//   mdh::LookupCache cache(*client);
//   MDH_ASSIGN_OR_RETURN(const mdh::LookupCache::Entry found, cache.Lookup(key));
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "client/client.h"
#include "core/base/status.h"
#include "mdh/v1/kernel.pb.h"

namespace mdh {

struct LookupCacheOptions {
  // Responses that are kept, about: what was not asked for since half as many others were is
  // forgotten first. Each takes the bytes of its record and as much again.
  size_t max_entries = 16'384;
  // How long responses are used after the daemon was last heard of. While it can be reached it is
  // heard of every 10 s, and at once when something changes.
  int64_t max_silence_ns = 30'000'000'000;
};

// Kept as the daemon has it by the stream of changes (WatchKernels), which goes on where it broke
// off, also after a restart of the daemon; changes that are forgotten by then empty the cache. A
// change is seen here shortly after it was made. Misses are not kept. Thread-safe.
class LookupCache {
 public:
  using Entry = std::shared_ptr<const v1::LookupKernelResponse>;

  // `client` must outlive the cache. One thread follows the changes; until the stream has begun,
  // and after too long a silence, lookups go to the daemon.
  explicit LookupCache(Client& client, const LookupCacheOptions& options = {});
  ~LookupCache();
  LookupCache(const LookupCache&) = delete;
  LookupCache& operator=(const LookupCache&) = delete;

  // The whole key is compared. Errors: as Client::Lookup.
  Result<Entry> Lookup(const v1::KernelKey& key,
                       v1::MatchKind weakest_match = v1::MATCH_KIND_EXACT);

  // Lookups that were answered here, and that were not.
  struct Counts {
    int64_t hits = 0;
    int64_t calls = 0;
  };
  Counts counts() const;

 private:
  struct Kept {
    v1::KernelKey key;
    v1::MatchKind weakest_match;
    Entry entry;
  };
  using KeptPtr = std::shared_ptr<const Kept>;
  struct Asked {
    const v1::KernelKey& key;
    v1::MatchKind weakest_match;
  };
  struct HashOfDigest {
    using is_transparent = void;
    size_t operator()(const Asked& asked) const;
    size_t operator()(const KeptPtr& kept) const;
  };
  struct SameRequest {
    using is_transparent = void;
    bool operator()(const KeptPtr& a, const KeptPtr& b) const;
    bool operator()(const KeptPtr& kept, const Asked& asked) const;
    bool operator()(const Asked& asked, const KeptPtr& kept) const { return (*this)(kept, asked); }
  };
  using Table = absl::flat_hash_set<KeptPtr, HashOfDigest, SameRequest>;
  struct alignas(64) Shard {
    absl::Mutex mutex;
    Table recent ABSL_GUARDED_BY(mutex);
    Table older ABSL_GUARDED_BY(mutex);  // full once, then not asked for
    int64_t changes ABSL_GUARDED_BY(mutex) = 0;
    int64_t hits ABSL_GUARDED_BY(mutex) = 0;
    int64_t calls ABSL_GUARDED_BY(mutex) = 0;
  };
  static constexpr size_t kShards = 16;

  Shard& ShardOf(const std::string& digest);
  // nullptr if it is not kept; then `changes` is how many the shard has seen.
  Entry Find(Shard& shard, const Asked& asked, bool is_fresh, int64_t& changes)
      ABSL_LOCKS_EXCLUDED(shard.mutex);
  void Keep(Shard& shard, KeptPtr kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  bool IsFresh() const;

  // Follows the changes until it is stopped.
  void Follow(const std::stop_token& stop);
  void Apply(const v1::WatchKernelsResponse& changes);
  void Clear();

  Client& client_;
  const LookupCacheOptions options_;
  std::array<Shard, kShards> shards_;
  std::atomic<int64_t> fresh_until_ns_ = 0;  // on the steady clock
  std::jthread follower_;
};

}  // namespace mdh
