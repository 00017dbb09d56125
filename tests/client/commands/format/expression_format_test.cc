#include "client/commands/format/expression_format.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "client/commands/call/expression_arguments.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/sample_pipelines.h"

namespace mdh::expression_format_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kText = R"(
  scale := out_view<fp32>( y: (i) -> (i) ) o md_hom<10>( f, (++) ) o
    inp_view<fp32>( x: (i) -> (i) )
  where f(x) -> y { y = 2 * x })";

class ExpressionFormatTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& file : files_) std::remove(file.c_str());
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    files_.push_back(::testing::TempDir() + "/expression_format_" + name);
    std::ofstream(files_.back(), std::ios::binary) << bytes;
    return files_.back();
  }

  std::string ErrorOf(const ExpressionArguments& arguments) {
    const Status status = LoadComputation(arguments).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  const Expression scale_ = *ParseExpression(kText);
  std::vector<std::string> files_;
};

TEST_F(ExpressionFormatTest, EveryFormatIsReadFromItsFile) {
  for (const char* name : {"text", "binpb", "json"}) {
    const Result<ExpressionFormat> format = FormatFromName(name);
    ASSERT_TRUE(format.ok());
    const std::string extension = std::string(name) == "text" ? "mdh" : name;
    const std::string file = Write("scale." + extension, WriteComputation(scale_, *format));
    EXPECT_EQ(FormatOfFile(file), *format);
    const Result<Computation> read = LoadComputation({file, {}});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Digest(std::get<Expression>(*read)), Digest(scale_));
    EXPECT_EQ(std::get<Expression>(*read).name(), "scale");
  }
  EXPECT_EQ(FormatOfFile("-"), ExpressionFormat::kText);
}

TEST_F(ExpressionFormatTest, PipelinesAreReadFromEveryFormat) {
  const Pipeline layer = *ParsePipeline(kLayer);
  for (const char* name : {"text", "binpb", "json"}) {
    const Result<ExpressionFormat> format = FormatFromName(name);
    const std::string extension = std::string(name) == "text" ? "mdh" : name;
    const std::string file = Write("layer." + extension, WriteComputation(layer, *format));
    const Result<Computation> read = LoadComputation({file, {}});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Digest(std::get<Pipeline>(*read)), Digest(layer)) << name;
  }
  const Result<Computation> set = LoadComputation({Write("layer.mdh", kLayer), {"M=9"}});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(std::get<Pipeline>(*set).buffers()[0].extents[0], 9);
  EXPECT_THAT(ErrorOf({Write("wrong.mdh", "p := pipeline(x) -> y { y = f(x) }"), {}}),
              HasSubstr("wrong.mdh:1:"));
  std::string json = WriteComputation(layer, ExpressionFormat::kJson);
  json.replace(json.find("PIPELINE_ROLE_INPUT"), 19, "PIPELINE_ROLE_UNSPECIFIED");
  EXPECT_THAT(ErrorOf({Write("role.json", json), {}}),
              HasSubstr("role.json: buffer 'x' has no role"));
}

TEST_F(ExpressionFormatTest, JsonNamesFieldsAsTheMessageDoes) {
  const std::string json = WriteComputation(scale_, ExpressionFormat::kJson);
  EXPECT_THAT(json, HasSubstr("\"combine_operators\""));
  EXPECT_THAT(json, HasSubstr("SCALAR_TYPE_FLOAT32"));
}

TEST_F(ExpressionFormatTest, WhatIsNoMessageIsNamed) {
  const std::string binary = Write("bad.binpb", "scale := and so on");
  EXPECT_THAT(ErrorOf({binary, {}}),
              HasSubstr("bad.binpb: this is no binary message mdh.v1.Expression"));
  const std::string json = Write("bad.json", "{\"nam\": 1}");
  EXPECT_THAT(ErrorOf({json, {}}), HasSubstr("bad.json: this is no mdh.v1.Expression in"));
  EXPECT_THAT(ErrorOf({json, {}}), HasSubstr("nam"));
}

TEST_F(ExpressionFormatTest, WhatCoreRefusesIsNamedWithTheFile) {
  EXPECT_THAT(ErrorOf({Write("empty.json", "{\"name\": \"empty\"}"), {}}),
              HasSubstr("empty.json: "));
}

TEST_F(ExpressionFormatTest, MessagesHaveNoParameters) {
  const std::string file = Write("scale.json", WriteComputation(scale_, ExpressionFormat::kJson));
  EXPECT_THAT(ErrorOf({file, {"I=4"}}), HasSubstr("messages have no parameters"));
}

TEST_F(ExpressionFormatTest, AnUnknownFormatIsNamed) {
  EXPECT_EQ(FormatFromName("yaml").status().message(),
            "'yaml' is no format; there are text, binpb, json");
}

}  // namespace
}  // namespace mdh::expression_format_test
