// Which steps can run together, why others cannot, and what a part of them is.
#include "core/pipeline/plan/joint_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/pipeline/pipeline_interpreter.h"
#include "core/pipeline/plan/joint_part.h"
#include "core/text/pipeline_parser.h"
#include "tests/core/pipeline/row_pipelines.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_joint.h"
#include "tests/random_pipeline.h"
#include "tests/sanitized.h"

namespace mdh::joint_groups_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = PartBuffer::Kind;

// h = first(x), y = second(x, h, z): views of the second step, and what is in front of them.
Pipeline TwoSteps(const std::string& reads_h, const std::string& reads_x,
                  const std::string& dimensions = "<6,8>",
                  const std::string& operators = "(++, ++)",
                  const std::string& writes = "y: (i,j) -> (i,j)") {
  const auto pipeline = ParsePipeline(R"(p := pipeline(x) -> y { h = first(x); y = second(x, h) }
first := out_view<fp32>( h: (i,j) -> (i,j) ) o md_hom<6,8>( f, (++, ++) ) o
  inp_view<fp32>( a: (i,j) -> (i,j) ) where f(a) -> h { h = a + 1 }
second := out_view<fp32>( )" + writes +
                                      " ) o md_hom" + dimensions + "( f, " + operators +
                                      " ) o\n  inp_view<fp32,fp32>( a" + reads_x + ", h" + reads_h +
                                      " )\nwhere f(a, h) -> y { y = a + h }\n");
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *pipeline;
}

constexpr char kPlain[] = ": (i,j) -> (i,j)";

TEST(JointGroups, RowsAreInCommon) {
  for (const char* text : {kSoftMax, kLogSoftMax, kLayerNorm, kRmsNorm}) {
    const Pipeline pipeline = *ParsePipeline(text);
    const std::vector<JointGroup> groups = JointGroups(pipeline);
    ASSERT_EQ(groups.size(), 1u) << text;
    EXPECT_EQ(groups[0].first, 0);
    EXPECT_EQ(groups[0].last + 1, std::ssize(pipeline.steps()));
    EXPECT_THAT(groups[0].dimensions, Each(ElementsAre(0)));
    EXPECT_THAT(groups[0].part, ElementsAre(1));
  }
}

TEST(JointGroups, ShorterRunsAreOfferedWithMoreDimensions) {
  const std::vector<JointGroup> chain =
      JointGroups(*ParsePipeline(R"(p := pipeline(x) -> z { h = step(x); y = step(h); z = sums(y) }
step := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<6,8>( f, (++, ++) ) o
  inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x + 1 }
sums := out_view<fp32>( z: (i,j) -> (i) ) o md_hom<6,8>( f, (++, +) ) o
  inp_view<fp32>( y: (i,j) -> (i,j) ) where f(y) -> z { z = y }
)"));
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].last, 2);
  EXPECT_THAT(chain[0].dimensions, Each(ElementsAre(0)));
  EXPECT_EQ(chain[1].last, 1);
  EXPECT_THAT(chain[1].dimensions, Each(ElementsAre(0, 1)));
  const std::vector<JointGroup> attention = JointGroups(*ParsePipeline(kAttention));
  ASSERT_EQ(attention.size(), 1u);
  EXPECT_EQ(attention[0].last, 4);
  EXPECT_THAT(attention[0].dimensions, Each(ElementsAre(0, 1, 2)));
  const std::vector<JointGroup> interp = JointGroups(*ParsePipeline(kInterp));
  ASSERT_FALSE(interp.empty());
  EXPECT_EQ(interp[0].last, 2);
  EXPECT_THAT(interp[0].dimensions, Each(ElementsAre(0, 3)));
}

TEST(JointGroups, StepsWithoutCommonDimensionsAreNone) {
  EXPECT_THAT(
      JointGroups(TwoSteps(": (i,j) -> (j,i)", kPlain, "<8,6>", "(++, ++)", "y: (i,j) -> (j,i)")),
      Each(testing::Field(&JointGroup::dimensions,
                          ElementsAre(ElementsAre(0, 1), ElementsAre(1, 0)))));
  EXPECT_THAT(JointGroups(TwoSteps(": (i,j) -> (0,0)", kPlain)), IsEmpty());
}

