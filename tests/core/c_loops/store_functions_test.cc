// Statements behind loops that are reduced are the store function.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/expression/interpreter.h"
#include "tests/core/c_loops/c_loops_text.h"
#include "tests/core/expect_same.h"

namespace mdh::c_loops_test {
namespace {

Result<Expression> Loops(const std::string& parameters, const std::string& loops,
                         const std::string& functions = "") {
  return ParseCLoops(absl::StrCat("#include <math.h>\n", functions, "\nvoid kernel(", parameters,
                                  ") {\n#pragma mdh", loops, "\n}\n"),
                     {}, "loops.c");
}

TEST(CLoopsStoreFunctionTest, BiasFunctionAndResidual) {
  ExpectSame(Loops("const float a[4][6], const float b[6][5], const float bias[5], "
                   "const float skip[4][5], float y[4][5]",
                   R"(
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) {
      float c = 0;
      for (int k = 0; k < 6; ++k) c += a[i][k] * b[k][j];
      y[i][j] = leaky(c + bias[j]) + skip[i][j];
    })",
                   "static float leaky(float x) { return x < 0 ? 0.5f * x : x; }"),
             ParseExpression(R"(e := out_view<fp32>( y: (i,j,k) -> (i,j) ) o
  md_hom<4,5,6>( f, (++, ++, +), store s<fp32,fp32>( bias: (i,j,k) -> (j), skip: (i,j,k) -> (i,j) ) ) o
  inp_view<fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> (k,j) )
  where f(a, b) -> (c: fp32) { c = a * b },
        s(c, bias, skip) -> y { let x = c + bias; y = (x < 0 ? 0.5 * x : x) + skip })"));
}

TEST(CLoopsStoreFunctionTest, AStoreThatConvertsAloneIsNone) {
  const Result<Expression> accumulated = Loops("const float x[4][6], float y[4]", R"(
  for (int i = 0; i < 4; ++i) {
    double c = 0;
    for (int k = 0; k < 6; ++k) c += x[i][k];
    y[i] = c;
  })");
  ExpectSame(accumulated, ParseExpression(R"(e := out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<4,6>( f, (++, +) ) o inp_view<fp32>( x: (i,k) -> (i,k) )
  where f(x) -> (c: fp64) { c = fp64(x) })"));
  EXPECT_EQ(accumulated->store(), nullptr);
}

TEST(CLoopsStoreFunctionTest, ElementsOfOutputsAsAccumulatorsAndIndicesAsValues) {
  ExpectSame(Loops("const float x[4][6], float sum[4], float y[4]", R"( out(y, sum)
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 6; ++k) sum[i] += x[i][k];
    if (sum[i] > i) y[i] = sum[i]; else y[i] = x[i][2 * 1];
  })"),
             ParseExpression(R"(e := out_view<fp32,fp32>( y: (i,k) -> (i), sum: (i,k) -> (i) ) o
  md_hom<4,6>( f, (++, +), store s<fp32>( x: (i,k) -> (i,2) ) ) o inp_view<fp32>( x[4,6]: (i,k) -> (i,k) )
  where f(x) -> (c: fp32) { c = x },
        s(c, x) -> (y, sum) { sum = c; y = c > fp32(i) ? c : x })"));
}

