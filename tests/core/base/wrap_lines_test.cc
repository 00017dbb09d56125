#include "core/base/wrap_lines.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"

namespace mdh::wrap_lines_test {
namespace {

TEST(WrapLinesTest, BreaksAtTheLastSpaceThatFits) {
  EXPECT_EQ(WrapLines("  speed  1 GFLOP/s, of much\nnext\n", 18, 4),
            "  speed  1\n    GFLOP/s, of\n    much\nnext\n");
  EXPECT_EQ(WrapLines("one two", 7, 2), "one two");
  EXPECT_EQ(WrapLines("L2 i 2 j 3 | RM i 4 k 4", 20, 2), "L2 i 2 j 3 |\n  RM i 4 k 4");
  EXPECT_EQ(WrapLines("", 10, 2), "");
  EXPECT_EQ(WrapLines("a   b", 3, 0), "a\nb");
}

TEST(WrapLinesTest, WordsStayWhole) {
  EXPECT_EQ(WrapLines("  averylongword and more", 8, 2), "  averylongword\n  and\n  more");
  EXPECT_EQ(WrapLines("averylongword", 5, 2), "averylongword");
  EXPECT_EQ(WrapLines("        ", 5, 2), "        ");
}

TEST(WrapLinesTest, EndsWithAnyNumberOfColumns) {
  const std::string text = "  a bb ccc dddd eeeee ffffff \u00e4\u00f6\u00fc  ggg   ";
  for (int columns = -1; columns < 60; ++columns) {
    for (int hang = 0; hang < 20; hang += 5) {
      std::string words;
      for (const absl::string_view word : absl::StrSplit(
               WrapLines(text, columns, hang), absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
        words.append(word.data(), word.size());
      }
      EXPECT_EQ(words, "abbcccddddeeeeeffffff\u00e4\u00f6\u00fcggg") << columns << " " << hang;
    }
  }
}

TEST(WrapLinesTest, TheMiddleOrTheEndIsLeftOut) {
  EXPECT_EQ(ElideMiddle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(ElideMiddle("abcdefghijk", 10), "abcd...ijk");
  EXPECT_EQ(ElideMiddle("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4", 6), "\u00e4\u00f6...\u00e4");
  EXPECT_EQ(ElideMiddle("abcdef", 4), "abcd");
  EXPECT_EQ(ElideMiddle("abc", 0), "");
  EXPECT_EQ(ElideEnd("abcdefghijk", 10), "abcdefg...");
  EXPECT_EQ(ElideEnd("abcdef", 3), "abc");
  EXPECT_EQ(ElideEnd("abc", -1), "");
  EXPECT_EQ(CharactersIn("\u00e4b"), 2);
}

}  // namespace
}  // namespace mdh::wrap_lines_test