TEST(JointGroups, PartsDivideExtents) {
  const Pipeline pipeline = *ParsePipeline(kAttention);
  const JointGroup group = JointGroups(pipeline)[0];
  EXPECT_THAT(CommonExtents(pipeline, group), ElementsAre(2, 3, 16));
  EXPECT_THAT(WithPart(pipeline, group, 0).part, ElementsAre(1, 1, 1));
  EXPECT_THAT(WithPart(pipeline, group, 7).part, ElementsAre(1, 1, 4));
  EXPECT_THAT(WithPart(pipeline, group, 40).part, ElementsAre(1, 1, 16));
  EXPECT_THAT(WithPart(pipeline, group, 50).part, ElementsAre(1, 3, 16));
  EXPECT_THAT(WithPart(pipeline, group, 1000).part, ElementsAre(2, 3, 16));
  EXPECT_EQ(PartsOf(pipeline, WithPart(pipeline, group, 7)), 24);
}

std::string Refusal(const Pipeline& pipeline, const JointGroup& group) {
  const Status status = CheckJointGroup(pipeline, group);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(PartOf(pipeline, group).status(), status);
  return std::string(status.message());
}

TEST(JointGroups, RefusalsSayWhatIsWrong) {
  const Pipeline plain = TwoSteps(kPlain, kPlain);
  EXPECT_TRUE(CheckJointGroup(plain, {0, 1, {{0, 1}, {0, 1}}, {2, 8}}).ok());
  EXPECT_THAT(Refusal(plain, {0, 0, {{0}}, {1}}), HasSubstr("two steps or more of the 2"));
  EXPECT_THAT(Refusal(plain, {1, 2, {{0}, {0}}, {1}}), HasSubstr("not 2 to 3"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0}}, {1}}), HasSubstr("needs its common dimensions"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{}, {}}, {}}), HasSubstr("at least one"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0}, {0, 1}}, {1}}),
              HasSubstr("step 2 (second) has 2 common dimensions, step 1 (first) has 1"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0, 0}, {0, 1}}, {1, 1}}),
              HasSubstr("of step 1 (first) are different ones of its 2"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{2}, {0}}, {1}}), HasSubstr("different ones of its 2"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0}, {1}}, {1}}),
              HasSubstr("dimension 'j' of step 2 (second) has 8 points, that of step 1 (first) "
                        "has 6"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0}, {0}}, {4}}),
              HasSubstr("parts of 4 points do not divide the 6"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0}, {0}}, {0}}), HasSubstr("parts of 0 points"));
  EXPECT_THAT(Refusal(plain, {0, 1, {{0}, {0}}, {1, 1}}),
              HasSubstr("a part has 2 extents, there are 1"));
  EXPECT_THAT(Refusal(TwoSteps(kPlain, kPlain, "<6,8>", "(++, +)", "y: (i,j) -> (i)"),
                      {0, 1, {{1}, {1}}, {1}}),
              HasSubstr("step 2 (second) combines along 'j'"));
  EXPECT_THAT(
      Refusal(TwoSteps("[6,8]: (i,j) -> (i+1,j)", kPlain, "<5,8>"), {0, 1, {{1}, {0}}, {1}}),
      HasSubstr("has 5 points"));
}