TEST(CLoopsStoreFunctionTest, StartsAreCombinedWithResults) {
  ExpectSame(Loops("const float x[4][6], const float first[4], float y[4]", R"(
  for (int i = 0; i < 4; ++i) {
    float most = first[i], product = 1;
    int count = 3;
    for (int k = 0; k < 6; ++k) {
      if (x[i][k] > most) most = x[i][k];
      product *= x[i][k];
      if (x[i][k] > 0) ++count;
    }
    y[i] = most + product / count;
  })"),
             ParseExpression(R"(e := out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<4,6>( f, (++, (fmax, *, +)), store s<fp32>( first: (i,k) -> (i) ) ) o
  inp_view<fp32>( x: (i,k) -> (i,k) )
  where f(x) -> (m: fp32, p: fp32, c: int32) { m = x; p = x; c = x > 0 ? 1 : 0 },
        s(m, p, c, first) -> y { y = fmax(first, m) + p / fp32(3 + c) })"));
}

TEST(CLoopsStoreFunctionTest, FunctionsOfTheFileAndStructs) {
  ExpectSame(Loops("const struct pair x[4][6], float y[4]", R"(
  for (int i = 0; i < 4; ++i) {
    struct pair best = {0.5f, 7};
    for (int k = 0; k < 6; ++k) best = merge(best, x[i][k]);
    y[i] = best.at > 3 ? best.value : -1;
  })",
                   R"(struct pair { float value; int at; };
static struct pair merge(struct pair a, struct pair b) {
  struct pair c = {a.value + b.value + a.value * b.value, a.at > b.at ? a.at : b.at};
  return c;
})"),
             ParseExpression(R"(e := out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<4,6>( f, (++, merge), store s ) o
  inp_view<{value: fp32, at: int32}>( x: (i,k) -> (i,k) )
  where f(x) -> (best: {value: fp32, at: int32}) { best = x },
        merge(a, b) -> c { c = {value: a.value + b.value + a.value * b.value, at: a.at > b.at ? a.at : b.at} },
        s(best) -> y { y = (7 > best.at ? 7 : best.at) > 3 ? 0.5 + best.value + 0.5 * best.value : -1 })"));
}

// Without neutral elements: what `best` starts at is combined all the same.
TEST(CLoopsStoreFunctionTest, PlainAssignmentsWithAnnotatedOperators) {
  ExpectSame(Loops("const float x[4][6], float y[4]", R"( combine_ops(cc, pw(max))
  for (int i = 0; i < 4; ++i) {
    float c;
    for (int k = 0; k < 6; ++k) c = x[i][k];
    y[i] = c * 2;
  })"),
             ParseExpression(R"(e := out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<4,6>( f, (++, max), store s ) o inp_view<fp32>( x: (i,k) -> (i,k) )
  where f(x) -> (c: fp32) { c = x }, s(c) -> y { y = c * 2 })"));
}

// What stands before loops is read where it is used, and loops may declare their variables before.
TEST(CLoopsStoreFunctionTest, VariablesBeforeLoops) {
  const Result<Expression> made =
      Loops("const float x[4][6], const float a[4], const float b[4], float y[4]", R"(
  for (int i = 0; i < 4; ++i) {
    const float scale = a[i], shift = b[i];
    const int row = 3 - i;
    int k;
    float c;
    c = 0;
    for (k = 0; k < 6; ++k) c += x[row][k] * scale + k;
    y[i] = c + shift;
  })");
  ExpectSame(made, ParseExpression(R"(e := out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<4,6>( f, (++, +), store s<fp32>( b: (i,k) -> (i) ) ) o
  inp_view<fp32,fp32>( a: (i,k) -> (i), x: (i,k) -> (3-i,k) )
  where f(a, x) -> (c: fp32) { c = x * a + fp32(k) }, s(c, b) -> y { y = c + b })"));
  // Nor is a variable of each iteration an accumulator, wherever it is declared.
  ExpectSame(Loops("const float x[4][6], float y[4]", R"(
  for (int i = 0; i < 4; ++i) {
    float square;
    for (int k = 0; k < 6; ++k) { square = x[i][k] * x[i][k]; y[i] += square; }
  })"),
             Loops("const float x[4][6], float y[4]", R"(
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 6; ++k) y[i] += x[i][k] * x[i][k];)"));
  // A value before loops needs no statements behind them.
  ExpectSame(Loops("const float x[4][6], const float a[4], float y[4]", R"(
  for (int i = 0; i < 4; ++i) {
    const float scale = a[i];
    for (int k = 0; k < 6; ++k) y[i] += x[i][k] * scale;
  })"),
             Loops("const float x[4][6], const float a[4], float y[4]", R"( inp(a, x)
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 6; ++k) y[i] += x[i][k] * a[i];)"));
}

// Then the annotation stands before a block.
TEST(CLoopsStoreFunctionTest, EverythingMayBeReduced) {
  ExpectSame(Loops("const float x[6], float *y", R"(
  {
    float c = 0;
    for (int k = 0; k < 6; ++k) c += x[k] * x[k];
    *y = sqrtf(c);
  })"),
             ParseExpression(R"(e := out_view<fp32>( y: (k) -> () ) o
  md_hom<6>( f, (+), store s ) o inp_view<fp32>( x: (k) -> (k) )
  where f(x) -> (c: fp32) { c = x * x }, s(c) -> y { y = sqrt(c) })"));
}

// y[i][j] = 1 + the sum of row j up to i, for j <= i; elements that no iteration assigns are zero.
TEST(CLoopsStoreFunctionTest, BoundsThatDependOnOuterLoops) {
  const Result<Expression> made = Loops("const float x[3][3], float y[3][3]", R"(
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      float c = 0;
      for (int k = j; k <= i; ++k) c += x[j][k];
      y[i][j] = c + 1;
    })");
  ASSERT_TRUE(made.ok()) << made.status();
  const std::array<float, 9> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<BufferBytes> inputs(1);
  inputs[0].resize(sizeof(x));
  std::memcpy(inputs[0].data(), x.data(), sizeof(x));
  const std::vector<BufferBytes> outputs = Interpret(*made, inputs).value();
  std::array<float, 9> y{};
  std::memcpy(y.data(), outputs[0].data(), sizeof(y));
  EXPECT_EQ(y, (std::array<float, 9>{2, 0, 0, 4, 6, 0, 7, 12, 10}));
}

TEST(CLoopsStoreFunctionTest, PrefixSumsOfReducedRows) {
  ExpectSame(Loops("const float x[4][6], float y[4]", R"( combine_ops(ps(+), pw(+))
  for (int i = 0; i < 4; ++i) {
    float c = 0;
    for (int k = 0; k < 6; ++k) c += x[i][k];
    y[i] = c / (i + 1);
  })"),
             ParseExpression(R"(e := out_view<fp32>( y: (i,k) -> (i) ) o
  md_hom<4,6>( f, (ps(+), +), store s ) o inp_view<fp32>( x: (i,k) -> (i,k) )
  where f(x) -> (c: fp32) { c = x }, s(c) -> y { y = c / fp32(int32(i) + 1) })"));
}

}  // namespace
}  // namespace mdh::c_loops_test
