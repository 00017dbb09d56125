#include "tests/bounds/unrolled_lines.h"

#include <gtest/gtest.h>

namespace mdh::unrolled_lines_test {
namespace {

TEST(UnrolledLines, LinesOfUnrolledLoopsCountForEveryIteration) {
  EXPECT_EQ(UnrolledLines(R"(
// Every block computes its part.
void f() {
  #pragma unroll
  for (int i = 0; i < 64; i++) {
    a[i] = b[i];
  }
})"),
            1 + 64 + 64 + 1 + 1);
}

TEST(UnrolledLines, LoopsInsideOfLoopsMultiply) {
  EXPECT_EQ(UnrolledLines(R"(
#pragma unroll
for (int i = 0; i < 8; i += 4) {
  #pragma unroll 3
  for (int j = 1; j < 4; j++) {
    x;
  }
  y;
})"),
            2 + 2 * 3 + 2 * 3 + 2 + 2 + 1);
}

TEST(UnrolledLines, OtherLoopsCountOnce) {
  EXPECT_EQ(UnrolledLines("for (int i = 0; i < 64; i++) {\n  x;\n}\n"), 3);
  EXPECT_EQ(UnrolledLines("#pragma unroll\nfor (int i = 0; i < n; i++) {\n  x;\n}\n"), 3);
  EXPECT_EQ(UnrolledLines(""), 0);
}

}  // namespace
}  // namespace mdh::unrolled_lines_test
