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

using ::testing::AllOf;
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

std::string SourceOf(const std::string& text, const std::string& rows, const std::string& length,
                     const DeviceDescription& cpu = Cpu()) {
  const Pipeline pipeline = *ParsePipeline(text, {{"M", rows}, {"N", length}});
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  const SystemModel model = OpenMpSimdRegistersModel();
  const PipelineDefaults defaults = DefaultPipelineParameters(partitions, model, cpu);
  EXPECT_FALSE(defaults.parameters.groups.empty());
  const auto kernel = GeneratePipelineKernel(partitions[defaults.partition].pipeline, model, cpu,
                                             defaults.parameters.steps, defaults.parameters.groups);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel->source;
}

// With a last cache that is larger than all data, so that rules have no stores that go past it.
DeviceDescription CpuWithLargeCache() {
  DeviceDescription cpu = Cpu();
  cpu.l3_bytes = int64_t{1} << 30;
  return cpu;
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

TEST(NextPart, LinesThatAreWrittenAreRequestedWhereTheyAreStored) {
  const std::string of_next = "  __builtin_prefetch(y + j + 8192, 1);\n  store_f32x16(y + j, ";
  EXPECT_THAT(SourceOf(kSoftMax, "2048", "8192", CpuWithLargeCache()), HasSubstr(of_next));
  const std::string request = "__builtin_prefetch(y";
  EXPECT_THAT(SourceOf(kSoftMax, "2048", "8192"),
              AllOf(HasSubstr("stream_"), Not(HasSubstr(request))));
  EXPECT_THAT(SourceOf(kSoftMax, "512", "65536", CpuWithLargeCache()), Not(HasSubstr(request)));
  // Of short parts those of later ones: here of 4 rows.
  EXPECT_THAT(SourceOf(kSoftMax, "32768", "128", CpuWithLargeCache()),
              HasSubstr("__builtin_prefetch(y + i * 128 + 2048, 1);"));
}

}  // namespace
}  // namespace mdh::next_part_test
