#include "tuner/space/constraints/integer_bounds.h"

#include <gtest/gtest.h>

namespace mdh::integer_bounds_test {
namespace {

TEST(IntegerBounds, PowersThatLeaveTheirTypeAreTheLimitOfTheirSign) {
  uint8_t can = 0;
  EXPECT_EQ(SaturatingPower(-2, 63, can), kLeastInteger);
  EXPECT_EQ(SaturatingPower(-3, 3, can), -27);
  EXPECT_EQ(can, 0);
  for (const int64_t base : {int64_t{-2}, int64_t{-3}, int64_t{-10}, kLeastInteger}) {
    for (const int64_t exponent : {64, 65, 100, 101}) {
      can = 0;
      EXPECT_EQ(SaturatingPower(base, exponent, can),
                exponent % 2 == 0 ? kGreatestInteger : kLeastInteger)
          << base << " ** " << exponent;
      EXPECT_EQ(can, kCanOverflow);
    }
  }
  can = 0;
  EXPECT_EQ(SaturatingPower(10, 40, can), kGreatestInteger);
  EXPECT_EQ(can, kCanOverflow);
}

}  // namespace
}  // namespace mdh::integer_bounds_test
