#include "codegen/index.h"

#include <gtest/gtest.h>

namespace mdh {
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

}  // namespace
}  // namespace mdh
