#include "codegen/program/index_range.h"

#include <gtest/gtest.h>

namespace mdh::index_range_test {
namespace {

const Index i = Index::Variable("i");  // 0..7
const Index t = Index::Variable("t");  // 0..31
const Index n = Index::Variable("n");  // anything
const IndexRanges kRanges = {{"i", {0, 7}}, {"t", {0, 31}}};

std::string SimplifiedText(const Index& index) { return Simplified(index, kRanges).ToString(); }

TEST(IndexRangeTest, Sums) {
  EXPECT_EQ(RangeOf(i * 4 - t + Index(1), kRanges), (IndexRange{-30, 29}));
  EXPECT_EQ(RangeOf(i - i, kRanges), (IndexRange{0, 0}));
  EXPECT_EQ(RangeOf(n + i, kRanges), std::nullopt);
  EXPECT_EQ(RangeOf(n - n, kRanges), (IndexRange{0, 0}));
}

TEST(IndexRangeTest, QuotientsRemaindersAndMinima) {
  EXPECT_EQ(RangeOf(t / 8, kRanges), (IndexRange{0, 3}));
  EXPECT_EQ(RangeOf(n % 8, kRanges), (IndexRange{0, 7}));
  EXPECT_EQ(RangeOf((i + Index(1)) % 16, kRanges), (IndexRange{1, 8}));
  EXPECT_EQ(RangeOf(Min(i, t - Index(3)), kRanges), (IndexRange{-3, 7}));
}

TEST(IndexRangeTest, OverflowIsNoRange) {
  EXPECT_EQ(RangeOf(t * (int64_t{1} << 60), kRanges), std::nullopt);
}

TEST(IndexRangeTest, QuotientsThatRangesDecide) {
  EXPECT_EQ(SimplifiedText(t / 32), "0");
  EXPECT_EQ(SimplifiedText((n * 32 + t) / 32), "n");
  EXPECT_EQ(SimplifiedText((n * 64 + t + Index(40)) / 32), "n * 2 + 1 + (t + 8) / 32");
  EXPECT_EQ(SimplifiedText((n + t) / 32), "(n + t) / 32");
  EXPECT_EQ(SimplifiedText((t - Index(1)) / 32), "(t - 1) / 32");
}

TEST(IndexRangeTest, WhatDecidesABound) {
  const auto text = [](const Index& index, int64_t bound) {
    return WithoutRest(index, bound, kRanges).ToString();
  };
  EXPECT_EQ(text(n * 8 + i, 1000), "n * 8");
  EXPECT_EQ(text(n * 128 + t * 8 + i, 1000), "(n * 16 + t) * 8");
  EXPECT_EQ(text(n * 16 + i + Index(8), 48), "n * 16");
  EXPECT_EQ(text(n * 8 + i, 1001), "n * 8 + i");
  EXPECT_EQ(text(n * 8 + i + Index(1), 1000), "n * 8 + i + 1");
  EXPECT_EQ(text(n * 8 + Index::Variable("m"), 1000), "n * 8 + m");  // m can be anything
}

TEST(IndexRangeTest, RemaindersThatRangesDecide) {
  EXPECT_EQ(SimplifiedText(t % 32), "t");
  EXPECT_EQ(SimplifiedText((n * 32 + t) % 32), "t");
  EXPECT_EQ(SimplifiedText((n * 32 + t) % 16), "t % 16");
  EXPECT_EQ(SimplifiedText(t % 16), "t % 16");
}

TEST(IndexRangeTest, MinimaThatRangesDecide) {
  EXPECT_EQ(SimplifiedText(Min(n + i, n + Index(7))), "n + i");
  EXPECT_EQ(SimplifiedText(Min(n + Index(8), n + i)), "n + i");
  EXPECT_EQ(SimplifiedText(Min(t, i)), "mdh_min(t, i)");
}

TEST(IndexRangeTest, VariablesOfOneValueAreConstants) {
  EXPECT_EQ(Simplified(i * 4 + n, {{"n", {3, 3}}}).ToString(), "i * 4 + 3");
}

// All small dividends: the simplified form has the value of the original.
TEST(IndexRangeTest, SimplifiedIndicesKeepTheirValues) {
  for (int64_t a : {1, 4, 6, 8, 12}) {
    for (int64_t c : {0, 3, 8}) {
      for (int64_t d : {2, 4, 8, 12}) {
        const Index dividend = n * a + i + Index(c);
        for (int64_t x = 0; x < 4; ++x) {
          for (int64_t y = 0; y < 8; ++y) {
            const auto at = [&](const Index& index) {
              return Simplified(index, kRanges).Replace("n", Index(x)).Replace("i", Index(y));
            };
            EXPECT_EQ(at(dividend / d).constant(), (x * a + y + c) / d) << dividend.ToString();
            EXPECT_EQ(at(dividend % d).constant(), (x * a + y + c) % d) << dividend.ToString();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mdh::index_range_test
