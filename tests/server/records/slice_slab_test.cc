#include "server/records/slice_slab.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace mdh::slice_slab_test {
namespace {

grpc::Slice SliceOf(SliceSlab& slab, const std::string& text) {
  return slab.Make(text.size(), [&](uint8_t* to) { std::copy(text.begin(), text.end(), to); });
}

std::string TextOf(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

TEST(SliceSlabTest, SlicesOfAnySizeHoldWhatWasWritten) {
  SliceSlab slab;
  std::mt19937 rng(1);
  std::vector<std::pair<std::string, grpc::Slice>> slices;
  for (int n = 0; n < 3000; ++n) {
    const size_t size = n % 100 == 0 ? SliceSlab::kChunkBytes / 4 : rng() % (n % 2 ? 40 : 9000);
    std::string text(size, static_cast<char>('a' + n % 26));
    slices.emplace_back(text, SliceOf(slab, text));
  }
  for (const auto& [text, slice] : slices) EXPECT_EQ(TextOf(slice), text);
}

TEST(SliceSlabTest, SlicesOutliveTheSlabAndAreDroppedByAnyThread) {
  std::vector<grpc::Slice> slices;
  {
    SliceSlab slab;
    for (int n = 0; n < 2000; ++n) slices.push_back(SliceOf(slab, std::string(3000, 'x')));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&slices, t] {
      for (size_t n = t; n < slices.size(); n += 4) {
        EXPECT_EQ(TextOf(slices[n]), std::string(3000, 'x'));
        slices[n] = grpc::Slice();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SliceSlabTest, SmallSlicesShareAChunk) {
  SliceSlab slab;
  const grpc::Slice first = SliceOf(slab, std::string(1000, 'a'));
  const grpc::Slice second = SliceOf(slab, std::string(1000, 'b'));
  EXPECT_EQ(first.end(), second.begin());
}

}  // namespace
}  // namespace mdh::slice_slab_test
