// Annotated C loops mean the same as the text form of the same computation.
#include "core/c_loops/c_loops.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/expression/interpreter.h"
#include "tests/core/expect_same.h"

namespace mdh::c_loops_test {
namespace {

Result<Expression> Parse(const std::string& text, const Bindings& bindings = {},
                         const std::string& function = "") {
  return ParseCLoops(text, {.bindings = bindings, .function = function}, "loops.c");
}

// A function with these parameters around annotated loops.
std::string InFunction(const std::string& parameters, const std::string& loops) {
  return absl::StrCat("#include <math.h>\n#include <stdint.h>\nvoid kernel(", parameters, ") {\n",
                      loops, "\n}\n");
}

TEST(CLoopsTest, MatrixTimesVector) {
  ExpectSame(Parse(R"(
#define I 4096
#define K 4096
void matvec(const float M[I][K], const float v[K], float w[I]) {
#pragma mdh out(w) inp(M, v) combine_ops(cc, pw(+))
  for (int i = 0; i < I; ++i)
    for (int k = 0; k < K; ++k)
      w[i] += M[i][k] * v[k];
}
)"),
             ShippedExpression("matvec"));
}

// Sizes as macros and as parameters from outside, types through a macro, no clauses.
TEST(CLoopsTest, SizesAndTypesFromOutside) {
  const std::string loops = R"(
#pragma mdh
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++)
      for (int k = 0; k < K; k++) C[i][j] += A[i][k] * B[k][j];)";
  const Bindings sizes = {{"I", "128"}, {"J", "64"}, {"K", "32"}};
  ExpectSame(Parse(InFunction("float A[I][K], float B[K][J], float C[I][J]", loops), sizes),
             ShippedExpression("matmul", sizes));
  ExpectSame(
      Parse(InFunction("int I, int J, int K, float A[I][K], float B[K][J], float C[I][J]", loops),
            sizes),
      ShippedExpression("matmul", sizes));
  Bindings with_type = sizes;
  with_type["T"] = "fp64";
  ExpectSame(Parse(InFunction("T A[I][K], T B[K][J], T C[I][J]", loops), with_type),
             ShippedExpression("matmul", with_type));
}

TEST(CLoopsTest, InteriorsAreZeroAroundOrKeepWhatIsThere) {
  const auto interior = [](const std::string& clause) {
    return Parse(InFunction("const float x[10], float y[10]",
                            "#pragma mdh out(y) " + clause +
                                "\n  for (int i = 1; i < 9; ++i) y[i] = x[i-1] + x[i+1];"));
  };
  const auto text = [](const std::string& keep) {
    return ParseExpression("e := out_view<fp32>( y[10] " + keep +
                           ": (i) -> (i+1) ) o md_hom<8>( f, (++) ) o\n"
                           "inp_view<fp32>( x[10]: (i) -> (i), (i+2) )\n"
                           "where f(l, r) -> y { y = l + r }");
  };
  ExpectSame(interior(""), text(""));
  ExpectSame(interior("keep(y)"), text("keep"));
  EXPECT_TRUE(interior("keep(y)")->outputs()[0].keeps_unreached);
}

TEST(CLoopsTest, LoopsMayHaveNoIterations) {
  const std::string loops = R"(
#pragma mdh
  for (int i = 0; i < I; i++)
    for (int k = 2; k < K; k++) w[i] += M[i][k - 2];)";
  const auto sum = [&](const std::string& parameters) {
    return Parse(InFunction(parameters, loops), {{"I", "4"}, {"K", "1"}});
  };
  for (const char* parameters : {"int I, int K, const float M[I][0], float w[I]",
                                 "int I, int K, const float M[][0], float *w"}) {
    ExpectSame(
        sum(parameters),
        ParseExpression("e := out_view<fp32>( w: (i,k) -> (i) ) o md_hom<4,0>( f, (++,+) ) o "
                        "inp_view<fp32>( M: (i,k) -> (i,k) ) where f(M) -> w { w = M }"));
  }
}

