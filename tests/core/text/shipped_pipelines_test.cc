// The pipelines that come with the client parse with their defaults and print to themselves.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/pipeline/pipeline_canonical.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "tests/core/expect_same.h"
#include "tests/source_path.h"

namespace mdh::shipped_pipelines_test {
namespace {

const std::string kFolder = "client/expressions/pipelines/";

Pipeline Shipped(const std::string& name, const Bindings& bindings = {}) {
  const Result<Pipeline> pipeline =
      ParsePipeline(ReadFileOf(kFolder + name + ".mdh"), bindings, name + ".mdh");
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return *pipeline;
}

TEST(ShippedPipelinesTest, AllParseAndPrintBack) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath(kFolder))) {
    const Pipeline pipeline = Shipped(entry.path().stem());
    EXPECT_EQ(pipeline.name(), entry.path().stem());
    const std::string text = ToText(pipeline);
    const Result<Pipeline> again = ParsePipeline(text, {}, "printed");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ(Digest(*again), Digest(pipeline)) << text;
    EXPECT_EQ(ToText(*again), text);
    ++files;
  }
  EXPECT_GE(files, 8);
}

// Bytes between the steps, where the steps are computed one after the other.
TEST(ShippedPipelinesTest, TemporariesAreAsLargeAsTheLiteratureSays) {
  const auto temporary_bytes = [](const Pipeline& pipeline) {
    return pipeline.BytesOf(PipelineBuffer::Role::kTemporary);
  };
  EXPECT_EQ(temporary_bytes(Shipped("interp")), 2 * 137'200'000);
  EXPECT_EQ(temporary_bytes(Shipped("inverse_helmholtz")), 6 * 87'880'000);
  EXPECT_EQ(temporary_bytes(Shipped("attention")), 2 * 268'435'456 + 2 * 262'144);
  EXPECT_EQ(Shipped("jacobi3d_4").buffers()[0].extents, (std::vector<int64_t>{264, 264, 264}));
}

}  // namespace
}  // namespace mdh::shipped_pipelines_test
