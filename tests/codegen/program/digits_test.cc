// Numbers taken apart, one digit after the other or any of them alone.
#include "codegen/program/digits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace mdh::digits_test {
namespace {

TEST(Digits, AreTheSameOneByOneAndAlone) {
  constexpr int64_t kCount = 3 * 1 * 4 * 2;
  for (int64_t number = 0; number < kCount; ++number) {
    Digits digits(Index(number), kCount);
    int64_t inside = 1, sum = 0;
    for (const int64_t values : {3, 1, 4, 2}) {
      const Index alone = DigitAt(Index(number), inside, values, kCount);
      EXPECT_EQ(digits.Next(values), alone) << number;
      EXPECT_LT(alone.constant(), values);
      sum += alone.constant() * inside;
      inside *= values;
    }
    EXPECT_EQ(sum, number);
  }
}

TEST(Digits, LastNeedsNoRemainderAndOneValueNoDivision) {
  const Index number = Index::Variable("n");
  EXPECT_EQ(DigitAt(number, 1, 4, 12).ToString(), "n % 4");
  EXPECT_EQ(DigitAt(number, 4, 3, 12).ToString(), "n / 4");
  EXPECT_EQ(DigitAt(number, 2, 2, 12).ToString(), "n / 2 % 2");
  EXPECT_EQ(DigitAt(number, 4, 1, 12).ToString(), "0");
}

TEST(Digits, FoldedNumbersAreAllOfThemFromBothEnds) {
  const auto folded = [](int64_t count) {
    std::vector<int64_t> numbers;
    for (int64_t n = 0; n < count; ++n) numbers.push_back(Folded(Index(n), count).constant());
    return numbers;
  };
  EXPECT_THAT(folded(1), testing::ElementsAre(0));
  EXPECT_THAT(folded(2), testing::ElementsAre(0, 1));
  EXPECT_THAT(folded(5), testing::ElementsAre(0, 4, 1, 3, 2));
  EXPECT_THAT(folded(6), testing::ElementsAre(0, 5, 1, 4, 2, 3));
  EXPECT_EQ(Folded(Index::Variable("n"), 6).ToString(),
            "mdh_min(n / 2 + n % 2 * 6, 11 - n / 2 - n % 2 * 6)");
}

}  // namespace
}  // namespace mdh::digits_test