TEST(CLoopsTest, DotProducts) {
  for (const char* result : {"float *s", "float s"}) {
    const std::string lvalue = result[6] == '*' ? "*s" : "s";
    ExpectSame(Parse(InFunction(absl::StrCat("const float *x, const float *y, ", result),
                                "#pragma mdh out(s) inp(x, y)\n"
                                "for (long k = 0; k < 16777216; k++) " +
                                    lvalue + " += x[k] * y[k];")),
               ShippedExpression("dot"));
  }
  // fma is a product and a sum.
  ExpectSame(Parse(InFunction("const float *x, const float *y, float *s",
                              "#pragma mdh combine_ops(pw(+))\n"
                              "for (long k = 0; k <= 16777215; k++) *s = fmaf(x[k], y[k], *s);")),
             ShippedExpression("dot"));
}

TEST(CLoopsTest, Convolutions) {
  ExpectSame(Parse(R"(
enum { P = 224, Q = P, R = 5, S = 5 };
void conv2d(const float image[P + R - 1][Q + S - 1], const float filter[R][S], float out[P][Q]) {
#pragma mdh out(out) inp(image, filter) combine_ops(cc, cc, pw(+), pw(+))
  for (int p = 0; p < P; p++)
    for (int q = 0; q < Q; q++)
      for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++)
          out[p][q] += image[p + r][q + s] * filter[r][s];
}
)"),
             ShippedExpression("conv2d"));
  ExpectSame(Parse(R"(
enum { N = 1, P = 112, Q = 112, K = 64, R = 7, S = 7, C = 3, SH = 2, SW = 2 };
void mcc(float (*image)[SW * (Q - 1) + S][C], float filter[][R][S][C], float out[N][P][Q][K]);
void mcc_loops(float image[N][SH * (P - 1) + R][SW * (Q - 1) + S][C], float filter[K][R][S][C],
               float out[N][P][Q][K]) {
  int n, p, q, k, r, s, c;
#pragma mdh out(out) \
            inp(image, filter) \
            combine_ops(cc, cc, cc, cc, pw(+), pw(+), pw(+))
  for (n = 0; n < N; n++)
    for (p = 0; p < P; p++) {
      for (q = 0; q < Q; q++)
        for (k = 0; k < K; k++)
          for (r = 0; r < R; r++)
            for (s = 0; s < S; s++)
              for (c = 0; c < C; c++) {
                const int row = SH * p + r, column = SW * q + s;
                out[n][p][q][k] += image[n][row][column][c] * filter[k][r][s][c];
              }
    }
}
)"),
             ShippedExpression("mcc"));
}

TEST(CLoopsTest, Stencils) {
  ExpectSame(Parse(InFunction("const float *x, float *y",
                              "#pragma mdh\n"
                              "for (int i = 0; i < 16777216; i++)\n"
                              "  y[i] = (x[i] + x[i + 1] + x[i + 2]) * (1.0f / 3.0f);")),
             ShippedExpression("jacobi1d"));
  // Starting at 1, with the same elements.
  ExpectSame(Parse(R"(
enum { N = 256 };
void jacobi3d(const float inp[N + 2][N + 2][N + 2], float out[N][N][N]) {
#pragma mdh combine_ops(cc, cc, cc)
  for (int i = 1; i < N + 1; i++)
    for (int j = 1; j <= N; j++)
      for (int k = 1; N >= k; k += 1)
        out[i - 1][j - 1][k - 1] = 0.161f * inp[i][j][k - 1] + 0.162f * inp[i][j][k + 1]
            + 0.163f * inp[i][j - 1][k] + 0.164f * inp[i][j + 1][k]
            + 0.165f * inp[i - 1][j][k] + 0.166f * inp[i + 1][j][k] - 1.67f * inp[i][j][k];
}
)"),
             ShippedExpression("jacobi3d"));
}

