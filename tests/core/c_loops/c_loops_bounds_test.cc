// Loops with bounds, starts and steps compute what the loops of C compute.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/expression/interpreter.h"
#include "tests/core/c_loops/c_loops_text.h"
#include "tests/core/expect_same.h"

namespace mdh::c_loops_bounds_test {
namespace {

// The results of loops over x[i][j] = 10 * i + j + 1, of 5 x 7 elements, into y.
std::vector<int> ResultsOf(const std::string& output, const std::string& loops) {
  const Result<Expression> expression =
      ParseLoops(InFunction(absl::StrCat("const int x[5][7], int ", output), loops));
  EXPECT_TRUE(expression.ok()) << expression.status();
  if (!expression.ok()) return {};
  ExpectPrintsBack(*expression);
  std::vector<int> x;
  for (int n = 0; n < 35; ++n) x.push_back(n / 7 * 10 + n % 7 + 1);
  BufferBytes bytes(x.size() * sizeof(int));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const auto results = Interpret(*expression, {bytes});
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<int> y((*results)[0].size() / sizeof(int));
  std::memcpy(y.data(), (*results)[0].data(), (*results)[0].size());
  return y;
}

int X(int i, int j) { return 10 * i + j + 1; }

TEST(CLoopsBoundsTest, BoundsThatDependOnOuterLoopsAreConditions) {
  std::vector<int> sums(5), largest(5, INT32_MIN), below(35);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j <= i; ++j) sums[i] += X(i, j);
    for (int j = i + 1; j < 7 - i; ++j) largest[i] = std::max(largest[i], X(i, j));
    for (int j = 0; j <= i; ++j) below[7 * i + j] = X(i, j);
  }
  EXPECT_EQ(ResultsOf("y[5]",
                      "#pragma mdh\nfor (int i = 0; i < 5; ++i)\n"
                      "for (int j = 0; j <= i; ++j) y[i] += x[i][j];"),
            sums);
  EXPECT_EQ(ResultsOf("y[5]",
                      "#pragma mdh\nfor (int i = 0; i < 5; ++i) for (int j = i + 1; j < 7 - i; "
                      "++j) if (x[i][j] > y[i]) y[i] = x[i][j];"),
            largest);
  EXPECT_EQ(ResultsOf("y[5][7]",
                      "#pragma mdh\nfor (int i = 0; i < 5; ++i)\n"
                      "for (int j = 0; j <= i; ++j) y[i][j] = x[i][j];"),
            below)
      << "what is not assigned is zero";
  // A plain assignment as the value of one iteration.
  EXPECT_EQ(ResultsOf("y[5]",
                      "#pragma mdh combine_ops(cc, pw(+))\nfor (int i = 0; i < 5; ++i)\n"
                      "for (int j = 0; i >= j; ++j) y[i] = x[i][j];"),
            sums);
}

TEST(CLoopsBoundsTest, BoundsOfThreeLoopsWithStartsAndSteps) {
  std::vector<int> y(5);
  for (int i = 1; i < 5; i += 2) {
    for (int j = 2 * i - 2; j < i + 3; j += 2) {
      for (int k = j - i + 1; k < 7; ++k) y[i] += X(i, k) * (j + 1);
    }
  }
  EXPECT_EQ(ResultsOf("y[5]",
                      "#pragma mdh\nfor (int i = 1; i < 5; i += 2) for (int j = 2 * i - 2; j < i + "
                      "3; j += 2)\nfor (int k = j - i + 1; k < 7; ++k) y[i] += x[i][k] * (j + 1);"),
            y);
  // No iterations at all, and none of an inner loop.
  EXPECT_EQ(
      ResultsOf("y[5]",
                "#pragma mdh\nfor (int i = 0; i < 5; ++i) for (int j = 7; j < i; ++j) y[i] += "
                "x[i][0];"),
      std::vector<int>(5));
}

// The box around the iterations reaches further than they do: what lies outside is not read.
TEST(CLoopsBoundsTest, BuffersReachAsFarAsIterations) {
  for (const char* loops : {"for (int j = 0; j < 5 - i; ++j) y[i] += x[i + j];",
                            "for (int j = 0; j <= i; ++j) y[i] += x[i - j];"}) {
    const Result<Expression> expression =
        ParseLoops(InFunction("const int *x, int y[5]",
                              absl::StrCat("#pragma mdh\nfor (int i = 0; i < 5; ++i) ", loops)));
    ASSERT_TRUE(expression.ok()) << expression.status();
    ExpectPrintsBack(*expression);
    EXPECT_EQ(expression->inputs()[0].extents, std::vector<int64_t>{5}) << loops;
    const int x[] = {1, 2, 4, 8, 16};
    BufferBytes bytes(sizeof x);
    std::memcpy(bytes.data(), x, sizeof x);
    const auto results = Interpret(*expression, {bytes});
    ASSERT_TRUE(results.ok()) << results.status();
    const bool is_tail = std::string(loops).find("5 - i") != std::string::npos;
    for (int i = 0; i < 5; ++i) {
      int y = 0;
      std::memcpy(&y, (*results)[0].data() + i * sizeof y, sizeof y);
      EXPECT_EQ(y, is_tail ? 32 - (1 << i) : (2 << i) - 1) << loops;
    }
  }
  // What iterations read beyond the end is an error as ever.
  EXPECT_FALSE(
      ParseLoops(InFunction("const int x[5], int y[5]",
                            "#pragma mdh\nfor (int i = 0; i < 5; ++i) for (int j = 0; j <= i; "
                            "++j) y[i] += x[i + j];"))
          .ok());
}

// What the expression computes is what the loops compute, from zero.
TEST(CLoopsBoundsTest, ComputesWhatTheLoopsCompute) {
  const Result<Expression> expression = ParseLoops(R"(
#include <stdint.h>
static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
void kernel(const int16_t x[20], int32_t y[3]) {
#pragma mdh
  for (int i = 2; i < 8; i += 2)
    for (int k = 0; k < 6; k++)
      y[i / 2 - 1] += 0;
}
)");
  EXPECT_FALSE(expression.ok());  // i / 2 is not affine
  const Result<Expression> strided = ParseLoops(R"(
#include <stdint.h>
static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
void kernel(const int16_t x[20], int32_t y[8]) {
#pragma mdh
  for (int i = 2; i < 8; i += 2)
    for (int k = 0; k < 6; k++)
      y[i] += clamp(x[2 * i + k - 4] * 3, -20, 20) + i;
}
)");
  ASSERT_TRUE(strided.ok()) << strided.status();
  std::vector<int16_t> x(20);
  for (int n = 0; n < 20; ++n) x[n] = static_cast<int16_t>((n * 7) % 23 - 9);
  std::vector<int32_t> expected(8, 0), y(8, -1);
  for (int i = 2; i < 8; i += 2) {
    for (int k = 0; k < 6; ++k) {
      const int value = x[2 * i + k - 4] * 3;
      expected[i] += (value < -20 ? -20 : value > 20 ? 20 : value) + i;
    }
  }
  std::vector<std::byte> input(40);
  std::memcpy(input.data(), x.data(), 40);
  const auto result = Interpret(*strided, {input});
  ASSERT_TRUE(result.ok()) << result.status();
  std::memcpy(y.data(), (*result)[0].data(), 32);
  EXPECT_EQ(y, expected);
}

}  // namespace
}  // namespace mdh::c_loops_bounds_test
