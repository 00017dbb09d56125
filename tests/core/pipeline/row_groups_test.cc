// Which groups are rows.
#include "core/pipeline/plan/row_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/text/pipeline_parser.h"
#include "tests/core/pipeline/row_pipelines.h"

namespace mdh::row_groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JointGroup RowsOf(const Pipeline& pipeline) {
  return WithPart(pipeline, JointGroups(pipeline).at(0), 1);
}

TEST(RowGroups, SoftMaxAndNormsAreRows) {
  for (const char* text : {kSoftMax, kLogSoftMax, kLayerNorm, kRmsNorm}) {
    const Pipeline pipeline = *ParsePipeline(text);
    const auto shape = RowShapeOf(pipeline, RowsOf(pipeline));
    ASSERT_TRUE(shape.ok()) << pipeline.name() << shape.status();
    EXPECT_EQ(shape->length, 64);
    for (const int d : shape->dimensions) EXPECT_EQ(d, 1);
  }
}

std::string Refusal(const std::string& from, const std::string& to) {
  const auto pipeline = ParsePipeline(absl::StrReplaceAll(kSoftMax, {{from, to}}));
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  if (!pipeline.ok()) return "";
  return std::string(RowShapeOf(*pipeline, RowsOf(*pipeline)).status().message());
}

TEST(RowGroups, OthersAreNot) {
  const Pipeline soft_max = *ParsePipeline(kSoftMax);
  JointGroup group = RowsOf(soft_max);
  group.part = {2};
  EXPECT_THAT(std::string(RowShapeOf(soft_max, group).status().message()),
              HasSubstr("rows are parts of one point"));
  const Pipeline attention = *ParsePipeline(kAttention);
  EXPECT_THAT(std::string(RowShapeOf(attention, RowsOf(attention)).status().message()),
              HasSubstr("two dimensions beside the common ones"));
  EXPECT_THAT(Refusal("N = 64", "N = 1"), HasSubstr("have 1 points"));
}

}  // namespace
}  // namespace mdh::row_groups_test
