#include "server/lookup/reply_cache.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/lookup/lookup_workers.h"

namespace mdh::reply_cache_test {
namespace {

Result<SerializedReply> Reply(v1::MatchKind match) {
  v1::LookupKernelResponse response;
  response.set_match(match);
  return SerializedReply(response);
}

TEST(ReplyCache, KnowsTheSameBytesOfTheSameVersion) {
  ReplyCache cache(1'000);
  cache.Put("a", Reply(v1::MATCH_KIND_EXACT), 7);
  cache.Put("b", absl::NotFoundError("none"), 7);
  ASSERT_TRUE(cache.Find("a", 7).has_value());
  EXPECT_TRUE(cache.Find("a", 7)->ok());
  EXPECT_TRUE(absl::IsNotFound(cache.Find("b", 7)->status()));
  EXPECT_FALSE(cache.Find("ab", 7).has_value());
  EXPECT_FALSE(cache.Find("a", 8).has_value());
  EXPECT_FALSE(cache.Find("a", 7).has_value());
}

TEST(ReplyCache, ForgetsWhatIsNotAskedFor) {
  ReplyCache cache(10);
  const std::string often(5, 'o');
  cache.Put(often, Reply(v1::MATCH_KIND_EXACT), 1);
  cache.Put("other", Reply(v1::MATCH_KIND_EXACT), 1);
  for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
    cache.Put(std::string(5, letter), Reply(v1::MATCH_KIND_EXACT), 1);
    EXPECT_TRUE(cache.Find(often, 1).has_value());
  }
  EXPECT_FALSE(cache.Find("other", 1).has_value());
  cache.Put(std::string(11, 'x'), Reply(v1::MATCH_KIND_EXACT), 1);
  EXPECT_FALSE(cache.Find(std::string(11, 'x'), 1).has_value());
}

TEST(LookupWorkers, DoWhatWasTakenAndRefuseTheRest) {
  std::atomic<int> done = 0;
  int taken = 0;
  {
    LookupWorkers workers(1, 2);
    absl::Notification begun;
    absl::Notification release;
    ASSERT_TRUE(workers.Submit([&] {
      begun.Notify();
      release.WaitForNotification();
      ++done;
    }));
    begun.WaitForNotification();
    for (int n = 0; n < 5; ++n) taken += workers.Submit([&] { ++done; });
    release.Notify();
    workers.Stop();
    EXPECT_FALSE(workers.Submit([&] { ++done; }));
  }
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace mdh::reply_cache_test
