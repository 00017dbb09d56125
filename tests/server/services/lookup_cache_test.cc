#include "client/lookup_cache.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace mdh::lookup_cache_test {
namespace {

class LookupCacheTest : public ServiceTest {
 protected:
  static bool Soon(const std::function<bool()>& holds) {
    for (int n = 0; n < 1'000; ++n) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // Whether a lookup is answered without a call, soon.
  static bool IsKept(LookupCache& cache, const v1::KernelKey& key) {
    return Soon([&] {
      const int64_t before = cache.counts().hits;
      return cache.Lookup(key).ok() && cache.counts().hits == before + 1;
    });
  }
  static int64_t TimeOf(LookupCache& cache, const v1::KernelKey& key) {
    const Result<LookupCache::Entry> found = cache.Lookup(key);
    return found.ok() ? (*found)->record().time_ns() : 0;
  }
  const v1::KernelKey key_ = Client::KeyOf(MatMulExpression(64, 64, 64));
};

TEST_F(LookupCacheTest, WhatWasFoundIsKeptUntilItChanges) {
  Put(64, 1'000'000);
  LookupCache cache(*client_);
  ASSERT_TRUE(IsKept(cache, key_));
  EXPECT_EQ(TimeOf(cache, key_), 1'000'000);
  Put(32, 900'000);
  Put(64, 500'000);
  EXPECT_TRUE(Soon([&] { return TimeOf(cache, key_) == 500'000; }));
  ASSERT_TRUE(IsKept(cache, key_));
  ASSERT_TRUE(admin_client_->Invalidate(cache.Lookup(key_).value()->record().name()).ok());
  EXPECT_TRUE(Soon([&] { return absl::IsNotFound(cache.Lookup(key_).status()); }));
}

TEST_F(LookupCacheTest, KeysThatDifferAnywhereAreDifferent) {
  Put(64, 1'000'000);
  LookupCache cache(*client_);
  ASSERT_TRUE(IsKept(cache, key_));
  v1::KernelKey forged = key_;
  forged.set_canonical_form("another");
  EXPECT_EQ(cache.Lookup(forged).status().code(), absl::StatusCode::kNotFound);
  v1::KernelKey older = key_;
  older.set_generator_version(1);
  EXPECT_EQ(cache.Lookup(older).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*cache.Lookup(older, v1::MATCH_KIND_COMPATIBLE))->match(), v1::MATCH_KIND_COMPATIBLE);
}

TEST_F(LookupCacheTest, MissesAreAskedAgain) {
  LookupCache cache(*client_);
  EXPECT_EQ(cache.Lookup(key_).status().code(), absl::StatusCode::kNotFound);
  Put(64, 1'000'000);
  EXPECT_EQ(TimeOf(cache, key_), 1'000'000);
}

TEST_F(LookupCacheTest, ARestartedServerIsFollowedFromWhereItBrokeOff) {
  Put(64, 1'000'000);
  LookupCache cache(*client_);
  ASSERT_TRUE(IsKept(cache, key_));
  StopServer(absl::Milliseconds(100));
  // The daemon is silent, but not for long.
  EXPECT_EQ(TimeOf(cache, key_), 1'000'000);
  const v1::TuningRecord better = RecordFor(64, 500'000);
  v1::TuningRecord record = *table_.FindRecord(better.key());
  record.set_time_ns(500'000);
  ASSERT_TRUE(store_->PutResult(record, v1::Kernel()).ok());
  EXPECT_EQ(TimeOf(cache, key_), 1'000'000);
  StartServer();
  EXPECT_TRUE(Soon([&] { return TimeOf(cache, key_) == 500'000; }));
  EXPECT_TRUE(IsKept(cache, key_));
}

TEST_F(LookupCacheTest, AfterTooLongASilenceTheDaemonIsAsked) {
  Put(64, 1'000'000);
  LookupCache cache(*client_, {.max_silence_ns = 300'000'000});
  ASSERT_TRUE(IsKept(cache, key_));
  StopServer(absl::Milliseconds(100));
  EXPECT_TRUE(Soon([&] { return absl::IsUnavailable(cache.Lookup(key_).status()); }));
  StartServer();
  EXPECT_TRUE(Soon([&] { return TimeOf(cache, key_) == 1'000'000; }));
}

TEST_F(LookupCacheTest, ItIsBounded) {
  LookupCache cache(*client_, {.max_entries = 32});
  std::vector<v1::KernelKey> keys;
  for (const int64_t size : {16, 24, 32, 40, 48, 56, 64, 72}) {
    Put(size, 1'000'000);
    keys.push_back(Client::KeyOf(MatMulExpression(size, size, size)));
  }
  ASSERT_TRUE(IsKept(cache, keys.front()));
  for (int round = 0; round < 20; ++round) {
    for (const v1::KernelKey& key : keys) EXPECT_EQ(TimeOf(cache, key), 1'000'000);
  }
}

TEST_F(LookupCacheTest, ManyReadersAndAWriter) {
  Put(64, 1'000'000);
  LookupCache cache(*client_);
  ASSERT_TRUE(IsKept(cache, key_));
  std::vector<std::thread> readers;
  for (int n = 0; n < 4; ++n) {
    readers.emplace_back([&] {
      for (int call = 0; call < 5'000; ++call) EXPECT_NE(TimeOf(cache, key_), 0);
    });
  }
  for (int64_t time_ns = 900'000; time_ns > 800'000; time_ns -= 10'000) Put(64, time_ns);
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(Soon([&] { return TimeOf(cache, key_) == 810'000; }));
}

}  // namespace
}  // namespace mdh::lookup_cache_test