TEST(CLoopsTest, BatchedProductThroughMacros) {
  ExpectSame(Parse(R"(
#define AT(b, i, j, I, J) (((b) * (I) + (i)) * (J) + (j))
#define MADD(s, a, b) s += (a) * (b)
void bmatmul(const float X[16][10][64], const float W[16][64][500], float Y[16][10][500]) {
#pragma mdh out(Y) inp(X, W)
  for (int b = 0; b < 16; b++)
    for (int i = 0; i < 10; i++)
      for (int j = 0; j < 500; j++)
        for (int k = 0; k < 64; k++)
          MADD(Y[b][i][j], X[b][i][k], W[b][k][j]);
}
)"),
             ShippedExpression("bmatmul"));
  ExpectSame(
      Parse(R"(
#define AT(i, j, J) ((i) * (J) + (j))
void copy(const float *x, float *y) {
#pragma mdh
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 4; j++) y[AT(i, j, 4)] = x[AT(j, i, 8)];
}
)"),
      ParseExpression("t := out_view<fp32>( y: (i,j) -> (4*i+j) ) o md_hom<8,4>( f, (++,++) )"
                      " o inp_view<fp32>( x: (i,j) -> (8*j+i) ) where f(x) -> y { y = x }"));
}

// What ignores nan is fmax, whatever the annotation calls it.
TEST(CLoopsTest, TwoResultsWithOneOperatorEach) {
  const Result<Expression> expected = ParseExpression(R"(
      sum_and_max := out_view<fp32,fp32>( sum: (i,k) -> (i), largest: (i,k) -> (i) ) o
        md_hom<4096,4096>( f, (++, (+, fmax)) ) o inp_view<fp32>( M: (i,k) -> (i,k) )
      where f(M) -> (sum, largest) { sum = M; largest = M })");
  for (const char* update : {"largest[i] = fmaxf(largest[i], M[i][k]);",
                             "largest[i] = largest[i] > M[i][k] ? largest[i] : M[i][k];",
                             "if (M[i][k] > largest[i]) largest[i] = M[i][k];"}) {
    for (const char* operators :
         {"", "combine_ops(cc, pw(+, max))", "combine_ops(cc, pw(+, fmax))"}) {
      ExpectSame(Parse(absl::StrCat(R"(
#include <math.h>
void sum_and_max(float M[4096][4096], float sum[4096], float largest[4096]) {
#pragma mdh out(sum, largest) inp(M) )",
                                    operators, R"(
  for (int i = 0; i < 4096; i++)
    for (int k = 0; k < 4096; k++) {
      sum[i] += M[i][k];
      )",
                                    update, "\n    }\n}\n")),
                 expected);
    }
  }
  // An assignment says nothing: max is that of the text form, to which nan matters.
  ExpectSame(Parse(R"(
void sum_and_max(float M[4096][4096], float sum[4096], float largest[4096]) {
#pragma mdh out(sum, largest) inp(M) combine_ops(cc, pw(+, max))
  for (int i = 0; i < 4096; i++)
    for (int k = 0; k < 4096; k++) {
      sum[i] = M[i][k];
      largest[i] = M[i][k];
    }
}
)"),
             ShippedExpression("sum_and_max"));
}

TEST(CLoopsTest, FmaxOfLoopsIgnoresNan) {
  for (const char* update : {"y[0] = fmaxf(y[0], x[i]);", "if (x[i] > y[0]) y[0] = x[i];"}) {
    const Result<Expression> expression = Parse(absl::StrCat(R"(
#include <math.h>
void m(const float x[4], float y[1]) {
#pragma mdh out(y) inp(x) combine_ops(pw(max))
  for (int i = 0; i < 4; ++i) )",
                                                             update, "\n}\n"));
    ASSERT_TRUE(expression.ok()) << expression.status();
    const float x[] = {5, NAN, 3, 1};
    BufferBytes bytes(sizeof x);
    std::memcpy(bytes.data(), x, sizeof x);
    const auto result = Interpret(*expression, {bytes});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(ScalarValue::Load(ScalarType::kFloat32, (*result)[0].data()).as_double(), 5);
  }
}

TEST(CLoopsTest, ExtremesOfIntegersAreMinAndMax) {
  for (const char* operators : {"", "combine_ops(pw(max))"}) {
    const Result<Expression> expression =
        Parse(absl::StrCat("void m(int x[8], int y[1]) {\n#pragma mdh ", operators,
                           "\nfor (int i = 0; i < 8; ++i) if (x[i] > y[0]) y[0] = x[i];\n}\n"));
    ASSERT_TRUE(expression.ok()) << expression.status();
    EXPECT_EQ(expression->combine_operators()[0].ToString(), "max");
  }
}

constexpr char kArgmax[] = R"(
#include <stdint.h>
enum { I = 4096, K = 4096 };
static void larger(float v1, int64_t p1, float v2, int64_t p2, float *v, int64_t *p) {
  const _Bool first_is_nan = v1 != v1 && (v2 == v2 || p1 < p2);
  const _Bool takes_first = v1 > v2 || (v1 == v2 && p1 < p2) || first_is_nan;
  *v = takes_first ? v1 : v2;
  *p = takes_first ? p1 : p2;
}
void argmax(float M[I][K], float value[I], int64_t position[I]) {
#pragma mdh out(value, position) inp(M) combine_ops(cc, pw(larger))
  for (int i = 0; i < I; i++)
    for (int k = 0; k < K; k++) {
      value[i] = M[i][k];
      position[i] = k;
    }
}
)";

