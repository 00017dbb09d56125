#include "codegen/program/index.h"

#include <gtest/gtest.h>

namespace mdh::index_test {
namespace {

const Index i = Index::Variable("i");
const Index k = Index::Variable("k");

TEST(IndexTest, FoldsConstants) {
  EXPECT_EQ((Index(2) + Index(3)).ToString(), "5");
  EXPECT_EQ((i * 0 + Index(7)).ToString(), "7");
  EXPECT_EQ((i * 1 + Index(0)).ToString(), "i");
  EXPECT_EQ((i - i).ToString(), "0");
  EXPECT_EQ(Min(Index(4), Index(3)).ToString(), "3");
  EXPECT_EQ((Index(7) / 2).ToString(), "3");
  EXPECT_EQ((i % 1).ToString(), "0");
}

TEST(IndexTest, PutsConstantsLastAndWritesNegativeOnesAsDifferences) {
  EXPECT_EQ((Index(3) + i).ToString(), "i + 3");
  EXPECT_EQ((i + Index(-3)).ToString(), "i - 3");
}

TEST(IndexTest, ParenthesesFollowPrecedence) {
  EXPECT_EQ(((i + k) * 4).ToString(), "(i + k) * 4");
  EXPECT_EQ((i * 4 + k).ToString(), "i * 4 + k");
  EXPECT_EQ((i - (k - Index(1))).ToString(), "i - (k - 1)");
  EXPECT_EQ(((i / 3) % 5).ToString(), "i / 3 % 5");
  EXPECT_EQ(((i + Index(1)) / 3).ToString(), "(i + 1) / 3");
  EXPECT_EQ(Min(i + Index(16), k).ToString(), "mdh_min(i + 16, k)");
}

TEST(IndexTest, EqualUpToParenthesesInSums) {
  const Index j = Index::Variable("j");
  EXPECT_EQ(i + (j + (k + Index(1))), ((i + j) + k) + Index(1));
  EXPECT_EQ((i + j) + (k + Index(1)), i + (j + (k + Index(1))));
  EXPECT_FALSE(i + j == j + i);
  EXPECT_FALSE(i - j == i + j);
  EXPECT_FALSE(i * 2 == i * 3);
  EXPECT_FALSE(i == k);
  EXPECT_EQ(Min(i, k) % 3, Min(i, k) % 3);
}

TEST(IndexTest, SumsDistributeFactorsAndCancel) {
  EXPECT_EQ(((i + k * 2 - Index(3)) * 4 + k).Sum().ToIndex().ToString(), "i * 4 + k * 9 - 12");
  EXPECT_EQ((i - (k + i)).Sum().ToIndex().ToString(), "k * (-1)");
  EXPECT_EQ((k - i * 3).Sum().ToIndex().ToString(), "k - i * 3");
  EXPECT_EQ(((i + Index(1)) / 3 * 3 - i).Sum().ToIndex().ToString(), "(i + 1) / 3 * 3 - i");
  EXPECT_EQ((i - i * 1).Sum().constant, 0);
}

TEST(IndexTest, DifferencesThatNoVariableChanges) {
  EXPECT_EQ(ConstantDifference(i * 4 + Index(7), i * 4 + Index(3)), 4);
  EXPECT_EQ(ConstantDifference((i + k) * 4, k * 4 + i * 4), 0);
  EXPECT_EQ(ConstantDifference(i * 4, i * 3), std::nullopt);
}

TEST(IndexTest, ReplacesAndFolds) {
  EXPECT_EQ((i * 4 + k).Replace("i", Index(0)).ToString(), "k");
  EXPECT_EQ(Min(i + Index(16), k).Replace("k", Index(3) + i).ToString(), "mdh_min(i + 16, i + 3)");
  EXPECT_EQ((((i + Index(5)) / 2) % 4 - k).Replace("i", Index(6)).ToString(), "1 - k");
  const Index unchanged = i * 4 + Index(1);
  EXPECT_TRUE(unchanged.Replace("k", i).IsSame(unchanged));
}

TEST(IndexTest, KnowsItsVariables) {
  const Index index = Min(i / 3, Index(7)) * 2;
  EXPECT_TRUE(index.Uses("i"));
  EXPECT_FALSE(index.Uses("k"));
}

}  // namespace
}  // namespace mdh::index_test
