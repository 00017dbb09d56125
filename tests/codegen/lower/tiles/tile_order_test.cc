// The order of a tile's points, on its own and in generated code.
#include "codegen/lower/tiles/tile_order.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "codegen/choose/default_parameters.h"
#include "core/decomposition/low_level_expression.h"
#include "tests/shipped_expression.h"

namespace mdh::tile_order_test {
namespace {

DeviceDescription Avx512Device() {
  DeviceDescription device;
  device.name = "test";
  device.cores = 2;
  device.simd_bytes = 64;
  device.vector_registers = 32;
  device.l3_bytes = 8 << 20;
  device.compiler = "gcc";
  return device;
}

// A plan whose register tile is `tile`, with lanes along dimension `lanes`.
LoopPlan PlanOf(const Expression& expression, const std::vector<int64_t>& tile, int lanes,
                NumericsPolicy numerics = NumericsPolicy::kReassociate) {
  const SystemModel model = OpenMpSimdRegistersModel();
  TuningParameters p = DefaultParameters(expression, model, Avx512Device(), numerics);
  const int rank = expression.rank();
  for (int d = 0; d < rank; ++d) {
    const int64_t size = expression.dimensions()[d].size;
    p.tile[0][d] = p.tile[1][d] = p.tile[2][d] = size;
    p.tile[3][d] = tile[static_cast<size_t>(d)];
    p.tile[4][d] = d == lanes ? 16 : 1;
    p.tile[5][d] = 1;
  }
  for (InputParameters& input : p.inputs) {
    input.stage_layer = InputParameters::kInPlace;
    input.strip_dimension = -1;
  }
  const Result<LowLevelExpression> low = Lower(expression, model, Avx512Device(), p);
  EXPECT_TRUE(low.ok()) << low.status();
  return LoopPlan(*low);
}

struct Tile {
  std::vector<TilePoint> steps, points;
  std::vector<TileVisit> order;
};

Tile OrderedTile(const LoopPlan& plan, const std::vector<int64_t>& tile) {
  Tile result;
  result.steps = TileBox(plan, tile, /*reduced=*/true);
  result.points = TileBox(plan, tile, /*reduced=*/false);
  result.order = OrderOfTile(plan, result.steps, result.points);
  return result;
}

// Whether every step and point is there once.
void ExpectComplete(const Tile& tile) {
  std::set<std::pair<size_t, size_t>> visited;
  for (const TileVisit& visit : tile.order) visited.insert({visit.step, visit.point});
  EXPECT_EQ(visited.size(), tile.order.size());
  EXPECT_EQ(visited.size(), tile.steps.size() * tile.points.size());
}

bool IsStepByStep(const Tile& tile) {
  for (size_t n = 1; n < tile.order.size(); ++n) {
    if (tile.order[n].step < tile.order[n - 1].step) return false;
  }
  return true;
}

TEST(TileOrderTest, PlacesOfAConvolutionAreReadInTurn) {
  const Expression conv = Shipped("conv2d.mdh", {{"P", "224"}, {"Q", "224"}});
  const std::vector<int64_t> extents = {8, 16, 5, 5};
  const LoopPlan plan = PlanOf(conv, extents, 1);
  const Tile tile = OrderedTile(plan, extents);
  ExpectComplete(tile);
  // A place of the image is a row p + r and a column s: never left and taken up again.
  std::map<std::pair<int64_t, int64_t>, size_t> last;
  for (size_t n = 0; n < tile.order.size(); ++n) {
    const TilePoint at =
        JoinPoints(plan, tile.points[tile.order[n].point], tile.steps[tile.order[n].step]);
    const std::pair<int64_t, int64_t> place = {at.pieces[0].offset + at.pieces[2].offset,
                                               at.pieces[3].offset};
    const auto known = last.find(place);
    if (known != last.end()) {
      EXPECT_EQ(known->second + 1, n);
    }
    last[place] = n;
  }
  EXPECT_EQ(last.size(), 12u * 5u);
}

TEST(TileOrderTest, ProductsGoStepByStep) {
  const Expression matmul = Shipped("matmul.mdh", {{"I", "64"}, {"J", "64"}, {"K", "64"}});
  const std::vector<int64_t> extents = {6, 64, 4};
  const LoopPlan plan = PlanOf(matmul, extents, 1);
  const Tile tile = OrderedTile(plan, extents);
  ExpectComplete(tile);
  EXPECT_TRUE(IsStepByStep(tile));
}

TEST(TileOrderTest, OperatorsOfUsersAreCombinedInOrder) {
  const Result<Expression> custom = ParseExpression(R"(
    windows :=
      out_view<int32>( y: (p,r) -> (p) ) o
      md_hom<64,4>( f, (++, both) ) o
      inp_view<int32>( x: (p,r) -> (p + r) )
    where f(x) -> y { y = x },
          both(a, b) -> c { c = a + b + a * b })");
  ASSERT_TRUE(custom.ok()) << custom.status();
  const std::vector<int64_t> extents = {4, 4};
  const LoopPlan plan = PlanOf(*custom, extents, -1);
  const Tile tile = OrderedTile(plan, extents);
  ExpectComplete(tile);
  EXPECT_TRUE(IsStepByStep(tile));
}

// Channels with stride 2: most places are read by several steps.
TEST(TileOrderTest, StridedConvolutionsAreComplete) {
  const Expression mcc = Shipped("mcc.mdh", {{"P", "16"}, {"Q", "16"}, {"K", "64"}});
  const std::vector<int64_t> extents = {1, 4, 4, 16, 1, 7, 3};
  const LoopPlan plan = PlanOf(mcc, extents, 3);
  const Tile tile = OrderedTile(plan, extents);
  ExpectComplete(tile);
  EXPECT_FALSE(IsStepByStep(tile));
}

}  // namespace
}  // namespace mdh::tile_order_test