TEST(CLoopsTest, FunctionsAsOperators) {
  ExpectSame(Parse(kArgmax), ShippedExpression("argmax"));
  // The same operator through a struct, with returns.
  std::string text = kArgmax;
  const size_t begin = text.find("static void larger"), end = text.find("void argmax");
  text.replace(begin, end - begin, R"(
struct best { float v; int64_t p; };
static struct best larger(struct best a, struct best b) {
  int first_is_nan = a.v != a.v && (b.v == b.v || a.p < b.p);
  int first = a.v > b.v || (a.v == b.v && a.p < b.p) || first_is_nan;
  struct best c = {first ? a.v : b.v, b.p};
  if (first) c.p = a.p;
  return c;
}
)");
  ExpectSame(Parse(text), ShippedExpression("argmax"));
}

// The index itself as a value, and a function that is called in the loops.
TEST(CLoopsTest, IndexAsValue) {
  const Result<Expression> expression = Parse(R"(
#include <stdint.h>
struct best { float v; int64_t p; };
static struct best larger(struct best a, struct best b) {
  if (a.v > b.v || (a.v == b.v && a.p < b.p)) return a;
  return b;
}
void argmax(float M[3][4], struct best out[3]) {
#pragma mdh
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++) {
      struct best here = {M[i][k], k};
      out[i] = larger(out[i], here);
    }
}
)");
  ASSERT_TRUE(expression.ok()) << expression.status();
  ExpectPrintsBack(*expression);
  EXPECT_EQ(expression->index_dimensions(), std::vector<int>{1});
  EXPECT_TRUE(expression->outputs()[0].type.is_record());
  EXPECT_EQ(expression->combine_operators()[1].ToString(), "larger");
  EXPECT_EQ(expression->function().instructions().size(), 2u);  // no conversions of k
}

std::string FunctionOf(const std::string& parameters, const std::string& loops) {
  const Result<Expression> expression = Parse(InFunction(parameters, loops));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return expression.ok() ? ToText(expression->function()) : "";
}

std::string Map(const std::string& parameters, const std::string& statement) {
  return FunctionOf(parameters, "#pragma mdh\nfor (int i = 0; i < 8; ++i) { " + statement + " }");
}

