#include "codegen/backends/chunk_bounds.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::chunk_bounds_test {
namespace {

using ::testing::ElementsAre;

// Of heads, batches and queries i: keys j up to i; from i on; and those that a window before i has.
const std::vector<StreamBound> kUpTo = {{{0, 0, 1}, -1, 0}};
const std::vector<StreamBound> kFrom = {{{0, 0, -1}, 1, 0}};
const std::vector<StreamBound> kWindow = {{{0, 0, 1}, -1, 0}, {{0, 0, -1}, 1, 64}};

TEST(ChunkBounds, PartsBehindOthersNeedMoreUnlessAWindowMovesAlong) {
  EXPECT_TRUE(NeedMoreBehind(kUpTo, 2));
  EXPECT_FALSE(NeedMoreBehind(kUpTo, 1));
  EXPECT_FALSE(NeedMoreBehind(kUpTo, 3));
  EXPECT_FALSE(NeedMoreBehind(kFrom, 2));
  EXPECT_FALSE(NeedMoreBehind(kWindow, 2));
}

TEST(ChunkBounds, DimensionsAlongWhichPartsDifferVarySlowest) {
  EXPECT_THAT(LongestFirst({0, 1, 2}, kUpTo), ElementsAre(2, 0, 1));
  EXPECT_THAT(LongestFirst({0, 1, 2}, kFrom), ElementsAre(2, 0, 1));
  EXPECT_THAT(LongestFirst({0, 1, 2}, kWindow), ElementsAre(0, 1, 2));
  EXPECT_THAT(LongestFirst({0, 1, 2}, {}), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace mdh::chunk_bounds_test
