// Where threads of a CPU ask for the rows of their next part.
#include "codegen/backends/next_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_split.h"
#include "codegen/generate_pipeline.h"
#include "codegen/pipeline_defaults.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/pipeline_parser.h"
#include "tests/core/pipeline/row_pipelines.h"

namespace mdh::next_part_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceDescription Cpu() {
  DeviceDescription cpu;
  cpu.simd_bytes = 64;
  cpu.vector_registers = 32;
  cpu.l1_bytes = 48 << 10;
  cpu.l2_bytes = 1 << 20;
  cpu.compiler = "gcc";
  return cpu;
}

std::string SourceOf(const std::string& text, const std::string& rows, const std::string& length) {
  const Pipeline pipeline = *ParsePipeline(text, {{"M", rows}, {"N", length}});
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  const SystemModel model = OpenMpSimdRegistersModel();
  const PipelineDefaults defaults = DefaultPipelineParameters(partitions, model, Cpu());
  EXPECT_FALSE(defaults.parameters.groups.empty());
  const auto kernel = GeneratePipelineKernel(partitions[defaults.partition].pipeline, model, Cpu(),
                                             defaults.parameters.steps, defaults.parameters.groups);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel->source;
}

// The function of a tile with a request in it.
std::string Requesting(const std::string& source) {
  for (const absl::string_view function : absl::StrSplit(source, "\nstatic ")) {
    if (absl::StrContains(function, "__builtin_prefetch")) return std::string(function);
  }
  return "";
}

TEST(NextPart, RowsThatOneStepReadsAgainAreRequestedWhereMostIsComputed) {
  const std::string softmax = Requesting(SourceOf(kSoftMax, "2048", "8192"));
  EXPECT_THAT(softmax, HasSubstr("__builtin_prefetch(x + j + 8192, 0);"));
  EXPECT_THAT(softmax, HasSubstr("mdh_exp_f32x16("));
  // The exponentials are in the step that adds them, not in the last one.
  const std::string log_softmax = Requesting(SourceOf(kLogSoftMax, "512", "50257"));
  EXPECT_THAT(log_softmax, HasSubstr("__builtin_prefetch(x + j + 50257, 0);"));
  EXPECT_THAT(log_softmax, HasSubstr("mdh_exp_f32x16("));
}

TEST(NextPart, ShortRowsFewRowsAndLongOnesAreNot) {
  const std::string request = "__builtin_prefetch";
  EXPECT_THAT(SourceOf(kSoftMax, "32768", "128"), Not(HasSubstr(request)));
  EXPECT_THAT(SourceOf(kSoftMax, "8", "8192"), Not(HasSubstr(request)));
  EXPECT_THAT(SourceOf(kSoftMax, "512", "131072"), Not(HasSubstr(request)));
}

}  // namespace
}  // namespace mdh::next_part_test
