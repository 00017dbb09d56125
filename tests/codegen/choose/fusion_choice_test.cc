#include "codegen/choose/fusion_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/choose/default_parameters.h"
#include "core/text/parser.h"
#include "tests/shipped_expression.h"

namespace mdh::fusion_choice_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<FusionChoice> Choices(const Expression& expression,
                                  NumericsPolicy numerics = NumericsPolicy::kReassociate) {
  return FusionChoices(expression, OpenMpSimdRegistersModel(), numerics);
}

TEST(FusionChoiceTest, WhatIsOneRange) {
  const std::vector<FusionChoice> choices = Choices(Shipped("ccsdt_gdab_efgc.mdh"));
  ASSERT_THAT(choices, SizeIs(2));
  EXPECT_THAT(choices[0].fused, IsEmpty());
  EXPECT_THAT(choices[1].fused, ElementsAre(ElementsAre(0, 1), ElementsAre(4, 5)));
  EXPECT_EQ(choices[1].expression.points(), Shipped("ccsdt_gdab_efgc.mdh").points());
}

TEST(FusionChoiceTest, Windows) {
  const std::vector<FusionChoice> choices = Choices(Shipped("mcc.mdh"));
  ASSERT_THAT(choices, SizeIs(2));
  EXPECT_THAT(choices[0].fused, IsEmpty());
  EXPECT_THAT(choices[1].fused, ElementsAre(ElementsAre(5, 6)));
  EXPECT_THAT(Choices(Shipped("mcc.mdh"), NumericsPolicy::kExactOrder), SizeIs(1));
}

TEST(FusionChoiceTest, NothingIsContiguous) {
  const std::vector<FusionChoice> choices = Choices(Shipped("matmul.mdh"));
  ASSERT_THAT(choices, SizeIs(1));
  EXPECT_THAT(choices[0].fused, IsEmpty());
}

TEST(FusionChoiceTest, BlocksOfThreadsKeepDimensions) {
  const std::vector<FusionChoice> choices =
      FusionChoices(Shipped("ccsdt_gdab_efgc.mdh"), CudaModel(), NumericsPolicy::kReassociate);
  ASSERT_THAT(choices, SizeIs(1));
  EXPECT_THAT(choices[0].fused, IsEmpty());
}

// Counting may err: the best of every fusion is measured.
TEST(FusionChoiceTest, StartsHaveEveryFusion) {
  const std::vector<TuningParameters> starts =
      StartingParameters(Shipped("mcc.mdh"), OpenMpSimdRegistersModel(), DeviceDescription());
  const auto is_fused = [](const TuningParameters& p) { return !p.fused.empty(); };
  EXPECT_TRUE(std::any_of(starts.begin(), starts.end(), is_fused));
  EXPECT_FALSE(std::all_of(starts.begin(), starts.end(), is_fused));
}

// Rows of three elements have no lanes; all of them are one row with lanes.
TEST(FusionChoiceTest, DefaultsHaveLanesAlongShortRows) {
  const Expression expression = *ParseExpression(
      "scale := out_view<fp32>( y: (i,c) -> (i,c) ) o md_hom<4096,3>( f, (++, ++) ) o "
      "inp_view<fp32>( x: (i,c) -> (i,c) ) where f(x) -> y { y = 2 * x }");
  const SystemModel model = OpenMpSimdRegistersModel();
  DeviceDescription device;
  device.simd_bytes = 64;
  const TuningParameters p = DefaultParameters(expression, model, device);
  EXPECT_THAT(p.fused, ElementsAre(ElementsAre(0, 1)));
  EXPECT_EQ(p.tile[model.LayerWith(LayerRole::kLanes) - 1][1], 16);
  EXPECT_TRUE(Validate(expression, model, device, p).ok());
}

}  // namespace
}  // namespace mdh::fusion_choice_test
