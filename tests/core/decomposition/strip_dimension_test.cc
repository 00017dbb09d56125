// Along which dimensions copies can have strips.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/index_box.h"
#include "core/decomposition/low_level_expression.h"
#include "core/text/parser.h"
#include "tests/error_message.h"

namespace mdh::strip_dimension_test {
namespace {

using ::testing::HasSubstr;

Expression Product(const std::string& type, const std::string& filter,
                   const std::string& filters = "8") {
  Result<Expression> expression =
      ParseExpression(absl::StrCat("g<T = ", type, " | I = 4, G = 3, K = ", filters,
                                   ", C = 6> := ", "out_view<T>( y: (i,g,k,c) -> (i, K*g + k) ) o ",
                                   "md_hom<I,G,K,C>( f, (++, ++, ++, +) ) o inp_view<T,T>( ",
                                   "x: (i,g,k,c) -> (i, C*g + c), w: (i,g,k,c) -> (", filter,
                                   ", c) ) ", "where f(x, w) -> y { y = x * w }"),
                      {});
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

int StripsOf(const std::string& filter) {
  const Expression expression = Product("fp32", filter);
  return StripDimension(expression, expression.inputs()[1], 0);
}

TEST(StripDimensionTest, IsTheOneOfTheIndexOrOfGroupsOfNeighbours) {
  EXPECT_EQ(StripsOf("k"), 2);
  EXPECT_EQ(StripsOf("K*g + k"), 2);
  EXPECT_EQ(StripsOf("2*K*g + k"), 2) << "every other group";
  EXPECT_EQ(StripsOf("G*k + g"), 1);
  EXPECT_EQ(StripsOf("g + k"), -1);
  EXPECT_EQ(StripsOf("K*g + k + 1"), -1);
  EXPECT_EQ(StripsOf("2*k"), -1);
  EXPECT_EQ(StripsOf("10*g + k"), -1);
}

// Of groups with one filter each.
TEST(StripDimensionTest, DimensionsOfOnePointAreNotCounted) {
  const auto lone = [](const std::string& filter, const std::string& filters) {
    const Expression expression = Product("fp32", filter, filters);
    return LoneDimension(expression, expression.inputs()[1], 0);
  };
  EXPECT_EQ(lone("K*g + k", "1"), 1);
  EXPECT_EQ(lone("K*g + k", "8"), -1);
  EXPECT_EQ(lone("k", "8"), 2);
  EXPECT_EQ(lone("2*g + k", "1"), -1);
  EXPECT_EQ(lone("g + k + 1", "1"), -1);
  const Expression alone = Product("fp32", "K*g + k", "1");
  EXPECT_EQ(StripDimension(alone, alone.inputs()[1], 0), 1);
}

std::string ErrorOf(const std::string& type, int64_t tile, const std::string& rest) {
  const Expression expression = Product(type, "K*g + k");
  const std::string text = absl::StrCat("model=OpenMP+SIMD+RM; tile=4,3,8,6|4,3,8,6|4,3,8,6|2,1,",
                                        tile, ",2|1,1,4,1|1,1,1,1; ",
                                        "order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; ",
                                        "inputs=in_place:0,1:-1|whole:0,1:0", rest);
  const auto parameters = ParseTuningParameters(text, expression);
  if (!parameters.ok()) return ErrorMessage(parameters);
  DeviceDescription device;
  device.compiler = "gcc";
  return ErrorMessage(Validate(expression, OpenMpSimdRegistersModel(), device, *parameters));
}

TEST(StripDimensionTest, GroupsAreInOneRegisterTile) {
  EXPECT_EQ(ErrorOf("fp32", 8, ""), "no error");
  EXPECT_THAT(ErrorOf("fp32", 4, ""),
              HasSubstr("strips of w are groups of k, of which register tiles have a part"));
}

}  // namespace
}  // namespace mdh::strip_dimension_test
