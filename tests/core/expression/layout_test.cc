// Buffers with layouts, boundaries and records; prefix sums and indices in the interpreter.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/expression/canonical.h"
#include "core/expression/expression.h"
#include "core/expression/interpreter.h"
#include "core/text/parser.h"
#include "tests/error_message.h"

namespace mdh::layout_test {
namespace {

Expression Parse(const std::string& text) {
  const Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *expression;
}

// A copy of x, which is declared as `input`, to y, declared as `output`; dimensions i of 3, j of 4.
std::string Copy(const std::string& input, const std::string& output,
                 const std::string& type = "int32") {
  return "copy := out_view<" + type + ">( " + output +
         " ) o md_hom<3,4>( f, (++, ++) ) o inp_view<" + type + ">( " + input +
         " ) where f(x) -> y { y = x }";
}

std::vector<int32_t> Computed(const Expression& expression, const std::vector<int32_t>& values) {
  BufferBytes input(values.size() * sizeof(int32_t));
  std::memcpy(input.data(), values.data(), input.size());
  const Result<std::vector<BufferBytes>> outputs = Interpret(expression, {input});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<int32_t> result((*outputs)[0].size() / sizeof(int32_t));
  std::memcpy(result.data(), (*outputs)[0].data(), (*outputs)[0].size());
  return result;
}

constexpr char kOut[] = "y: (i,j) -> (i,j)";

TEST(LayoutTest, StridesSayWhereElementsAre) {
  const Expression columns = Parse(Copy("x[3,4] layout (1, 0): (i,j) -> (i,j)", kOut));
  EXPECT_EQ(columns.inputs()[0].given_strides, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(columns.inputs()[0].elements(), 12);
  EXPECT_EQ(Computed(columns, {0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23}),
            (std::vector<int32_t>{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}));
  const Expression padded = Parse(Copy("x: (i,j) -> (i,j)", "y strides (5, 1): (i,j) -> (i,j)"));
  EXPECT_EQ(padded.outputs()[0].elements(), 14);
  EXPECT_EQ(padded.outputs()[0].size_bytes(), 56);
  EXPECT_EQ(Computed(padded, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
            (std::vector<int32_t>{1, 2, 3, 4, 0, 5, 6, 7, 8, 0, 9, 10, 11, 12}));
  const Expression repeated = Parse(Copy("x strides (0, 1): (i,j) -> (i,j)", kOut));
  EXPECT_EQ(Computed(repeated, {1, 2, 3, 4}),
            (std::vector<int32_t>{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(LayoutTest, OneMeaningHasOneDigest) {
  const std::string digest = Digest(Parse(Copy("x[3,4]: (i,j) -> (i,j)", kOut)));
  for (const char* same :
       {"x[3,4] layout (0, 1): (i,j) -> (i,j)", "x[3,4] strides (4, 1): (i,j) -> (i,j)",
        "x[3,4] else 7: (i,j) -> (i,j)", "x[3,4] else clamp: (i,j) -> (i,j)"}) {
    EXPECT_EQ(Digest(Parse(Copy(same, kOut))), digest) << same;
  }
  for (const char* other :
       {"x[3,4] layout (1, 0): (i,j) -> (i,j)", "x[3,4] strides (5, 1): (i,j) -> (i,j)",
        "x[3,4] else 7: (i,j) -> (i, j + 1)", "x[3,4] else 8: (i,j) -> (i, j + 1)",
        "x[3,4] else clamp: (i,j) -> (i, j + 1)"}) {
    EXPECT_NE(Digest(Parse(Copy(other, kOut))), digest) << other;
  }
}

TEST(BoundaryTest, OutsideIsTheConstantOrTheNearestElement) {
  const std::vector<int32_t> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(Computed(Parse(Copy("x[3,4] else -7: (i,j) -> (i - 1, j + 2)", kOut)), x),
            (std::vector<int32_t>{-7, -7, -7, -7, 3, 4, -7, -7, 7, 8, -7, -7}));
  EXPECT_EQ(Computed(Parse(Copy("x[3,4] else clamp: (i,j) -> (i - 1, j + 2)", kOut)), x),
            (std::vector<int32_t>{3, 4, 4, 4, 3, 4, 4, 4, 7, 8, 8, 8}));
  EXPECT_EQ(Computed(Parse(Copy("x[3,4] layout (1, 0) else 0: (i,j) -> (2*i, 2*j)", kOut)), x),
            (std::vector<int32_t>{1, 7, 0, 0, 3, 9, 0, 0, 0, 0, 0, 0}));
}

TEST(BoundaryTest, ElementsOfAllFieldsAndAccesses) {
  const Expression expression = Parse(
      "pairs := out_view<fp64>( y: (i) -> (i) ) o md_hom<3>( f, (++) ) o inp_view<{n: int8, x: "
      "fp64}>( a[3] else {n: 5, x: 0.5}: (i) -> (i), (i + 1) ) "
      "where f(a, b) -> y { y = b.x * fp64(a.n) + fp64(b.n) }");
  const Buffer& buffer = expression.inputs()[0];
  EXPECT_EQ(buffer.size_bytes(), 48);
  EXPECT_EQ(buffer.Linearized(1), (AffineIndex{{1}, 1}));
  EXPECT_EQ(buffer.Linearized(1, 0), (AffineIndex{{16}, 16}));  // in bytes
  EXPECT_EQ(buffer.Linearized(1, 1), (AffineIndex{{2}, 3}));    // in doubles
  EXPECT_EQ(buffer.ElementAt(1, {1}), 2);
  EXPECT_EQ(buffer.ElementAt(1, {2}), -1);
  BufferBytes input(48);
  for (int n = 0; n < 3; ++n) {
    ScalarValue::Integer(ScalarType::kInt8, n + 1).Store(input.data() + 16 * n);
    ScalarValue::Real(ScalarType::kFloat64, 10 * n).Store(input.data() + 16 * n + 8);
  }
  const std::vector<BufferBytes> outputs = *Interpret(expression, {input});
  std::vector<double> y(3);
  std::memcpy(y.data(), outputs[0].data(), 24);
  EXPECT_EQ(y, (std::vector<double>{12, 43, 6.5}));
}

TEST(PrefixSumTest, InTwoDimensionsAndBesideAReduction) {
  const std::string text =
      "sums := out_view<int32>( y: (i,j,k) -> (i,j) ) o md_hom<2,3,2>( f, (ps(+), ps(+), +) ) o "
      "inp_view<int32>( x: (i,j,k) -> (i,j,k) ) where f(x) -> y { y = x }";
  // Rows of pairs: 1+2 3+4 5+6 and 7+8 9+10 11+12.
  EXPECT_EQ(Computed(Parse(text), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
            (std::vector<int32_t>{3, 10, 21, 18, 44, 78}));
}

TEST(PrefixSumTest, OrderIsKeptForOperatorsThatDoNotCommute) {
  const std::string text =
      "last := out_view<int32>( y: (i) -> (i) ) o md_hom<5>( f, (ps(last)) ) o "
      "inp_view<int32>( x: (i) -> (i) ) where f(x) -> y { y = x }, "
      "last(a, b) -> c { c = b == 0 ? a : b }";
  EXPECT_EQ(Computed(Parse(text), {3, 0, 4, 0, 0}), (std::vector<int32_t>{3, 3, 4, 4, 4}));
}

TEST(IndexTest, IndicesAreArguments) {
  const Expression expression = Parse(
      "e := out_view<int64>( y: (i,j) -> (i,j) ) o md_hom<2,3>( f, (++, ++) ) o inp_view() "
      "where f() -> y { y = 10 * i + j }");
  EXPECT_EQ(expression.index_dimensions(), (std::vector<int>{0, 1}));
  const std::vector<BufferBytes> outputs = *Interpret(expression, {});
  std::vector<int64_t> y(6);
  std::memcpy(y.data(), outputs[0].data(), 48);
  EXPECT_EQ(y, (std::vector<int64_t>{0, 1, 2, 10, 11, 12}));
}

TEST(AccumulationTest, DeclaredTypesAreRoundedAfterEveryCombination) {
  const auto sum = [](const std::string& result, Accumulation accumulation) {
    const Expression expression = Parse(
        "sum := out_view<fp32>( s: (k) -> () ) o md_hom<3000>( f, (+) ) o inp_view() where f() "
        "-> " +
        result + " { s = 1 }");
    const std::vector<BufferBytes> outputs = *Interpret(expression, {}, accumulation);
    return ScalarValue::Load(ScalarType::kFloat32, outputs[0].data()).as_double();
  };
  EXPECT_EQ(sum("(s: fp16)", Accumulation::kDeclared), 2048);
  EXPECT_EQ(sum("(s: fp16)", Accumulation::kWide), 3000);
  EXPECT_EQ(sum("s", Accumulation::kDeclared), 3000);
}

}  // namespace
}  // namespace mdh::layout_test
