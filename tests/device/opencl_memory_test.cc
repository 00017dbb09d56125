#include "tuner/device/opencl/opencl_memory.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::opencl_memory_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(OpenClMemory, CommandsComeInPieces) {
  std::vector<std::pair<int64_t, int64_t>> pieces;
  const auto record = [&](int64_t begin, int64_t size) {
    pieces.emplace_back(begin, size);
    return size == 3 ? absl::InternalError("three") : absl::OkStatus();
  };
  EXPECT_TRUE(InPieces(0, 4, record).ok());
  EXPECT_THAT(pieces, IsEmpty());
  EXPECT_TRUE(InPieces(10, 4, record).ok());
  EXPECT_THAT(pieces, ElementsAre(Pair(0, 4), Pair(4, 4), Pair(8, 2)));
  pieces.clear();
  EXPECT_TRUE(InPieces(4, 4, record).ok());
  EXPECT_THAT(pieces, ElementsAre(Pair(0, 4)));
  pieces.clear();
  EXPECT_EQ(InPieces(5, 3, record).message(), "three");
  EXPECT_THAT(pieces, ElementsAre(Pair(0, 3)));
}

}  // namespace
}  // namespace mdh::opencl_memory_test
