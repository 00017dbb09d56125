// Which rests of reductions are vectors with lanes of zeros, and how tiles cover them.
#include "codegen/lower/tiles/reduced_rest.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/lower/tiles/loop_plan.h"
#include "core/text/parser.h"

namespace mdh::reduced_rest_test {
namespace {

struct Rows {
  std::string combine = "+";
  std::string body = "x * w";
  std::string type = "fp32";
  std::string outside = "";
  std::string weights = "(k)";
};

Expression Parsed(const Rows& rows) {
  Result<Expression> expression = ParseExpression(
      absl::StrCat("rows<T = ", rows.type, " | I = 9, K = 43> := out_view<T>( y: (i,k) -> (i) ) o ",
                   "md_hom<I,K>( f, (++, ", rows.combine, ") ) o inp_view<T,T>( x",
                   rows.outside.empty() ? "" : "[I,K]", rows.outside, ": (i,k) -> (i,k",
                   rows.outside.empty() ? "" : " - 1", "), w: ", "(i,k) -> ", rows.weights,
                   " ) where f(x, w) -> y { y = ", rows.body, " }"),
      {});
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

TEST(ReducedRestTest, ZerosAddNothingToSumsOfProducts) {
  constexpr int kRow = 0, kReduced = 1;
  EXPECT_TRUE(AddNothingAsZeros(Parsed({}), kReduced));
  EXPECT_TRUE(AddNothingAsZeros(Parsed({.body = "abs(x - w)"}), kReduced));
  EXPECT_TRUE(AddNothingAsZeros(Parsed({.type = "int32"}), kReduced));
  EXPECT_FALSE(AddNothingAsZeros(Parsed({}), kRow));
  EXPECT_FALSE(AddNothingAsZeros(Parsed({.combine = "max"}), kReduced));
  EXPECT_FALSE(AddNothingAsZeros(Parsed({.combine = "*"}), kReduced));
  EXPECT_FALSE(AddNothingAsZeros(Parsed({.body = "exp(x) * w + 1"}), kReduced));
  EXPECT_FALSE(AddNothingAsZeros(Parsed({.weights = "(i)"}), kReduced)) << "perhaps infinite";
  EXPECT_FALSE(AddNothingAsZeros(Parsed({.outside = " else 0"}), kReduced)) << "read everywhere";
  EXPECT_FALSE(AddNothingAsZeros(Parsed({.type = "fp16"}), kReduced)) << "loaded one by one";
}

// Pieces of a row in a tile of that many points.
std::vector<TilePiece> PiecesOf(const Rows& rows, int64_t points) {
  const Expression expression = Parsed(rows);
  DeviceDescription device;
  device.simd_bytes = 64;
  const Result<TuningParameters> parameters = ParseTuningParameters(
      "model=OpenMP+SIMD+RM; tile=9,43|9,43|9,43|1,43|1,16|1,1; "
      "order=0,1|0,1|0,1|0,1|0,1|0,1; inputs=in_place:0,1:-1|in_place:0:-1",
      expression);
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  Result<LowLevelExpression> low =
      Lower(expression, OpenMpSimdRegistersModel(), device, *parameters);
  EXPECT_TRUE(low.ok()) << low.status();
  return LoopPlan(*std::move(low)).Pieces(1, points);
}

TEST(ReducedRestTest, IsOneVectorOrPoints) {
  const std::vector<TilePiece> masked = PiecesOf({}, 43);
  ASSERT_EQ(masked.size(), 3u);
  EXPECT_EQ(masked[2].offset, 32);
  EXPECT_EQ(masked[2].width, 16);
  EXPECT_EQ(masked[2].off, 5);
  EXPECT_EQ(PiecesOf({}, 32).size(), 2u);
  const std::vector<TilePiece> points = PiecesOf({.combine = "max"}, 43);
  ASSERT_EQ(points.size(), 2u + 11);
  EXPECT_EQ(points[2].width, 1);
  EXPECT_EQ(points[2].off, 0);
}

}  // namespace
}  // namespace mdh::reduced_rest_test
