#include "core/pipeline/schedule/pipeline_parameters_text.h"

#include "absl/strings/str_cat.h"
#include "codegen/choose/default_parameters.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/golden_file.h"
#include "tests/core/pipeline/sample_pipelines.h"

namespace mdh::pipeline_parameters_text_test {
namespace {

using ::testing::HasSubstr;

DeviceDescription TwoCores() {
  DeviceDescription cpu;
  cpu.cores = 2;
  return cpu;
}

// Of the layer, with all that the text can say.
PipelineParameters Sample() {
  const Pipeline layer = *ParsePipeline(kLayer);
  const SystemModel model = OpenMpSimdRegistersModel();
  PipelineParameters parameters = {
      .edges = {{0, 1, EdgeKind::kStage}, {1, 2, EdgeKind::kInline}, {2, 3, EdgeKind::kEpilogue}},
      .groups = {{0, 1, {{0, 1}, {1, 0}}, {4, 64}}},
      .steps = {}};
  for (const PipelineStep& step : layer.steps()) {
    parameters.steps.push_back(DefaultParameters(step.expression, model, TwoCores()));
  }
  return parameters;
}

TEST(PipelineParametersTextTest, WhatIsPrintedIsParsed) {
  const std::string text = ToText(Sample());
  ExpectGoldenFile("pipeline_parameters.txt", text);
  const Result<PipelineParameters> parsed = ParsePipelineParameters(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, Sample());
}

TEST(PipelineParametersTextTest, EveryKindOfEdgeIsParsed) {
  PipelineParameters parameters = Sample();
  parameters.edges.push_back({0, 1, EdgeKind::kContraction});
  parameters.edges.push_back({0, 2, EdgeKind::kSiblings});
  parameters.edges.push_back({3, 3, EdgeKind::kSplit});
  const std::string text = ToText(parameters);
  EXPECT_THAT(text, HasSubstr("edge 1 2 contraction\nedge 1 3 siblings\nedge 4 4 split\n"));
  EXPECT_EQ(*ParsePipelineParameters(text), parameters);
}

TEST(PipelineParametersTextTest, StreamedGroupsAreParsed) {
  PipelineParameters parameters = Sample();
  JointGroup& group = parameters.groups[0];
  group.streamed = {2, -1};
  group.chunk = 64;
  group.splits = 3;
  const std::string text = ToText(parameters);
  EXPECT_THAT(text, HasSubstr("dimensions 0,1|1,0 streamed 2,- chunk 64 splits 3\n"));
  EXPECT_EQ(*ParsePipelineParameters(text), parameters);
}

TEST(PipelineParametersTextTest, RowsAreNamed) {
  PipelineParameters parameters = Sample();
  for (const auto& [keep, name] : {std::pair(RowLayout::Keep::kRegisters, "registers"),
                                   std::pair(RowLayout::Keep::kShared, "shared"),
                                   std::pair(RowLayout::Keep::kNothing, "nothing")}) {
    parameters.groups[0].rows = RowLayout{.threads = 256, .rows = 2, .vector = 4, .keep = keep};
    const std::string text = ToText(parameters);
    EXPECT_THAT(text, HasSubstr(absl::StrCat(" dimensions 0,1|1,0 rows 256,2,4 ", name, "\n")));
    EXPECT_EQ(*ParsePipelineParameters(text), parameters);
    EXPECT_EQ(ParseRowLayout(absl::StrCat("256,2,4 ", name)), parameters.groups[0].rows);
  }
  EXPECT_EQ(ParseRowLayout("256,2 shared"), std::nullopt);
}

TEST(PipelineParametersTextTest, PlanesAreNamed) {
  PipelineParameters parameters = Sample();
  parameters.groups[0].planes = PlaneLayout{.column = 4, .resident = 2};
  const std::string text = ToText(parameters);
  EXPECT_THAT(text, HasSubstr(" dimensions 0,1|1,0 planes 4,2\n"));
  EXPECT_EQ(*ParsePipelineParameters(text), parameters);
}

TEST(PipelineParametersTextTest, ErrorsNameTheLine) {
  const std::string step = absl::StrCat("step ", ToText(Sample().steps[1]), "\n");
  ASSERT_TRUE(ParsePipelineParameters(step).ok());
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 2: there is no step"},
      {"edge 1 2\n",
       "line 1: expected 'edge STEP STEP stage|inline|epilogue|contraction|siblings|split', found "
       "'edge 1 2'"},
      {"\nedge 0 2 stage\n", "line 2: expected 'edge"},
      {"edge 1 2 fused\n", "line 1: expected 'edge"},
      {"edge 1 two inline\n", "line 1: expected 'edge"},
      {"group 1 2 part 4 dimensions 0\n", "line 1: expected 'group STEP STEP part N,..."},
      {"group 1 2 part  dimensions |\n", "line 1: expected 'group"},
      {"group 2 1 part 4 dimensions 0|0\n", "line 1: expected 'group"},
      {"group 1 2 part 4,x dimensions 0,1|0,1\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0,1|0\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 rows 1,2 shared\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 rows 1,2,4 cache\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 planes 4\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 plane 4,2\n", "line 1: expected 'group"},
      {"group 1 2 parts 4 dimensions 0|0\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 streamed 1,1 chunk 0 splits 1\n",
       "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 streamed 1 chunk 4 splits 1\n", "line 1: expected 'group"},
      {"group 1 2 part 4 dimensions 0|0 streamed 1,x chunk 4 splits 1\n",
       "line 1: expected 'group"},
      {"edge 1 2 stage\nstep tile=none\n", "line 2: "},
      {"stage 1 2\n", "line 1: expected 'edge', 'group' or 'step', found 'stage 1 2'"}};
  for (const auto& [text, error] : cases) {
    const std::string whole = *text == 0 ? "\n" : text;
    const Status status = ParsePipelineParameters(whole).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(error)) << text;
  }
}

}  // namespace
}  // namespace mdh::pipeline_parameters_text_test
