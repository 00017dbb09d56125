#include "tuner/measure/trial/cache_eviction.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tuner/process/clock.h"

namespace mdh::cache_eviction_test {
namespace {

constexpr size_t kStep = 1024;  // farther than neighbours that come along with a line

// Elements `kStep` bytes apart, each with the index of the next, in an order that no processor
// foresees: one access after another.
class Chain {
 public:
  explicit Chain(size_t elements) : memory_(elements * kStep / sizeof(uint32_t)) {
    std::vector<uint32_t> order(elements);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
    for (size_t i = 0; i < elements; ++i) {
      memory_[Place(order[i])] = static_cast<uint32_t>(Place(order[(i + 1) % elements]));
    }
  }

  absl::Span<const std::byte> memory() const {
    return {reinterpret_cast<const std::byte*>(memory_.data()), memory_.size() * sizeof(uint32_t)};
  }

  // Nanoseconds.
  int64_t Walk() const {
    const int64_t start = NowNs();
    size_t steps = 0;
    for (uint32_t at = 0; steps == 0 || at != 0; ++steps) at = memory_[at];
    const int64_t end = NowNs();
    EXPECT_EQ(steps * kStep, memory().size());
    return end - start;
  }

 private:
  static size_t Place(uint32_t element) { return element * (kStep / sizeof(uint32_t)); }

  std::vector<uint32_t> memory_;
};

TEST(CacheEviction, DataIsReadFromMemoryAfterwards) {
  const Chain chain(100);
  Result<CacheEviction> eviction = CacheEviction::Of({chain.memory()});
  ASSERT_TRUE(eviction.ok()) << eviction.status();
  int64_t warm = INT64_MAX;
  int64_t cold = INT64_MAX;
  for (int round = 0; round < 20; ++round) {
    chain.Walk();
    warm = std::min(warm, chain.Walk());
    eviction->Evict();
    cold = std::min(cold, chain.Walk());
  }
  EXPECT_GT(cold, 2 * warm);
}

TEST(CacheEviction, NothingIsLost) {
  std::vector<std::byte> data(1001);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  const std::vector<std::byte> before = data;
  // From the middle of a line to the middle of another.
  const absl::Span<const std::byte> part = absl::MakeConstSpan(data).subspan(3, 701);
  Result<CacheEviction> eviction = CacheEviction::Of({part, {}});
  ASSERT_TRUE(eviction.ok()) << eviction.status();
  eviction->Evict();
  EXPECT_EQ(data, before);
  CacheEviction of_nothing;
  of_nothing.Evict();
}

}  // namespace
}  // namespace mdh::cache_eviction_test
