// Annotated C loops mean the same as the text form of the same computation.
#include "core/c_loops/c_loops.h"

#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/expression/interpreter.h"
#include "tests/core/c_loops/c_loops_text.h"
#include "tests/core/expect_same.h"

namespace mdh::c_loops_test {
namespace {

TEST(CLoopsTest, MatrixTimesVector) {
  ExpectSame(ParseLoops(R"(
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
  ExpectSame(ParseLoops(InFunction("float A[I][K], float B[K][J], float C[I][J]", loops), sizes),
             ShippedExpression("matmul", sizes));
  ExpectSame(
      ParseLoops(
          InFunction("int I, int J, int K, float A[I][K], float B[K][J], float C[I][J]", loops),
          sizes),
      ShippedExpression("matmul", sizes));
  Bindings with_type = sizes;
  with_type["T"] = "fp64";
  ExpectSame(ParseLoops(InFunction("T A[I][K], T B[K][J], T C[I][J]", loops), with_type),
             ShippedExpression("matmul", with_type));
}

TEST(CLoopsTest, InteriorsAreZeroAroundOrKeepWhatIsThere) {
  const auto interior = [](const std::string& clause) {
    return ParseLoops(InFunction("const float x[10], float y[10]",
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
    return ParseLoops(InFunction(parameters, loops), {{"I", "4"}, {"K", "1"}});
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
    ExpectSame(ParseLoops(InFunction(absl::StrCat("const float *x, const float *y, ", result),
                                     "#pragma mdh out(s) inp(x, y)\n"
                                     "for (long k = 0; k < 16777216; k++) " +
                                         lvalue + " += x[k] * y[k];")),
               ShippedExpression("dot"));
  }
  // fma is a product and a sum.
  ExpectSame(
      ParseLoops(InFunction("const float *x, const float *y, float *s",
                            "#pragma mdh combine_ops(pw(+))\n"
                            "for (long k = 0; k <= 16777215; k++) *s = fmaf(x[k], y[k], *s);")),
      ShippedExpression("dot"));
}

TEST(CLoopsTest, Convolutions) {
  ExpectSame(ParseLoops(R"(
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
  ExpectSame(ParseLoops(R"(
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
  ExpectSame(ParseLoops(InFunction("const float *x, float *y",
                                   "#pragma mdh\n"
                                   "for (int i = 0; i < 16777216; i++)\n"
                                   "  y[i] = (x[i] + x[i + 1] + x[i + 2]) * (1.0f / 3.0f);")),
             ShippedExpression("jacobi1d"));
  // Starting at 1, with the same elements.
  ExpectSame(ParseLoops(R"(
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
  ExpectSame(ParseLoops(R"(
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
      ParseLoops(R"(
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
      ExpectSame(ParseLoops(absl::StrCat(R"(
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
  ExpectSame(ParseLoops(R"(
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
    const Result<Expression> expression = ParseLoops(absl::StrCat(R"(
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
    const Result<Expression> expression = ParseLoops(
        absl::StrCat("void m(int x[8], int y[1]) {\n#pragma mdh ", operators,
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
  ExpectSame(ParseLoops(kArgmax), ShippedExpression("argmax"));
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
  ExpectSame(ParseLoops(text), ShippedExpression("argmax"));
}

// The index itself as a value, and a function that is called in the loops.
TEST(CLoopsTest, IndexAsValue) {
  const Result<Expression> expression = ParseLoops(R"(
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

TEST(CLoopsTest, AByteOrderMarkIsNoPartOfTheText) {
  EXPECT_TRUE(
      ParseLoops("\xEF\xBB\xBF" + InFunction("float *x, float *y",
                                             "#pragma mdh\nfor (int i = 0; i < 8; ++i) y[i] = "
                                             "x[i];"))
          .ok());
}

TEST(CLoopsTest, ConditionalAndSmallReductions) {
  const auto parse = [](const std::string& parameters, const std::string& statement) {
    return ParseLoops(
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
  ExpectSame(ParseLoops(InFunction("const float *x, float *y",
                                   "#pragma mdh combine_ops(ps(+))\n"
                                   "for (int i = 0; i < 16777216; i++) y[i] = x[i];")),
             ShippedExpression("scan"));
  ExpectSame(ParseLoops(InFunction("const float A[4096][4096], float sums[4096]",
                                   "#pragma mdh combine_ops(ps(+), pw(+))\n"
                                   "for (int i = 0; i < 4096; i++)\n"
                                   "  for (int j = 0; j < 4096; j++) sums[i] += A[i][j];")),
             ShippedExpression("mbbs"));
  ExpectSame(ParseLoops(InFunction("const float *x, float *sum, float *largest",
                                   "#pragma mdh\n"
                                   "for (int i = 0; i < 16777216; i++) {\n"
                                   "  *sum += x[i];\n"
                                   "  if (*largest < x[i]) *largest = x[i];\n"
                                   "}")),
             ParseExpression("t := out_view<fp32,fp32>( sum: (i) -> (), largest: (i) -> () ) o "
                             "md_hom<16777216>( f, ((+, fmax)) ) o inp_view<fp32>( x: (i) -> (i) ) "
                             "where f(x) -> (sum, largest) { sum = x; largest = x }"));
  ExpectSame(
      ParseLoops(InFunction("const float X[8192][512], float G[512][512]",
                            "#pragma mdh\n"
                            "for (int i = 0; i < 512; i++)\n"
                            "  for (int j = 0; j < 512; j++)\n"
                            "    for (int k = 0; k < 8192; k++) G[i][j] += X[k][i] * X[k][j];")),
      ShippedExpression("gram"));
  ExpectSame(ParseLoops(InFunction("const int *elements, const int *bins, int *counts",
                                   "#pragma mdh\n"
                                   "for (int e = 0; e < 1048576; e++)\n"
                                   "  for (int b = 0; b < 256; b++)\n"
                                   "    counts[b] += elements[e] == bins[b] ? 1 : 0;")),
             ShippedExpression("histo"));
}

// Through a function of structs, and through a macro with statements.
TEST(CLoopsTest, Mandelbrot) {
  ExpectSame(ParseLoops(R"(
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
             ParseLoops(R"(
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
  const Result<Expression> expression = ParseLoops(text);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(ToText(expression->function()), "{ y = x2 + 2 * x1 }");
}

TEST(CLoopsTest, PrefixSums) {
  const Result<Expression> expression =
      ParseLoops(InFunction("const float *x, float *y",
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
  const Result<Expression> expression = ParseLoops(text, {}, "thrice");
  ASSERT_TRUE(expression.ok()) << expression.status();
  ExpectPrintsBack(*expression);
  EXPECT_EQ(expression->name(), "thrice");
  EXPECT_EQ(ToText(expression->function()), "{ y = x * 3 }");
}

}  // namespace
}  // namespace mdh::c_loops_test
