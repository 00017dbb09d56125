// Values of one iteration: conversions, functions and statements mean what they mean in C.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/c_loops/c_loops_text.h"
#include "tests/core/expect_same.h"

namespace mdh::c_loops_values_test {
namespace {

std::string FunctionOf(const std::string& parameters, const std::string& loops) {
  const Result<Expression> expression = ParseLoops(InFunction(parameters, loops));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return expression.ok() ? ToText(expression->function()) : "";
}

std::string Map(const std::string& parameters, const std::string& statement) {
  return FunctionOf(parameters, "#pragma mdh\nfor (int i = 0; i < 8; ++i) { " + statement + " }");
}

TEST(CLoopsValuesTest, ConversionsAreThoseOfC) {
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

TEST(CLoopsValuesTest, MathFunctions) {
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
TEST(CLoopsValuesTest, ShiftsOfNegativeValuesRoundDown) {
  for (const int by : {0, 1, 2, 5, 30, 31}) {
    const Result<Expression> expression = ParseLoops(InFunction(
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
  const Result<Expression> mean = ParseLoops(
      InFunction("const uint8_t a[5], const uint8_t b[5], uint8_t c[5]",
                 "#pragma mdh\nfor (int i = 0; i < 5; ++i) c[i] = (a[i] + b[i] + 1) >> 1;"));
  ASSERT_TRUE(mean.ok()) << mean.status();
  const auto byte = [](int value) { return ScalarValue::Integer(ScalarType::kUint8, value); };
  EXPECT_EQ(mean->function().Evaluate({byte(255), byte(254)})[0].as_int64(), 255);
  EXPECT_EQ(mean->function().Evaluate({byte(0), byte(1)})[0].as_int64(), 1);
}

// A comparison that is no reduction stays what it is.
TEST(CLoopsValuesTest, ChoicesInTheValueStayComparisons) {
  EXPECT_EQ(Map("float *x, float *y", "y[i] = x[i] > 1 ? x[i] : 1;"), "{ y = x > 1 ? x : 1 }");
  EXPECT_EQ(Map("float *x, float *y", "y[i] = fmaxf(x[i], 1);"), "{ y = fmax(x, 1) }");
}

TEST(CLoopsValuesTest, StatementsOfTheBody) {
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

TEST(CLoopsValuesTest, TablesAndConstants) {
  const Result<Expression> expression = ParseLoops(R"(
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

}  // namespace
}  // namespace mdh::c_loops_values_test
