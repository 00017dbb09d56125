// Parts of stencil chains: what their steps compute beyond them, and what cannot be.
#include "core/pipeline/plan/joint_halo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "core/pipeline/pipeline_interpreter.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/joint_part.h"
#include "core/pipeline/plan/row_groups.h"
#include "core/text/pipeline_parser.h"

namespace mdh::joint_halo_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of 12 results every one needs three of a, and those five of x.
constexpr char kChain[] = R"(chain := pipeline(x) -> (y) {
  a = left< | 14>(x);
  y = right< | 12>(a)
}
left< | N> := out_view<fp32>( a: (i) -> (i) ) o md_hom<N>( f, (++) ) o
  inp_view<fp32>( x: (i) -> (i), (i) -> (i+1), (i) -> (i+2) )
where f(p, q, r) -> a { a = p + q + r }
right< | N> := out_view<fp32>( y: (i) -> (i) ) o md_hom<N>( f, (++) ) o
  inp_view<fp32>( a: (i) -> (i+1), (i) -> (i+2) )
where f(p, q) -> y { y = q - p + fp32(i) }
)";

JointGroup GroupOf(const Pipeline& pipeline, int64_t part) {
  const std::vector<JointGroup> groups = JointGroups(pipeline);
  EXPECT_EQ(groups.size(), 1u);
  return WithPart(pipeline, groups.at(0), part);
}

TEST(JointHalo, ProducersComputeWhatReadersNeed) {
  const Pipeline chain = *ParsePipeline(kChain);
  const JointGroup group = GroupOf(chain, 4);
  ASSERT_TRUE(CheckJointGroup(chain, group).ok()) << CheckJointGroup(chain, group);
  EXPECT_TRUE(HasHalo(chain, group));
  EXPECT_THAT(WindowsOf(chain, group),
              ElementsAre(ElementsAre(StepWindow{1, 5}), ElementsAre(StepWindow{0, 4})));
  EXPECT_EQ(PartsOf(chain, group), 3);
  EXPECT_DOUBLE_EQ(WorkRepeated(chain, group), 9.0 / 8);
  EXPECT_DOUBLE_EQ(WorkRepeated(chain, group, 4), 12.0 / 8);
  EXPECT_DOUBLE_EQ(BytesOfPart(chain, group), 5 * 4);
  const JointPart part = *PartOf(chain, group);
  EXPECT_EQ(part.steps[0].expression.dimensions()[0].size, 5);
  EXPECT_EQ(part.steps[0].expression.inputs()[0].accesses[2].indices[0].constant, 3);
  EXPECT_THAT(part.steps[1].expression.inputs()[0].extents, ElementsAre(5));
  EXPECT_EQ(part.steps[1].expression.inputs()[0].accesses[0].indices[0].constant, 0);
  EXPECT_TRUE(part.has_origins);
}

TEST(JointHalo, PartsThatRepeatLeastAreChosen) {
  const Pipeline chain = *ParsePipeline(kChain);
  const JointGroup group = GroupOf(chain, 1);
  EXPECT_THAT(WithLeastHalo(chain, group, {.most_bytes = 1e6}).part, ElementsAre(12));
  EXPECT_THAT(WithLeastHalo(chain, group, {.most_bytes = 1e6, .least_parts = 3}).part,
              ElementsAre(4));
  EXPECT_THAT(WithLeastHalo(chain, group, {.most_bytes = 4 * 4}).part, ElementsAre(3));
  EXPECT_THAT(WithLeastHalo(chain, group, {.most_bytes = 4}).part, ElementsAre(1));
}

std::string Refusal(const std::string& from, const std::string& to) {
  const Pipeline chain = *ParsePipeline(kChain);
  JointGroup group = GroupOf(chain, 4);
  const auto other = ParsePipeline(absl::StrReplaceAll(kChain, {{from, to}}));
  EXPECT_TRUE(other.ok()) << other.status();
  return std::string(CheckJointGroup(*other, group).message());
}

TEST(JointHalo, WhatIsReadOutsideIsComputedOnce) {
  EXPECT_THAT(Refusal("-> (y) {", "-> (a, y) {"), HasSubstr("has 14 points, that of step 2"));
  EXPECT_THAT(Refusal("a: (i) -> (i+1), (i) -> (i+2) )\nwhere f(p, q)",
                      "a: (i) -> (i+1), (i) -> (12-i) )\nwhere f(p, q)"),
              HasSubstr("a part would need what another one computes"));
}

TEST(JointHalo, RowsHaveNone) {
  const Pipeline chain = *ParsePipeline(kChain);
  EXPECT_THAT(std::string(RowShapeOf(chain, GroupOf(chain, 1)).status().message()),
              HasSubstr("steps read other rows"));
}

}  // namespace
}  // namespace mdh::joint_halo_test
