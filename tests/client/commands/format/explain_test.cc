#include "client/commands/format/explain.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/format/expression_facts.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::explain_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Expression Parse(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

Expression MatMul() {
  return Parse(R"(
    matmul := out_view<fp32>( C: (i,j,k) -> (i,j) ) o
      md_hom<4,8,16>( f, (++, ++, +) ) o
      inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B[16, 8]: (i,j,k) -> (k,j) )
    where f(A, B) -> C { C = A * B })");
}

// A pooling window that moves by 2, and three neighbours.
Expression Windows() {
  return Parse(R"(
    windows := out_view<int32>( y: (p,r) -> (p) ) o
      md_hom<10,3>( f, (++, max) ) o
      inp_view<int32>( x: (p,r) -> (2*p + r), (2*p + r + 1) )
    where f(a, b) -> y { y = a > b ? a : b })");
}

// y[i] = the sum of x up to i - 1, where x[-1] is 7; in fp32 from fp16, which is stored transposed.
Expression ShiftedScan(const CombineOperator& combine) {
  Buffer x{"x", ScalarType::kFloat16, {5}, {{{{{1}, -1}}}}, true};
  x.boundary = {Boundary::Kind::kConstant, {ScalarValue::Real(ScalarType::kFloat16, 7)}};
  Buffer y{"y", ScalarType::kFloat16, {}, {{{{{1}, 0}}}}};
  y.given_strides = {3};
  ScalarFunction f =
      *ScalarFunction::Create("f", {{"x", ScalarType::kFloat16}}, {{"y", ScalarType::kFloat32}},
                              {{ScalarOp::kParameter, ScalarType::kFloat16, {}, 0},
                               {ScalarOp::kCast, ScalarType::kFloat32, {0}}},
                              {1});
  Result<Expression> expression =
      Expression::Create({"scan", {{"i", 6}}, {x}, {y}, std::move(f), {combine.AsPrefixSum()}});
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

CombineOperator Sum() {
  return *CombineOperator::PointWise(PointWiseKind::kAdd, {ScalarType::kFloat32});
}

// The last of two values.
CombineOperator Last() {
  const ScalarType type = ScalarType::kFloat32;
  return *CombineOperator::PointWise(
      *ScalarFunction::Create("last", {{"a", type}, {"b", type}}, {{"c", type}},
                              {{ScalarOp::kParameter, type, {}, 1}}, {0}),
      std::nullopt);
}

TEST(Explain, DimensionsHaveOperatorsAndTheirLaws) {
  const std::string text = ExplainAsText(MatMul());
  EXPECT_THAT(text, HasSubstr("i        4 points, concatenated (++)\n"));
  EXPECT_THAT(text, HasSubstr("k        16 points, reduced with +: associative and commutative up "
                              "to rounding, neutral element 0\n"));
  EXPECT_THAT(ExplainAsText(Windows()),
              HasSubstr("reduced with max: associative and commutative, neutral element "
                        "-2147483648\n"));
}

TEST(Explain, OperatorsOfOneScanNeedNotCommute) {
  EXPECT_THAT(ExplainAsText(ShiftedScan(Last())),
              HasSubstr("prefix sums with last: associative, not commutative, no neutral element "
                        "is known\n"));
  EXPECT_TRUE(LawsOf(ShiftedScan(Sum()))->is_commutative);
  EXPECT_THAT(ExplainAsText(ShiftedScan(Sum())), HasSubstr("prefix sums with +: associative and"));
}

TEST(Explain, OperatorsThatNanUpsetsKeepTheOrder) {
  const auto text = [](const std::string& type) {
    return ExplainAsText(Parse("m := out_view<" + type +
                               ">( y: (k) -> () ) o md_hom<8>( f, (larger) ) o " + "inp_view<" +
                               type + ">( x: (k) -> (k) ) where f(x) -> y { y = x }, " +
                               "larger(a, b) -> c { c = a > b ? a : b }"));
  };
  const std::string note = "; not for nan, so that values are combined in their order\n";
  EXPECT_THAT(text("fp32"), HasSubstr(note));
  EXPECT_THAT(text("int32"), Not(HasSubstr(note)));
}

TEST(Explain, ConcatenationAloneHasNoLaws) {
  const Expression copy = Parse(R"(
    copy := out_view<int8>( y: (i) -> (i) ) o md_hom<100>( f, (++) ) o
      inp_view<int8>( x: (i) -> (i) )
    where f(x) -> y { y = x })");
  EXPECT_FALSE(LawsOf(copy).has_value());
  EXPECT_THAT(ExplainAsText(copy), HasSubstr("per point: none\n"));
  EXPECT_THAT(ExplainAsText(copy), Not(HasSubstr("per combination")));
  EXPECT_THAT(ExplainAsText(copy), Not(HasSubstr("per element")));
  EXPECT_THAT(ExplainAsText(copy), HasSubstr("computed in int8, stored as int8"));
}

TEST(Explain, BuffersHaveShapeLayoutAndReuse) {
  const std::string text = ExplainAsText(MatMul());
  EXPECT_THAT(text, HasSubstr("A        fp32[4,16], 256 bytes: (i,j,k) -> (i, k)\n"));
  EXPECT_THAT(text, HasSubstr("row-major, extents from the accesses\n"
                              "             every element serves 8 points along j\n"));
  EXPECT_THAT(text, HasSubstr("row-major, extents as given\n"
                              "             every element serves 4 points along i\n"));
}

TEST(Explain, OverlappingWindowsAreReuse) {
  const Expression windows = Windows();
  const Reuse reuse = ReuseOf(windows, windows.inputs()[0]);
  EXPECT_EQ(reuse.factor, 1);
  EXPECT_THAT(reuse.shared_indices, ElementsAre(Pair(0, ElementsAre(0, 1))));
  EXPECT_EQ(reuse.accesses, 60);
  EXPECT_EQ(reuse.elements, 22);
  const std::string text = ExplainAsText(windows);
  EXPECT_THAT(text, HasSubstr("p and r share index 0\n"));
  EXPECT_THAT(text, HasSubstr("2 accesses at every point\n"));
  EXPECT_THAT(text, HasSubstr("2.727 accesses per element\n"));
}

TEST(Explain, BordersStridesAndTypesAreSaid) {
  const Expression scan = ShiftedScan(Sum());
  const std::string text = ExplainAsText(scan);
  EXPECT_THAT(text, HasSubstr("outside of the extents: 7\n"));
  EXPECT_THAT(text, HasSubstr("strides (3) elements, extents from the accesses\n"));
  EXPECT_THAT(text, HasSubstr("y        combined in fp32, stored as fp16\n"));
  // The element that lies outside is not counted.
  EXPECT_EQ(ReuseOf(scan, scan.inputs()[0]).elements, 5);
}

TEST(Explain, WorkIsCountedByKind) {
  const std::string text = ExplainAsText(MatMul());
  EXPECT_THAT(text, HasSubstr("512 points\n    per point: 1 fp32 *\n    per combination: 1 fp32 +\n"
                              "    1024 floating-point operations, 896 bytes touched, 1.14 "
                              "operations per byte\n"));
  EXPECT_THAT(CountOperations(Windows().function()),
              ElementsAre(Pair("int32 >", 1), Pair("int32 ?:", 1)));
  EXPECT_THAT(CountOperations(ShiftedScan(Sum()).function()),
              ElementsAre(Pair("fp32 conversion", 1)));
}

TEST(Explain, TouchedBytesOfAColumnAreNotItsLines) {
  const Expression column = *ParseExpression(
      "col := out_view<fp32>( c: (i) -> (i) ) o md_hom<2000>( f, (++) ) o "
      "inp_view<fp32>( a[2000,2000]: (i) -> (i,7) ) where f(a) -> c { c = a }");
  EXPECT_THAT(ExplainAsText(column), HasSubstr("15.6 KiB (133 KiB in lines of 64 bytes) touched"));
  EXPECT_EQ(ExplainAsJson(column)["compulsory_bytes"], 16'000);
}

TEST(Explain, JsonHasTheSame) {
  const nlohmann::ordered_json json = ExplainAsJson(MatMul());
  EXPECT_EQ(json["dimensions"][2]["operator"], "+");
  EXPECT_EQ(json["dimensions"][2]["kind"], "pw");
  EXPECT_EQ(json["combination"]["is_commutative"], true);
  EXPECT_EQ(json["combination"]["identity"], nlohmann::ordered_json({"0"}));
  EXPECT_EQ(json["inputs"][0]["reuse"]["dimensions"], nlohmann::ordered_json({"j"}));
  EXPECT_EQ(json["inputs"][0]["reuse"]["factor"], 8);
  EXPECT_EQ(json["inputs"][1]["extents_given"], true);
  EXPECT_EQ(json["operations"], (nlohmann::ordered_json{{"fp32 *", 1}}));
  EXPECT_EQ(json["points"], 512);
  EXPECT_EQ(json["flops"], 1024);
  EXPECT_EQ(json["compulsory_bytes"], 896);
  EXPECT_FALSE(json["inputs"][0].contains("boundary"));
  const nlohmann::ordered_json scan = ExplainAsJson(ShiftedScan(Last()));
  EXPECT_EQ(scan["inputs"][0]["boundary"], "7");
  EXPECT_EQ(scan["outputs"][0]["strides"], nlohmann::ordered_json({3}));
  EXPECT_EQ(scan["outputs"][0]["is_row_major"], false);
  EXPECT_EQ(scan["results"][0]["type"], "fp32");
  EXPECT_EQ(scan["results"][0]["stored_type"], "fp16");
  EXPECT_EQ(scan["combination"]["identity"], nullptr);
}

}  // namespace
}  // namespace mdh::explain_test
