// Which elements neighbouring threads copy where rows become columns.
#include <gtest/gtest.h>

#include "core/device/warp_accesses.h"

namespace mdh::transposed_run_test {
namespace {

TEST(TransposedRun, IsASectorOfRowsThatHaveSeveral) {
  EXPECT_EQ(TransposedRun(64, 64, 4, 512), 8);
  EXPECT_EQ(TransposedRun(16, 64, 4, 128), 8);
  EXPECT_EQ(TransposedRun(64, 64, 2, 128), 16);
  EXPECT_EQ(TransposedRun(64, 64, 8, 128), 4);
}

TEST(TransposedRun, IsARowThatIsNoLongerOrNoMultiple) {
  EXPECT_EQ(TransposedRun(8, 64, 4, 128), 8);
  EXPECT_EQ(TransposedRun(5, 64, 4, 128), 5);
  EXPECT_EQ(TransposedRun(12, 64, 4, 128), 12);
  EXPECT_EQ(TransposedRun(64, 64, 64, 128), 64) << "one element is more than a sector";
}

TEST(TransposedRun, IsARowWherePlacesOfRoundsWouldNotBeConstantsApart) {
  EXPECT_EQ(TransposedRun(16, 72, 4, 128), 16) << "576 elements before the next run";
  EXPECT_EQ(TransposedRun(16, 72, 4, 64), 8);
  EXPECT_EQ(TransposedRun(16, 8, 4, 128), 8) << "two runs at once";
  EXPECT_EQ(TransposedRun(16, 64, 4, 4), 16) << "fewer threads than elements of a run";
}

}  // namespace
}  // namespace mdh::transposed_run_test