TEST(JointGroups, WhatMovesDifferentlyIsRefused) {
  const JointGroup rows = {0, 1, {{0}, {0}}, {2}};
  const Pipeline twice = *ParsePipeline(R"(p := pipeline(x) -> y { h = first(x); y = second(x, h) }
first := out_view<fp32>( h: (i,j) -> (i,j) ) o md_hom<6,8>( f, (++, ++) ) o
  inp_view<fp32>( a: (i,j) -> (i,j) ) where f(a) -> h { h = a + 1 }
second := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<6,8>( f, (++, ++) ) o
  inp_view<fp32,fp32>( a: (i,j) -> (i,j), (i,j) -> (5-i,j), h: (i,j) -> (i,j) )
where f(a, b, h) -> y { y = a + b + h }
)");
  EXPECT_THAT(Refusal(twice, rows),
              HasSubstr("step 2 (second) reads 'x' at indices that move differently along 'i'"));
  const Pipeline clamped =
      *ParsePipeline(R"(p := pipeline(x) -> y { h = first(x); y = second(x, h) }
first := out_view<fp32>( h: (i,j) -> (i,j) ) o md_hom<6,8>( f, (++, ++) ) o
  inp_view<fp32>( a: (i,j) -> (i,j) ) where f(a) -> h { h = a + 1 }
second := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<6,8>( f, (++, ++) ) o
  inp_view<fp32,fp32>( a[6,8] else clamp: (i,j) -> (i,j+1), h[6,8] else clamp: (i,j) -> (i-1,j) )
where f(a, h) -> y { y = a + h }
)");
  EXPECT_THAT(Refusal(clamped, rows), HasSubstr("a part would need what another one computes"));
  EXPECT_THAT(Refusal(clamped, {0, 1, {{1}, {1}}, {1}}),
              HasSubstr("step 2 (second) reads 'x' at an index that moves along 'j' and leaves"));
}

TEST(JointPart, BuffersMoveOrAreOfThePart) {
  const Pipeline pipeline = *ParsePipeline(kAttention);
  const JointPart part = *PartOf(pipeline, WithPart(pipeline, JointGroups(pipeline)[0], 4));
  ASSERT_EQ(part.steps.size(), 5u);
  EXPECT_TRUE(part.has_origins);
  // q moves with heads and queries, k with heads only: per batch, head, query.
  EXPECT_EQ(part.steps[0].inputs[0], (PartBuffer{Kind::kWhole, 0, {3 * 16 * 8, 16 * 8, 8}}));
  EXPECT_EQ(part.steps[0].inputs[1], (PartBuffer{Kind::kWhole, 1, {3 * 16 * 8, 16 * 8, 0}}));
  EXPECT_EQ(part.steps[0].outputs[0].kind, Kind::kPart);
  EXPECT_THAT(part.steps[0].expression.outputs()[0].extents, ElementsAre(1, 1, 4, 16));
  EXPECT_EQ(part.steps[1].inputs[1].kind, Kind::kOrigins);  // the mask compares with the query
  EXPECT_EQ(part.steps[3].inputs.size(), 1u);
  EXPECT_EQ(part.steps[4].outputs[0].kind, Kind::kWhole);
  EXPECT_TRUE(part.steps[4].expression.outputs()[0].keeps_unreached);
}

TEST(JointPart, IndicesOfOnePartNeedNoOrigins) {
  const Pipeline pipeline = *ParsePipeline(kAttention);
  const JointPart part = *PartOf(pipeline, WithPart(pipeline, JointGroups(pipeline)[0], 16));
  EXPECT_FALSE(part.has_origins);
}

TEST(JointPart, ExpressionsOfGroupsAreThoseOfParts) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax);
  const JointGroup group = WithPart(pipeline, JointGroups(pipeline)[0], 8);
  const std::vector<Expression> parts = *ComputedExpressions(pipeline, {group});
  for (const Expression& e : parts) {
    EXPECT_EQ(e.dimensions()[0].size, 8);
    EXPECT_EQ(e.dimensions()[1].size, 64);
  }
  EXPECT_EQ(ComputedExpressions(pipeline, {})->at(0).dimensions()[0].size, 32);
}

// Every pipeline made so has its dimension in common, and every group that is offered has a part.
TEST(JointPart, RandomGroupsHaveParts) {
  Rng rng(FreshSeed());
  RandomPipelineOptions options;
  options.expression.max_points = 128;
  options.expression.max_rank = 3;
  int groups = 0;
  for (int n = 0; n < TriedCases(60); ++n) {
    const Pipeline pipeline = WithCommonDimension(rng, RandomPipeline(rng, options), 6);
    for (const JointGroup& group : RandomJointGroups(rng, pipeline)) {
      ++groups;
      const auto part = PartOf(pipeline, group);
      ASSERT_TRUE(part.ok()) << part.status();
      EXPECT_EQ(std::ssize(part->steps), group.last - group.first + 1);
    }
  }
  EXPECT_GE(groups, TriedCases(15));
}

}  // namespace
}  // namespace mdh::joint_groups_test
