// Which products tiles may leave out, and where they do.
#include "codegen/lower/tiles/outside_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/choose/tiles/reached_share.h"
#include "core/text/parser.h"

namespace mdh::outside_products_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Convolution {
  std::string rows = "50";
  std::string outside = " else 0";
  std::string combine = "+";
  std::string body = "x * w";
  std::string type = "fp32";
};

Expression Parsed(const Convolution& c) {
  Result<Expression> expression = ParseExpression(
      absl::StrCat("c<T = ", c.type, " | N = ", c.rows, ", P = 4, K = 16, R = 3> := ",
                   "out_view<T>( y: (n,p,k,r) -> (n,p,k) ) o md_hom<N,P,K,R>( f, (++, ++, ++, ",
                   c.combine, ") ) o inp_view<T,T>( x[N,P]", c.outside,
                   ": (n,p,k,r) -> (n, p + r - 1), w: (n,p,k,r) -> (r,k) ) ",
                   "where f(x, w) -> y { y = ", c.body, " }"),
      {});
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

bool LeavesOut(const Convolution& c, NumericsPolicy numerics = NumericsPolicy::kReassociate) {
  return OutsideProductsOf(Parsed(c), numerics).has_value();
}

TEST(OutsideProductsTest, AreThoseOfSumsWithZeros) {
  const auto found = OutsideProductsOf(Parsed({}), NumericsPolicy::kReassociate);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->zeros, 0);
  EXPECT_EQ(found->factor, 1);
  EXPECT_TRUE(LeavesOut({.body = "w * x", .type = "fp64"}));
  EXPECT_FALSE(LeavesOut({.outside = " else 1"}));
  EXPECT_FALSE(LeavesOut({.outside = " else clamp"}));
  EXPECT_FALSE(LeavesOut({.combine = "max"}));
  EXPECT_FALSE(LeavesOut({.body = "x + w"}));
  EXPECT_FALSE(LeavesOut({.body = "x * x * w"}));
  EXPECT_FALSE(LeavesOut({.type = "fp16"})) << "computed in fp32";
  EXPECT_FALSE(LeavesOut({.type = "int32"}));
}

TEST(OutsideProductsTest, NotWhereTheOrderIsFixedOrFewAreSaved) {
  EXPECT_FALSE(LeavesOut({}, NumericsPolicy::kExactOrder));
  EXPECT_FALSE(LeavesOut({}, NumericsPolicy::kFixedTree));
  // A sixth of 4 points along p and as many as rows for each element of w.
  EXPECT_TRUE(LeavesOut({.rows = "50"}));
  EXPECT_FALSE(LeavesOut({.rows = "40"}));
}

std::string SourceOf(const Convolution& c, const std::string& window = "1") {
  const Expression expression = Parsed(c);
  const SystemModel model = OpenMpSimdRegistersModel();
  DeviceDescription device;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.compiler = "gcc";
  const TuningParameters parameters = *ParseTuningParameters(
      absl::StrCat("model=OpenMP+SIMD+RM; tile=50,4,16,3|50,4,16,3|50,4,16,3|2,1,16,", window,
                   "|1,1,16,1|1,1,1,"
                   "1; order=0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3|0,1,2,3; "
                   "inputs=in_place:0,1:-1|in_place:0,1:-1"),
      expression);
  const auto low = Lower(expression, model, device, parameters);
  EXPECT_TRUE(low.ok()) << low.status();
  return GenerateOpenMp(*low, device)->source;
}

TEST(OutsideProductsTest, TilesAskWhetherTheyReachTheBuffer) {
  const std::string source = SourceOf({});
  EXPECT_THAT(source, HasSubstr("const int reached = -1 < r + p - 1 && r + p - 1 < 4;"));
  EXPECT_THAT(source, HasSubstr("const int zero = finite && !reached;"));
  EXPECT_THAT(SourceOf({.outside = " else 1"}), Not(HasSubstr("finite")));
  EXPECT_THAT(SourceOf({}, /*window=*/"3"), Not(HasSubstr("finite"))) << "unrolled as a whole";
}

TEST(OutsideProductsTest, RulesCountHowOftenTilesReachIt) {
  const Expression expression = Parsed({});
  TileChoice choice;
  choice.tile = {1, 1, 16, 1};
  choice.packed = {false, false};
  const ReachedShare share(expression, NumericsPolicy::kReassociate);
  EXPECT_DOUBLE_EQ(share.Of(choice), 10.0 / 12);
  choice.tile = {5, 2, 16, 1};
  EXPECT_DOUBLE_EQ(share.Of(choice), 1);
  choice.tile = {5, 1, 16, 3};
  EXPECT_DOUBLE_EQ(share.Of(choice), 1);
  choice.tile = {1, 1, 16, 1};
  choice.packed = {true, false};
  EXPECT_DOUBLE_EQ(share.Of(choice), 1) << "copies have zeros of their own";
  EXPECT_DOUBLE_EQ(ReachedShare(expression, NumericsPolicy::kExactOrder).Of(choice), 1);
}

}  // namespace
}  // namespace mdh::outside_products_test
