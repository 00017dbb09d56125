// The text form of pipelines. golden/bad_pipelines.txt has a case per kind of error.
#include "core/text/pipeline_parser.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_printer.h"
#include "gtest/gtest.h"
#include "tests/core/expect_same.h"
#include "tests/core/golden_errors.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"

namespace mdh::pipeline_parser_test {
namespace {

using Role = PipelineBuffer::Role;

TEST(PipelineParser, GoldenErrors) {
  const int cases = CheckGoldenErrors("bad_pipelines.txt", [](const std::string& text) {
    return ErrorMessage(ParsePipeline(text, {}, "bad.mdh"));
  });
  EXPECT_GE(cases, 35);
}

TEST(PipelineParser, CallsGiveValuesToParameters) {
  const Result<Pipeline> pipeline = ParsePipeline(kLayer, {{"N", "7"}, {"T", "fp64"}});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->name(), "layer");
  ASSERT_EQ(pipeline->steps().size(), 2u);
  EXPECT_EQ(pipeline->steps()[1].expression.dimensions()[1].size, 7);
  std::vector<std::string> buffers;
  for (const PipelineBuffer& buffer : pipeline->buffers()) {
    buffers.push_back(
        absl::StrCat(buffer.name, " ", static_cast<int>(buffer.role), " ", buffer.type.ToString()));
  }
  EXPECT_EQ(buffers,
            (std::vector<std::string>{"x 1 fp64", "w 1 fp64", "b 1 fp64", "y 2 fp64", "h 3 fp64"}));
  // By name, in any order, and with defaults.
  const std::string text = absl::StrCat(
      "p := pipeline(x) -> y { y = scale<| N = 3, M = 2>(x) }\n",
      "scale<T = fp32 | M, N, F = M + N> := out_view<T>( y: (i,j) -> (i,j) ) o md_hom<M,N>( f, "
      "(++,++) ) o inp_view<T>( x: (i,j) -> (i,j) ) where f(x) -> y { y = F * x }");
  const Result<Pipeline> named = ParsePipeline(text);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->buffers()[0].extents, (std::vector<int64_t>{2, 3}));
}

TEST(PipelineParser, TheExampleOfTheGrammar) {
  const std::string document = ReadFileOf("core/text/grammar.md");
  const size_t begin = document.find('\n', document.find("```mdh file=layer.mdh"));
  const Result<Pipeline> pipeline =
      ParsePipeline(document.substr(begin, document.find("```", begin) - begin));
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->buffers()[3].extents, (std::vector<int64_t>{64, 128}));
}

TEST(PipelineParser, OneDefinitionIsAPipelineOfOneStep) {
  const std::string text = ReadFileOf("client/expressions/matmul.mdh");
  const Result<Pipeline> pipeline = ParsePipeline(text, {{"I", "8"}});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(Digest(*pipeline), Digest(*ShippedExpression("matmul", {{"I", "8"}})));
}

TEST(PipelineParser, WhatIsMeantCanBeNamed) {
  const Result<Pipeline> activation =
      ParsePipeline(kLayer, {{"T", "fp32"}, {"I", "2"}, {"J", "3"}}, "layer.mdh", "activation");
  ASSERT_TRUE(activation.ok()) << activation.status();
  EXPECT_EQ(activation->steps().size(), 1u);
  EXPECT_EQ(Digest(*ParsePipeline(kLayer, {}, "layer.mdh", "layer")),
            Digest(*ParsePipeline(kLayer)));
  EXPECT_TRUE(absl::StartsWith(
      ErrorMessage(ParsePipeline(kLayer, {}, "layer.mdh", "gelu")),
      "layer.mdh:1:1: the text has no definition called 'gelu'; it has layer, matmul, activation"));
}

TEST(PipelineParser, DefinitionsMayComeFirst) {
  const std::string text = kLayer;
  const size_t at = text.find("\nmatmul");
  EXPECT_EQ(Digest(*ParsePipeline(absl::StrCat(text.substr(at), text.substr(0, at)))),
            Digest(*ParsePipeline(text)));
}

TEST(PipelinePrinter, PrintsWhatIsReadBack) {
  const Pipeline pipeline = *ParsePipeline(kCentred);
  const std::string text = ToText(pipeline);
  EXPECT_TRUE(absl::StartsWith(text, R"(centred := pipeline(x) -> (y, m) {
  m = mean(x);
  y = minus(x, m)
}

mean :=
)")) << text;
  EXPECT_EQ(ToText(*ParsePipeline(text)), text);
  EXPECT_EQ(Digest(*ParsePipeline(text)), Digest(pipeline));
}

// Steps that are called the same get names of their own; equal ones share a definition.
TEST(PipelinePrinter, DefinitionsHaveOneNameEach) {
  const std::string text = R"(p := pipeline(x) -> y {
  a = p_(x);
  b = p_(a);
  y = q<| 8>(b)
}
p_ := out_view<fp32>( y: (i) -> (i) ) o md_hom<8>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = x }
q<|I> := out_view<fp32>( y: (i) -> (i) ) o md_hom<I>( f, (++) ) o inp_view<fp32>( x: (i) -> (i) )
where f(x) -> y { y = 2 * x }
)";
  PipelineSpec spec = ParsePipeline(text)->spec();
  spec.name = "q";
  for (PipelineStep& step : spec.steps) {
    ExpressionSpec renamed = step.expression.spec();
    renamed.name = "q";
    step.expression = *Expression::Create(renamed);
  }
  const std::string printed = ToText(*Pipeline::Create(spec));
  EXPECT_TRUE(absl::StartsWith(printed, R"(q := pipeline(x) -> y {
  a = q_2(x);
  b = q_2(a);
  y = q_3(b)
}
)")) << printed;
  EXPECT_EQ(ToText(*ParsePipeline(printed)), printed);
}

// Every prefix of a text, and every text with a byte changed, is parsed or refused.
TEST(PipelineParser, DamagedTextsAreNoDanger) {
  const std::string text = kCentred;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'{', '}', '<', '>', ':', ',', 'x', '0', ';', '\0'}) {
      std::string damaged = text;
      damaged[at] = byte;
      const Result<Pipeline> pipeline = ParsePipeline(damaged);
      if (!pipeline.ok()) continue;
      EXPECT_TRUE(ParsePipeline(ToText(*pipeline)).ok()) << damaged;
    }
    EXPECT_FALSE(ParsePipeline(text.substr(0, at)).ok() && at < text.size() - 2) << at;
  }
}

TEST(PipelineParser, TellsTextsWithPipelines) {
  EXPECT_TRUE(HoldsPipeline(kLayer));
  const std::string text = kLayer;
  EXPECT_FALSE(HoldsPipeline(text.substr(text.find("matmul<T | I"))));
  EXPECT_FALSE(
      HoldsPipeline("pipeline := out_view<fp32>( y: (i) -> (i) ) o md_hom<4>( f, (++) ) o "
                    "inp_view<fp32>( x: (i) -> (i) ) where f(x) -> y { y = x }"));
  EXPECT_FALSE(HoldsPipeline("a pipeline that is none"));
}

}  // namespace
}  // namespace mdh::pipeline_parser_test
