// Dimensions whose exchange changes no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/expression/dependences.h"
#include "core/text/parser.h"

namespace mdh::exchangeable_dimensions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Expression Parsed(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status() << text;
  return *std::move(expression);
}

// A sum over k of `value`, of rows i and j of x and what `more` reads.
Expression OfRows(const std::string& value, const std::string& more = "",
                  const std::string& parameters = "", const std::string& sizes = "7,7,5") {
  return Parsed("e := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<" + sizes +
                ">( f, (++, ++, +) ) o inp_view<fp32" + (more.empty() ? "" : ",fp32") +
                ">( x: (i,j,k) -> (i,k), (i,j,k) -> (j,k)" + more + " ) where f(a, b" + parameters +
                ") -> y { y = " + value + " }");
}

TEST(ExchangeableDimensions, AreThoseOfProductsOfABufferWithItself) {
  const Expression gram = OfRows("a * b");
  EXPECT_THAT(ExchangeableDimensions(gram), ElementsAre(ElementsAre(0, 1)));
  EXPECT_EQ(MostEqualResults(gram), 2);
  EXPECT_DOUBLE_EQ(ShareOfDistinctResults(gram), 28.0 / 49);
}

TEST(ExchangeableDimensions, KnowWhichOperationsCommute) {
  for (const char* value : {"a * b", "a + b", "(a - 1) * (b - 1)", "max(a, b)", "a * a + b * b",
                            "abs(a) * abs(b) + 2"}) {
    EXPECT_THAT(ExchangeableDimensions(OfRows(value)), ElementsAre(ElementsAre(0, 1))) << value;
  }
  for (const char* value :
       {"a - b", "a * b + a", "a / b", "(a - 1) * (b - 2)", "(a - b) * (a - b)"}) {
    EXPECT_THAT(ExchangeableDimensions(OfRows(value)), IsEmpty()) << value;
  }
}

TEST(ExchangeableDimensions, ReadTheSameOfOtherBuffers) {
  const auto with = [](const std::string& access) {
    return ExchangeableDimensions(OfRows("a * b * w", ", w: " + access, ", w"));
  };
  EXPECT_THAT(with("(i,j,k) -> (k)"), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(with("(i,j,k) -> (i + j)"), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(with("(i,j,k) -> (i)"), IsEmpty());
  EXPECT_THAT(with("(i,j,k) -> (i,j)"), IsEmpty());
  EXPECT_THAT(with("(i,j,k) -> (i + 2*j)"), IsEmpty());
}

TEST(ExchangeableDimensions, HaveOneSizeAndAreConcatenated) {
  EXPECT_THAT(ExchangeableDimensions(OfRows("a * b", "", "", "7,6,5")), IsEmpty());
  EXPECT_THAT(
      ExchangeableDimensions(Parsed(
          "e := out_view<fp32>( y: (i,j) -> (i) ) o md_hom<7,7>( f, (++, +) ) o "
          "inp_view<fp32>( x: (i,j) -> (i), (i,j) -> (j) ) where f(a, b) -> y { y = a * b }")),
      IsEmpty());
}

TEST(ExchangeableDimensions, MayBeIndices) {
  const auto of = [](const std::string& value) {
    return ExchangeableDimensions(
        Parsed("e := out_view<int64>( y: (i,j) -> (i,j) ) o md_hom<7,7>( f, (++, ++) ) o "
               "inp_view<int64>( x: (i,j) -> (0) ) where f(a) -> y { y = " +
               value + " }"));
  };
  EXPECT_THAT(of("a * (i + j)"), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(of("a * (i - j)"), IsEmpty());
}

TEST(ExchangeableDimensions, FormGroupsOfMoreThanTwo) {
  const Expression cube = Parsed(R"(
    e := out_view<fp32>( y: (i,j,l,k) -> (i,j,l) ) o md_hom<4,4,4,5>( f, (++, ++, ++, +) ) o
      inp_view<fp32>( x: (i,j,l,k) -> (i,k), (i,j,l,k) -> (j,k), (i,j,l,k) -> (l,k) )
    where f(a, b, c) -> y { y = a + b + c })");
  // Another order of three operands is another sum.
  EXPECT_THAT(ExchangeableDimensions(cube), ElementsAre(ElementsAre(0, 1)));
  const Expression blocks = Parsed(R"(
    e := out_view<fp32>( y: (i,j,p,q) -> (i,j,p,q) ) o md_hom<4,4,3,3>( f, (++, ++, ++, ++) ) o
      inp_view<fp32>( x: (i,j,p,q) -> (i + j, p + q) ) where f(a) -> y { y = a })");
  EXPECT_THAT(ExchangeableDimensions(blocks), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(MostEqualResults(blocks), 4);
  EXPECT_DOUBLE_EQ(ShareOfDistinctResults(blocks), 10.0 / 16 * 6 / 9);
  const Expression all = Parsed(R"(
    e := out_view<fp32>( y: (i,j,l) -> (i,j,l) ) o md_hom<4,4,4>( f, (++, ++, ++) ) o
      inp_view<fp32>( x: (i,j,l) -> (i + j + l) ) where f(a) -> y { y = a })");
  EXPECT_THAT(ExchangeableDimensions(all), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_EQ(MostEqualResults(all), 6);
  EXPECT_DOUBLE_EQ(ShareOfDistinctResults(all), 20.0 / 64);
}

}  // namespace
}  // namespace mdh::exchangeable_dimensions_test
