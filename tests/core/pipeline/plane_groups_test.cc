// Chains of stencils plane after plane: where steps lie, how old their planes are, and what cannot
// be.
#include "core/pipeline/plan/plane_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/text/pipeline_parser.h"

namespace mdh::plane_groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Of a plane of y every point needs five of a, of two planes, and a point of x.
constexpr char kChain[] = R"(chain := pipeline(x) -> (y) {
  a = cross< | 10, 10>(x);
  y = late< | 8, 8>(a, x)
}
cross< | N, M> := out_view<fp32>( a: (i,j) -> (i,j) ) o md_hom<N,M>( f, (++, ++) ) o
  inp_view<fp32>( x: (i,j) -> (i+1,j), (i,j) -> (i+1,j+2), (i,j) -> (i,j+1), (i,j) -> (i+2,j+1) )
where f(p, q, r, s) -> a { a = p + q + r + s }
late< | N, M> := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<N,M>( f, (++, ++) ) o
  inp_view<fp32,fp32>( a: (i,j) -> (i+1,j), (i,j) -> (i+2,j+1), x: (i,j) -> (i+2,j+2) )
where f(p, q, r) -> y { y = q - p + r }
)";

JointGroup GroupOf(const Pipeline& pipeline, std::vector<int64_t> part) {
  JointGroup group = *WidestJointGroup(pipeline, 0, static_cast<int>(pipeline.steps().size()) - 1);
  group.part = std::move(part);
  return group;
}

TEST(PlaneGroups, StepsLieInTheMiddleOfWhatTheyRead) {
  const Pipeline chain = *ParsePipeline(kChain);
  const JointGroup group = GroupOf(chain, {4, 8});
  ASSERT_TRUE(CheckJointGroup(chain, group).ok()) << CheckJointGroup(chain, group);
  const auto shape = PlaneShapeOf(chain, group);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_THAT(shape->kept, SizeIs(2));
  const PlaneShape::Kept& x = *shape->KeptOf(0);
  EXPECT_FALSE(x.is_within);
  EXPECT_TRUE(x.is_shared);
  EXPECT_EQ(shape->KeptOf(chain.steps()[1].outputs[0]), nullptr);
  // Of a, an element below and beside is read: it is there a turn after the next one.
  EXPECT_EQ(shape->steps[0].lag, 1);
  EXPECT_EQ(shape->steps[1].lag, 3);
  EXPECT_EQ(x.grid.lag, 0);
  EXPECT_THAT(shape->places, ElementsAre(8, 11));
  EXPECT_EQ(shape->planes, 4);
  const auto& views = chain.steps()[0].expression.inputs()[0];
  EXPECT_THAT(DistancesOf(group, *shape, 0, x, views, 0), ElementsAre(0, -1));
  EXPECT_THAT(DistancesOf(group, *shape, 0, x, views, 3), ElementsAre(1, 0));
}

TEST(PlaneGroups, PartsOnlyChangeHowManyPlacesThereAre) {
  const Pipeline chain = *ParsePipeline(kChain);
  const PlaneShape small = *PlaneShapeOf(chain, GroupOf(chain, {1, 1}));
  const PlaneShape large = *PlaneShapeOf(chain, GroupOf(chain, {8, 4}));
  EXPECT_EQ(large.places[0], small.places[0] + 7);
  EXPECT_EQ(large.places[1], small.places[1] + 3);
  EXPECT_EQ(large.planes, small.planes);
  EXPECT_EQ(large.steps[1].lag, small.steps[1].lag);
}

TEST(PlaneGroups, WhatHasNoPlanesIsRefused) {
  const Pipeline chain = *ParsePipeline(kChain);
  JointGroup one = GroupOf(chain, {4, 8});
  for (std::vector<int>& dimensions : one.dimensions) dimensions.pop_back();
  one.part.pop_back();
  EXPECT_THAT(PlaneShapeOf(chain, one).status().message(),
              HasSubstr("planes have one or two dimensions"));
  // Steps that read along the planes alone, whose threads have nothing to do with each other.
  const Pipeline along = *ParsePipeline(
      absl::StrReplaceAll(kChain, {{"j+1", "j"}, {"j+2", "j"}, {"10, 10", "10, 8"}}));
  EXPECT_THAT(PlaneShapeOf(along, GroupOf(along, {4, 8})).status().message(),
              HasSubstr("no step reads what lies beside its points"));
}

}  // namespace
}  // namespace mdh::plane_groups_test