TEST(CLoopsTest, ConversionsAreThoseOfC) {
  EXPECT_EQ(Map("float *x, double *y", "y[i] = x[i] * 2;"), "{ y = fp64(x * 2) }");
  EXPECT_EQ(Map("float *x, double *y", "y[i] = x[i] * 2.0;"), "{ y = fp64(x) * 2 }");
  EXPECT_EQ(Map("int8_t *x, int *y", "y[i] = x[i] * x[i];"), "{ let t1 = int32(x); y = t1 * t1 }");
  EXPECT_EQ(Map("int8_t *x, int8_t *y", "y[i] = x[i] * x[i] + 1;"), "{ y = x * x + 1 }");
  EXPECT_EQ(Map("int *x, unsigned *u, long *y", "y[i] = x[i] + u[i];"),
            "{ y = int64(uint32(x) + u) }");
  EXPECT_EQ(Map("float *x, int *y", "y[i] = x[i] > 0;"), "{ y = int32(x > 0) }");
  EXPECT_EQ(Map("float *x, _Bool *y", "y[i] = x[i];"), "{ y = bool(x) }");
  EXPECT_EQ(Map("int *x, int *y", "y[i] = !x[i] + (x[i] << 3) - ~x[i];"),
            "{ y = int32(!bool(x)) + x * 8 - (x ^ -1) }");
  EXPECT_EQ(Map("unsigned short *x, float *y", "y[i] = (float)(x[i] >> 2);"),
            "{ y = fp32(int32(x) / 4) }");
}

TEST(CLoopsTest, MathFunctions) {
  EXPECT_EQ(Map("float *x, float *y", "y[i] = sqrtf(fabsf(x[i])) + expf(x[i]) - logf(x[i]);"),
            "{ y = sqrt(abs(x)) + exp(x) - log(x) }");
  EXPECT_EQ(Map("double *x, double *y", "y[i] = pow(x[i], 2) * tanh(x[i]) / fmin(x[i], 1);"),
            "{ y = pow(x, 2) * tanh(x) / fmin(x, 1) }");
  EXPECT_EQ(Map("float *x, float *y", "y[i] = fmodf(x[i], 2.5f);"), "{ y = x % 2.5 }");
  EXPECT_EQ(Map("float *x, float *y", "y[i] = sin(x[i]);"), "{ y = fp32(sin(fp64(x))) }");
  EXPECT_EQ(Map("int *x, int *y", "y[i] = abs(x[i]);"), "{ y = abs(x) }");
  EXPECT_EQ(Map("float *x, float *y", "y[i] = log1pf(x[i]) + expm1f(x[i]) * cbrtf(x[i]);"),
            "{ y = log1p(x) + expm1(x) * cbrt(x) }");
  EXPECT_EQ(Map("double *x, double *y", "y[i] = atan2(x[i], copysign(2, x[i]));"),
            "{ y = atan2(x, copysign(2, x)) }");
}

// y[i] for every value of x that is interesting: as compilers of C shift.
TEST(CLoopsTest, ShiftsOfNegativeValuesRoundDown) {
  for (const int by : {0, 1, 2, 5, 30, 31}) {
    const Result<Expression> expression = Parse(InFunction(
        "const int x[11], int y[11]",
        absl::StrCat("#pragma mdh\nfor (int i = 0; i < 11; ++i) y[i] = x[i] >> ", by, ";")));
    ASSERT_TRUE(expression.ok()) << expression.status();
    ExpectPrintsBack(*expression);
    for (const int x : {0, 1, -1, 2, -2, 31, -31, -32, 1 << 30, INT32_MAX, INT32_MIN}) {
      EXPECT_EQ(expression->function()
                    .Evaluate({ScalarValue::Integer(ScalarType::kInt32, x)})[0]
                    .as_int64(),
                x >> by)
          << x << " " << by;
    }
  }
  // Rounded means of bytes.
  const Result<Expression> mean =
      Parse(InFunction("const uint8_t a[5], const uint8_t b[5], uint8_t c[5]",
                       "#pragma mdh\nfor (int i = 0; i < 5; ++i) c[i] = (a[i] + b[i] + 1) >> 1;"));
  ASSERT_TRUE(mean.ok()) << mean.status();
  const auto byte = [](int value) { return ScalarValue::Integer(ScalarType::kUint8, value); };
  EXPECT_EQ(mean->function().Evaluate({byte(255), byte(254)})[0].as_int64(), 255);
  EXPECT_EQ(mean->function().Evaluate({byte(0), byte(1)})[0].as_int64(), 1);
}

