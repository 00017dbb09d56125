// What points of a thread read of stencils.
#include "codegen/choose/counting/fragment_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"

namespace mdh::fragment_table_test {
namespace {

// Of one input, with these accesses.
Buffer Read(const std::string& accesses, const std::string& dimensions = "8,8,8",
            const std::string& indices = "i,j,k", int reads = 1) {
  std::string parameters, sum, kept;
  for (int n = 0; n < reads; ++n) {
    absl::StrAppend(&parameters, n == 0 ? "" : ", ", "p", n);
    absl::StrAppend(&sum, n == 0 ? "" : " + ", "p", n);
  }
  for (const char c : indices) {
    if (c == ',') absl::StrAppend(&kept, ", ++");
  }
  const auto parsed = ParseExpression(
      absl::StrCat("e := out_view<fp32>( y: (", indices, ") -> (", indices, ") ) o md_hom<",
                   dimensions, ">( f, (++", kept, ") ) o inp_view<fp32>( x: ", accesses,
                   " ) where f(", parameters, ") -> y { y = ", sum, " }"));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->inputs()[0];
}

Buffer Star() {
  return Read(
      "(i,j,k) -> (i+1,j+1,k), (i,j,k) -> (i+1,j+1,k+2), (i,j,k) -> (i+1,j,k+1), (i,j,k) -> "
      "(i+1,j+2,k+1), (i,j,k) -> (i,j+1,k+1), (i,j,k) -> (i+2,j+1,k+1), (i,j,k) -> (i+1,j+1,k+1)",
      "8,8,8", "i,j,k", 7);
}

TEST(FragmentTable, WhatPointsOfAStarHaveInCommonIsCountedOnce) {
  const FragmentTable star(Star());
  const auto count = [&](std::vector<int64_t> points) { return *star.Elements(points); };
  EXPECT_EQ(count({1, 1, 1}), 7);
  EXPECT_EQ(count({4, 1, 1}), 6 + 4 * 4);
  EXPECT_EQ(count({4, 4, 1}), 16 + 4 * 4 + 2 * 16);
  EXPECT_EQ(count({2, 2, 2}), 8 + 6 * 4);
}

TEST(FragmentTable, CountsAreThoseOfASet) {
  const Buffer read =
      Read("(i,j) -> (2*i+j,j+3), (i,j) -> (2*i+j+1,j), (i,j) -> (2*i+j+5,j+1)", "9,9", "i,j", 3);
  const FragmentTable table(read);
  for (const int64_t i : {1, 2, 4, 8, 16}) {
    for (const int64_t j : {1, 2, 4}) {
      std::set<std::pair<int64_t, int64_t>> elements;
      for (int64_t a = 0; a < i; ++a) {
        for (int64_t b = 0; b < j; ++b) {
          elements.insert({2 * a + b, b + 3});
          elements.insert({2 * a + b + 1, b});
          elements.insert({2 * a + b + 5, b + 1});
        }
      }
      EXPECT_EQ(table.Elements({i, j}), static_cast<double>(elements.size())) << i << " " << j;
    }
  }
}

TEST(FragmentTable, OthersAreNotCounted) {
  EXPECT_FALSE(FragmentTable().Elements({1, 1, 1}).has_value());
  const FragmentTable star(Star());
  EXPECT_FALSE(star.Elements({3, 1, 1}).has_value());
  EXPECT_FALSE(star.Elements({32, 1, 1}).has_value());
  EXPECT_FALSE(star.Elements({8, 8, 2}).has_value());
  const auto is_counted = [](const Buffer& read, std::vector<int64_t> points) {
    return FragmentTable(read).Elements(points).has_value();
  };
  EXPECT_FALSE(is_counted(Read("(i) -> (i)", "8", "i"), {1}));
  EXPECT_FALSE(is_counted(Read("(i) -> (i), (i) -> (2*i)", "8", "i", 2), {1}));
  EXPECT_FALSE(is_counted(Read("(i) -> (7-i), (i) -> (8-i)", "8", "i", 2), {1}));
  EXPECT_FALSE(is_counted(Read("(i) -> (3), (i) -> (4)", "8", "i", 2), {1}));
  EXPECT_FALSE(is_counted(Read("(i) -> (i), (i) -> (i+5000)", "8", "i", 2), {1}));
  EXPECT_FALSE(is_counted(Read("(i,j) -> (i,j), (i,j) -> (i+100,j+100)", "8,8", "i,j", 2), {1, 1}));
  EXPECT_FALSE(
      is_counted(Read("(h,i,j,k) -> (h,i,j,k), (h,i,j,k) -> (h,i,j,k+1)", "8,8,8,8", "h,i,j,k", 2),
                 {1, 1, 1, 1}));
}

}  // namespace
}  // namespace mdh::fragment_table_test
