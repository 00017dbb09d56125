#include "client/lookup_cache.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/hash/hash.h"

namespace mdh {
namespace {

// Between two attempts to follow the changes.
constexpr std::chrono::milliseconds kFirstRetryPause(20);
constexpr std::chrono::milliseconds kLongestRetryPause(2'000);

int64_t SteadyNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool IsSameKey(const v1::KernelKey& a, const v1::KernelKey& b) {
  return a.expression_digest() == b.expression_digest() &&
         a.canonical_form() == b.canonical_form() &&
         a.device_fingerprint() == b.device_fingerprint() && a.compiler() == b.compiler() &&
         a.generator_version() == b.generator_version() &&
         a.numerics_policy() == b.numerics_policy();
}

// Waits so long, or until it is stopped.
void Pause(const std::stop_token& stop, std::chrono::milliseconds pause) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, pause, [] { return false; });
}

}  // namespace

size_t LookupCache::HashOfDigest::operator()(const Asked& asked) const {
  return absl::HashOf(asked.key.expression_digest());
}

size_t LookupCache::HashOfDigest::operator()(const KeptPtr& kept) const {
  return absl::HashOf(kept->key.expression_digest());
}

bool LookupCache::SameRequest::operator()(const KeptPtr& a, const KeptPtr& b) const {
  return (*this)(a, Asked{b->key, b->weakest_match});
}

bool LookupCache::SameRequest::operator()(const KeptPtr& kept, const Asked& asked) const {
  return kept->weakest_match == asked.weakest_match && IsSameKey(kept->key, asked.key);
}

LookupCache::LookupCache(Client& client, const LookupCacheOptions& options)
    : client_(client),
      options_(options),
      follower_([this](const std::stop_token& stop) { Follow(stop); }) {}

LookupCache::~LookupCache() {
  follower_.request_stop();
  follower_.join();
}

LookupCache::Shard& LookupCache::ShardOf(const std::string& digest) {
  // The last character: the tables of a shard use the hash.
  return shards_[digest.empty() ? 0 : static_cast<uint8_t>(digest.back()) % kShards];
}

bool LookupCache::IsFresh() const {
  return SteadyNs() < fresh_until_ns_.load(std::memory_order_acquire);
}

LookupCache::Entry LookupCache::Find(Shard& shard, const Asked& asked, bool is_fresh,
                                     int64_t& changes) {
  absl::MutexLock lock(&shard.mutex);
  changes = shard.changes;
  KeptPtr kept;
  if (is_fresh) {
    if (const auto found = shard.recent.find(asked); found != shard.recent.end()) {
      kept = *found;
    } else if (const auto older = shard.older.find(asked); older != shard.older.end()) {
      kept = *older;
      shard.older.erase(older);
      Keep(shard, kept);
    }
  }
  ++(kept != nullptr ? shard.hits : shard.calls);
  return kept != nullptr ? kept->entry : nullptr;
}

void LookupCache::Keep(Shard& shard, KeptPtr kept) {
  if (shard.recent.size() >= std::max<size_t>(options_.max_entries / (2 * kShards), 1)) {
    shard.older = std::exchange(shard.recent, {});
  }
  shard.recent.insert(std::move(kept));
}

Result<LookupCache::Entry> LookupCache::Lookup(const v1::KernelKey& key,
                                               v1::MatchKind weakest_match) {
  Shard& shard = ShardOf(key.expression_digest());
  const bool is_fresh = IsFresh();
  int64_t changes = 0;
  if (Entry entry = Find(shard, {key, weakest_match}, is_fresh, changes)) return entry;
  MDH_ASSIGN_OR_RETURN(v1::LookupKernelResponse response, client_.Lookup(key, weakest_match));
  auto entry = std::make_shared<const v1::LookupKernelResponse>(std::move(response));
  if (!is_fresh) return Entry(std::move(entry));
  auto kept = std::make_shared<const Kept>(Kept{key, weakest_match, entry});
  absl::MutexLock lock(&shard.mutex);
  // A change that came during the call may be one that the response does not know of yet.
  if (shard.changes == changes) Keep(shard, std::move(kept));
  return Entry(std::move(entry));
}

LookupCache::Counts LookupCache::counts() const {
  Counts counts;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(const_cast<absl::Mutex*>(&shard.mutex));
    counts.hits += shard.hits;
    counts.calls += shard.calls;
  }
  return counts;
}

void LookupCache::Clear() {
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mutex);
    ++shard.changes;
    shard.recent.clear();
    shard.older.clear();
  }
}

void LookupCache::Apply(const v1::WatchKernelsResponse& changes) {
  for (const v1::KernelChange& change : changes.changes()) {
    Shard& shard = ShardOf(change.expression_digest());
    const auto is_changed = [&](const KeptPtr& kept) {
      return kept->key.expression_digest() == change.expression_digest();
    };
    absl::MutexLock lock(&shard.mutex);
    ++shard.changes;
    absl::erase_if(shard.recent, is_changed);
    absl::erase_if(shard.older, is_changed);
  }
}

void LookupCache::Follow(const std::stop_token& stop) {
  std::string cursor;
  std::chrono::milliseconds pause = kFirstRetryPause;
  while (!stop.stop_requested()) {
    const auto on_changes = [&](const v1::WatchKernelsResponse& response) {
      // What was kept before the stream began is of unknown age.
      if (cursor.empty()) Clear();
      Apply(response);
      cursor = response.cursor();
      pause = kFirstRetryPause;
      fresh_until_ns_.store(SteadyNs() + options_.max_silence_ns, std::memory_order_release);
      return !stop.stop_requested();
    };
    const Status end = client_.WatchKernels(cursor, on_changes, stop);
    if (absl::IsOutOfRange(end)) {
      // Until the stream has begun anew, nobody knows what has changed.
      fresh_until_ns_.store(0, std::memory_order_release);
      cursor.clear();
      Clear();
    }
    Pause(stop, pause);
    pause = std::min(2 * pause, kLongestRetryPause);
  }
}

}  // namespace mdh