// The results of loops over x[i][j] = 10 * i + j + 1, of 5 x 7 elements, into y.
std::vector<int> ResultsOf(const std::string& output, const std::string& loops) {
  const Result<Expression> expression =
      Parse(InFunction(absl::StrCat("const int x[5][7], int ", output), loops));
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

TEST(CLoopsTest, BoundsThatDependOnOuterLoopsAreConditions) {
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

TEST(CLoopsTest, BoundsOfThreeLoopsWithStartsAndSteps) {
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
TEST(CLoopsTest, BuffersReachAsFarAsIterations) {
  for (const char* loops : {"for (int j = 0; j < 5 - i; ++j) y[i] += x[i + j];",
                            "for (int j = 0; j <= i; ++j) y[i] += x[i - j];"}) {
    const Result<Expression> expression =
        Parse(InFunction("const int *x, int y[5]",
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
  EXPECT_FALSE(Parse(InFunction("const int x[5], int y[5]",
                                "#pragma mdh\nfor (int i = 0; i < 5; ++i) for (int j = 0; j <= i; "
                                "++j) y[i] += x[i + j];"))
                   .ok());
}

TEST(CLoopsTest, AByteOrderMarkIsNoPartOfTheText) {
  EXPECT_TRUE(Parse("\xEF\xBB\xBF" + InFunction("float *x, float *y",
                                                "#pragma mdh\nfor (int i = 0; i < 8; ++i) y[i] = "
                                                "x[i];"))
                  .ok());
}

// A comparison that is no reduction stays what it is.
TEST(CLoopsTest, ChoicesInTheValueStayComparisons) {
  EXPECT_EQ(Map("float *x, float *y", "y[i] = x[i] > 1 ? x[i] : 1;"), "{ y = x > 1 ? x : 1 }");
  EXPECT_EQ(Map("float *x, float *y", "y[i] = fmaxf(x[i], 1);"), "{ y = fmax(x, 1) }");
}

TEST(CLoopsTest, StatementsOfTheBody) {
  EXPECT_EQ(Map("float *x, float *y",
                "float t = x[i]; if (t < 0) t = 0; else { t *= 2; t++; } y[i] = t;"),
            "{ y = x < 0 ? 0 : x * 2 + 1 }");
  EXPECT_EQ(Map("float *x, float *y", "if (x[i] < 0) y[i] = -x[i]; else y[i] = x[i];"),
            "{ y = x < 0 ? -x : x }");
  EXPECT_EQ(Map("float *x, float *y, float *z", "y[i] = x[i] * 2; z[i] = y[i] + 1;"),
            "{ let t1 = x * 2; y = t1; z = t1 + 1 }");
  EXPECT_EQ(Map("float *x, float alpha, float *y", "const float b = 3; y[i] = alpha * x[i] + b;"),
            "{ y = alpha * x + 3 }");
}

TEST(CLoopsTest, TablesAndConstants) {
  const Result<Expression> expression = Parse(R"(
static const float weights[2][3] = {{1, 2.5f}, {-3, 4, 5}};
static const float scale = 0.5f;
void kernel(const unsigned char *x, float *y) {
#pragma mdh
  for (int i = 0; i < 4; i++) y[i] = weights[x[i] & 1][x[i]] * scale;
}
)");
  ASSERT_TRUE(expression.ok()) << expression.status();
  ExpectPrintsBack(*expression);
  const auto value = [&](uint8_t x) {
    return expression->function()
        .Evaluate({ScalarValue::Integer(ScalarType::kUint8, x)})[0]
        .as_double();
  };
  EXPECT_EQ(value(0), 0.5);
  EXPECT_EQ(value(1), 2);
  EXPECT_EQ(value(2), 0);
}

TEST(CLoopsTest, ConditionalAndSmallReductions) {
  const auto parse = [](const std::string& parameters, const std::string& statement) {
    return Parse(
        InFunction(parameters, "#pragma mdh\nfor (int k = 0; k < 9; k++) { " + statement + " }"));
  };
  const std::string head =
      " o md_hom<9>( f, (OP) ) o inp_view<T>( x: (k) -> (k) ) where f(x) -> s ";
  const auto text = [&](const std::string& type, const std::string& op, const std::string& body) {
    std::string view = "r<T = " + type + "> := out_view<T>( s: (k) -> () )" + head + body;
    view.replace(view.find("OP"), 2, op);
    return ParseExpression(view);
  };
  ExpectSame(parse("float *x, float *s", "if (x[k] > 0) *s += x[k];"),
             text("fp32", "+", "{ s = x > 0 ? x : 0 }"));
  ExpectSame(parse("float *x, float *s", "*s -= x[k];"), text("fp32", "+", "{ s = -x }"));
  ExpectSame(parse("int8_t *x, int8_t *s", "*s += x[k];"), text("int8", "+", "{ s = x }"));
  ExpectSame(parse("int8_t *x, int8_t *s", "*s = *s < x[k] ? *s : x[k];"),
             text("int8", "min", "{ s = x }"));
  ExpectSame(parse("uint16_t *x, uint16_t *s", "*s ^= x[k];"), text("uint16", "^", "{ s = x }"));
  ExpectSame(parse("_Bool *x, _Bool *s", "*s = *s && x[k];"), text("bool", "&&", "{ s = x }"));
  ExpectSame(parse("_Bool *x, _Bool *s", "*s |= x[k];"), text("bool", "||", "{ s = x }"));
  ExpectSame(parse("double *x, double *s", "*s = x[k] * *s;"), text("fp64", "*", "{ s = x }"));
  ExpectSame(parse("float *x, float *s", "*s = *s + x[k] + 1;"),
             text("fp32", "+", "{ s = x + 1 }"));
}

TEST(CLoopsTest, MoreShippedExpressions) {
  ExpectSame(Parse(InFunction("const float *x, float *y",
                              "#pragma mdh combine_ops(ps(+))\n"
                              "for (int i = 0; i < 16777216; i++) y[i] = x[i];")),
             ShippedExpression("scan"));
  ExpectSame(Parse(InFunction("const float A[4096][4096], float sums[4096]",
                              "#pragma mdh combine_ops(ps(+), pw(+))\n"
                              "for (int i = 0; i < 4096; i++)\n"
                              "  for (int j = 0; j < 4096; j++) sums[i] += A[i][j];")),
             ShippedExpression("mbbs"));
  ExpectSame(Parse(InFunction("const float *x, float *sum, float *largest",
                              "#pragma mdh\n"
                              "for (int i = 0; i < 16777216; i++) {\n"
                              "  *sum += x[i];\n"
                              "  if (*largest < x[i]) *largest = x[i];\n"
                              "}")),
             ParseExpression("t := out_view<fp32,fp32>( sum: (i) -> (), largest: (i) -> () ) o "
                             "md_hom<16777216>( f, ((+, fmax)) ) o inp_view<fp32>( x: (i) -> (i) ) "
                             "where f(x) -> (sum, largest) { sum = x; largest = x }"));
  ExpectSame(Parse(InFunction("const float X[8192][512], float G[512][512]",
                              "#pragma mdh\n"
                              "for (int i = 0; i < 512; i++)\n"
                              "  for (int j = 0; j < 512; j++)\n"
                              "    for (int k = 0; k < 8192; k++) G[i][j] += X[k][i] * X[k][j];")),
             ShippedExpression("gram"));
  ExpectSame(Parse(InFunction("const int *elements, const int *bins, int *counts",
                              "#pragma mdh\n"
                              "for (int e = 0; e < 1048576; e++)\n"
                              "  for (int b = 0; b < 256; b++)\n"
                              "    counts[b] += elements[e] == bins[b] ? 1 : 0;")),
             ShippedExpression("histo"));
}

// Through a function of structs, and through a macro with statements.
TEST(CLoopsTest, Mandelbrot) {
  ExpectSame(Parse(R"(
enum { H = 1024, W = 1536 };
struct point { float cx, cy, x, y; int n; };
static struct point step(struct point p) {
  const float a = p.x * p.x, b = p.y * p.y;
  if (a + b <= 4) p.n++;
  return (struct point){p.cx, p.cy, a - b + p.cx, 2 * p.x * p.y + p.cy, p.n};
}
void mandelbrot(int iterations[H][W]) {
#pragma mdh
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      const float cx = 3 * (float)x / W - 2, cy = 2 * (float)y / H - 1;
      struct point p = {cx, cy, cx, cy, 0};
      p = step(step(step(step(step(p)))));
      p = step(step(step(step(step(p)))));
      iterations[y][x] = p.n;
    }
}
)"),
             Parse(R"(
enum { H = 1024, W = 1536 };
void mandelbrot(int iterations[H][W]) {
#pragma mdh combine_ops(cc, cc)
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      const float cx = 3 * (float)x / W - 2, cy = 2 * (float)y / H - 1;
      float zx = cx, zy = cy;
      int n = 0;
#define STEP                                   \
  {                                            \
    const float a = zx * zx, b = zy * zy;      \
    if (a + b <= 4) n++;                       \
    zy = 2 * zx * zy + cy;                     \
    zx = a - b + cx;                           \
  }
      STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
      iterations[y][x] = n;
    }
}
)"));
}

// Variables that one use of a macro declares are different ones.
TEST(CLoopsTest, VariablesOfMacros) {
  const std::string text = R"(
#define BODY float a = x[i]; { float a = x[i + 1], b = a; y[i] = b; } y[i] += 2 * a
void kernel(const float *x, float *y) {
#pragma mdh
  for (int i = 0; i < 4; ++i) {
    BODY;
  }
}
)";
  const Result<Expression> expression = Parse(text);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(expression->function()), "{ y = x2 + 2 * x1 }");
}

TEST(CLoopsTest, PrefixSums) {
  const Result<Expression> expression =
      Parse(InFunction("const float *x, float *y",
                       "#pragma mdh combine_ops(ps(+))\n"
                       "for (int i = 0; i < 100; i++) y[i] = x[i];"));
  ASSERT_TRUE(expression.ok()) << expression.status();
  ExpectPrintsBack(*expression);
  EXPECT_TRUE(expression->is_prefix_sum(0));
  EXPECT_EQ(expression->combine_operators()[0].ToString(), "ps(+)");
}

TEST(CLoopsTest, OneOfSeveralFunctions) {
  const std::string text = R"(
void twice(const float *x, float *y) {
#pragma mdh
  for (int i = 0; i < 5; i++) y[i] = x[i] * 2;
}
void thrice(const float *x, float *y) {
#pragma mdh
  for (int i = 0; i < 5; i++) y[i] = x[i] * 3;
}
)";
  const Result<Expression> expression = Parse(text, {}, "thrice");
  ASSERT_TRUE(expression.ok()) << expression.status();
  ExpectPrintsBack(*expression);
  EXPECT_EQ(expression->name(), "thrice");
  EXPECT_EQ(ToText(expression->function()), "{ y = x * 3 }");
}

// What the expression computes is what the loops compute, from zero.
TEST(CLoopsTest, ComputesWhatTheLoopsCompute) {
  const Result<Expression> expression = Parse(R"(
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
  const Result<Expression> strided = Parse(R"(
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
}  // namespace mdh::c_loops_test
