// Store functions: what is made of results before they are stored.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/expression/canonical.h"
#include "core/expression/interpreter.h"
#include "core/expression/touched_elements.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "tests/core/buffer_values.h"

namespace mdh::store_function_test {
namespace {

Expression Parsed(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << "\n" << text;
  return *std::move(expression);
}

// y[i] = max(sum over k of A[i,k] * x[k] + b[i], 0) - A[i,0]
std::string Dense(
    const std::string& store = "store s<fp32,fp32>( b: (i,k) -> (i), A: (i,k) -> (i, 0) )",
    const std::string& s = "s(c, b, a) -> y { y = max(c + b, 0) - a }") {
  return "dense := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<2,3>( f, (++, +), " + store +
         " ) o inp_view<fp32,fp32>( A: (i,k) -> (i,k), x: (i,k) -> (k) )\n"
         "where f(A, x) -> c { c = A * x }, " +
         s;
}

TEST(StoreFunction, MakesOutputsOfFinalResults) {
  const Expression e = Parsed(Dense());
  ASSERT_NE(e.store(), nullptr);
  ASSERT_EQ(e.passed_inputs().size(), 3u);  // A is passed once
  EXPECT_EQ(e.passed_inputs()[2].name, "b");
  EXPECT_EQ(e.passed_store_input(0), 2);
  EXPECT_EQ(e.passed_store_input(1), 0);
  const Result<std::vector<BufferBytes>> y =
      Interpret(e, {BytesOfValues<float>({1, 2, 3, 4, 5, 6}), BytesOfValues<float>({1, 0, -1}),
                    BytesOfValues<float>({1, 7})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOfBytes<float>((*y)[0]), (std::vector<float>{0 - 1, 5 - 4}));
}

TEST(StoreFunction, TakesResultsOfAnyNumberAndTypeAndIndices) {
  const Expression e = Parsed(R"(
    mean := out_view<fp32>( y: (i,k) -> (i) ) o
      md_hom<2,4>( f, (++, +), store s ) o inp_view<int8>( x: (i,k) -> (i,k) )
    where f(x) -> (sum: int32, squares: int64, n: int32) {
            sum = int32(x); squares = int64(x) * int64(x); n = 1 },
          s(sum, squares, n) -> y { y = fp32(squares - int64(sum)) / fp32(n) + fp32(i) })");
  EXPECT_EQ(e.passed_inputs().size(), 1u);
  EXPECT_TRUE(e.finishes_results());
  const Result<std::vector<BufferBytes>> y =
      Interpret(e, {BytesOfValues<int8_t>({1, 2, 3, 4, -1, 0, 1, 2})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOfBytes<float>((*y)[0]), (std::vector<float>{20.0F / 4, 4.0F / 4 + 1}));
}

TEST(StoreFunction, IsAppliedToEveryPrefixSum) {
  const Expression e = Parsed(R"(
    scan := out_view<int32,int32>( y: (i) -> (i), z: (i) -> (i) ) o
      md_hom<4>( f, (ps(+)), store s<int32>( w: (i) -> (3 - i) ) ) o inp_view<int32>( x: (i) -> (i) )
    where f(x) -> p { p = x }, s(p, w) -> (y, z) { y = p * w; z = p })");
  const Result<std::vector<BufferBytes>> outputs = Interpret(
      e, {BytesOfValues<int32_t>({1, 2, 3, 4}), BytesOfValues<int32_t>({1, 10, 100, 1000})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ValuesOfBytes<int32_t>((*outputs)[0]), (std::vector<int32_t>{1000, 300, 60, 10}));
  EXPECT_EQ(ValuesOfBytes<int32_t>((*outputs)[1]), (std::vector<int32_t>{1, 3, 6, 10}));
}

TEST(StoreFunction, IsAppliedToTheIdentityWhereNothingIsCombined) {
  const Expression e = Parsed(R"(
    none := out_view<int32>( y: (i,k) -> (i) ) o
      md_hom<2,0>( f, (++, +), store s<int32>( b: (i,k) -> (i) ) ) o
      inp_view<int32>( x: (i,k) -> (i,k) )
    where f(x) -> c { c = x }, s(c, b) -> y { y = c + b })");
  const Result<std::vector<BufferBytes>> y =
      Interpret(e, {BufferBytes(), BytesOfValues<int32_t>({5, 6})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOfBytes<int32_t>((*y)[0]), (std::vector<int32_t>{5, 6}));
}

TEST(StoreFunction, IsPartOfTheDigestAndNamesAreNot) {
  const std::string digest = Digest(Parsed(Dense()));
  EXPECT_EQ(Digest(Parsed(ToText(Parsed(Dense())))), digest);
  EXPECT_EQ(Digest(Parsed(Dense("store t<fp32,fp32>( c: (i,k) -> (i), A: (i,k) -> (i, 0) )",
                                "t(d, e, g) -> h { h = max(d + e, 0) - g }"))),
            digest);
  EXPECT_NE(Digest(Parsed(Dense("store s<fp32,fp32>( b: (i,k) -> (i), A: (i,k) -> (i, 1) )"))),
            digest);
  // A buffer of its own is not the input.
  EXPECT_NE(Digest(Parsed(Dense("store s<fp32,fp32>( b: (i,k) -> (i), C: (i,k) -> (i, 0) )"))),
            digest);
}

TEST(StoreFunction, SharedInputsHaveTheExtentsThatBothNeed) {
  const Expression e =
      Parsed(Dense("store s<fp32,fp32>( b: (i,k) -> (i), A: (i,k) -> (i + 4, 1) )"));
  EXPECT_EQ(e.inputs()[0].extents, (std::vector<int64_t>{6, 3}));
  EXPECT_EQ(e.store()->inputs[1].extents, (std::vector<int64_t>{6, 3}));
  EXPECT_EQ(InputBytes(e, 0), (CountBounds{24, 32}));  // 2 * 3 elements, and 2 others
}

// Strides that are dense for what f reads are none for what both read.
TEST(StoreFunction, SharedInputsKeepTheLayoutThatIsGiven) {
  const auto text = [](const std::string& a, const std::string& read) {
    return "d := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<2,3>( f, (++, +), store s<fp32>( " +
           read + ": (i,k) -> (0, i + 2) ) ) o inp_view<fp32>( " + a +
           ": (i,k) -> (i,k) ) where f(a) -> c { c = a }, s(c, a) -> y { y = c - a }";
  };
  const Expression strided = Parsed(text("A strides (3, 1)", "A"));
  EXPECT_EQ(strided.inputs()[0].extents, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(strided.inputs()[0].strides(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(strided.store()->inputs[0].strides(), (std::vector<int64_t>{3, 1}));
  const Expression dense = Parsed(text("A strides (4, 1)", "A"));
  EXPECT_TRUE(dense.inputs()[0].is_dense());
  EXPECT_EQ(Digest(dense), Digest(Parsed(text("A", "A"))));
  EXPECT_NE(Digest(dense), Digest(strided));
  EXPECT_EQ(Digest(Parsed(ToText(strided))), Digest(strided));
}

TEST(StoreFunction, CountsItsOperationsAndBytesOnce) {
  const Expression e = Parsed(Dense());
  EXPECT_EQ(e.FloatingPointOperations(), 2 * 3 * 2 + 2 * 3);
  EXPECT_EQ(e.CompulsoryBytes(), 4 * (6 + 3 + 2 + 2));
}

}  // namespace
}  // namespace mdh::store_function_test
