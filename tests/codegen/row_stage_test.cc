// Kernels of row groups: a golden source, what is read and kept how often, and what is refused.
#include "codegen/backends/row_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "codegen/row_layouts.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/text/pipeline_parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/core/pipeline/row_pipelines.h"

namespace mdh::row_stage_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

JointGroup RowsOf(const Pipeline& pipeline, const RowLayout& layout) {
  JointGroup group = WithPart(pipeline, JointGroups(pipeline).at(0), 1);
  group.rows = layout;
  return group;
}

Result<Kernel> KernelOf(const Pipeline& pipeline, const RowLayout& layout,
                        const SystemModel& model = CudaModel(),
                        const DeviceDescription& device = Gpu()) {
  const std::vector<JointGroup> groups = {RowsOf(pipeline, layout)};
  const auto parameters = DefaultParameters(pipeline, groups, model, device);
  if (!parameters.ok()) return parameters.status();
  return GeneratePipelineKernel(pipeline, model, device, *parameters, groups);
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RowStage, GoldenCuda) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  const auto kernel = KernelOf(pipeline, {.threads = 64, .rows = 2, .vector = 4});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->launches[0].geometry.grid[0], 16);
  EXPECT_EQ(kernel->launches[0].geometry.block[0], 128);
  EXPECT_EQ(kernel->scratch_bytes, 0);
  ExpectGoldenFile("row_soft_max.cu", kernel->source);
}

// x is read once, or by every step.
TEST(RowStage, RowsAreKeptOrReadAgain) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  const auto loads = [&](RowLayout::Keep keep) {
    const Kernel kernel =
        *KernelOf(pipeline, {.threads = 64, .rows = 1, .vector = 4, .keep = keep});
    return CountOf(kernel.source, "const float4*)&x[");
  };
  EXPECT_EQ(loads(RowLayout::Keep::kRegisters), 1);
  EXPECT_EQ(loads(RowLayout::Keep::kShared), 1);
  EXPECT_EQ(loads(RowLayout::Keep::kNothing), 3);
}

// A row within a warp needs no barrier, one of several warps one per reduction; without shuffles
// there is one for every halving.
TEST(RowStage, BarriersAreFew) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  const auto barriers = [&](int64_t threads) {
    return CountOf(KernelOf(pipeline, {.threads = threads, .rows = 4, .vector = 4})->source,
                   "__syncthreads()");
  };
  EXPECT_EQ(barriers(32), 0);
  EXPECT_EQ(barriers(8), 0);
  EXPECT_EQ(barriers(128), 2);
  DeviceDescription cpu = Gpu();
  cpu.kind = DeviceKind::kOpenCl;
  cpu.features = {};
  cpu.blocks.warp_size = 1;
  const auto kernel =
      KernelOf(pipeline, {.threads = 8, .rows = 1, .vector = 4}, OpenClModel(), cpu);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(CountOf(kernel->source, "barrier("), 2 * 4);
}

// Threads of the last block that have no row take the last one, those behind its end nothing.
TEST(RowStage, PartsOfBlocksAndOfRowsAreLeftOut) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"M", "33"}, {"N", "1023"}});
  const auto kernel = KernelOf(pipeline, {.threads = 64, .rows = 2, .vector = 1});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->launches[0].geometry.grid[0], 17);
  EXPECT_THAT(kernel->source, AllOf(HasSubstr(", 32)"), HasSubstr("if (lane + 960 < 1023)"),
                                    Not(HasSubstr("float4"))));
}

TEST(RowStage, ConstraintsAreNamed) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1022"}});
  const auto refusal = [&](const RowLayout& layout) {
    return std::string(KernelOf(pipeline, layout).status().message());
  };
  EXPECT_THAT(refusal({.threads = 48}), HasSubstr("row_layout (powers of two)"));
  EXPECT_THAT(refusal({.threads = 1024, .rows = 2}), HasSubstr("row_threads (threads of a block)"));
  EXPECT_THAT(refusal({.threads = 32, .vector = 4}), HasSubstr("row_vector"));
  EXPECT_THAT(refusal({.threads = 1}), HasSubstr("row_registers"));
  EXPECT_THAT(refusal({.threads = 32, .rows = 32, .keep = RowLayout::Keep::kShared}), IsEmpty());
  const Pipeline longer = *ParsePipeline(kSoftMax, {{"N", "65536"}});
  EXPECT_THAT(
      std::string(
          KernelOf(longer, {.threads = 256, .keep = RowLayout::Keep::kShared}).status().message()),
      HasSubstr("row_shared_bytes (shared memory of a block): "));
  const std::vector<JointGroup> groups = {RowsOf(pipeline, {.threads = 32})};
  const std::vector<TuningParameters> exact =
      *DefaultParameters(pipeline, groups, CudaModel(), Gpu(), NumericsPolicy::kExactOrder);
  EXPECT_THAT(
      std::string(
          GeneratePipelineKernel(pipeline, CudaModel(), Gpu(), exact, groups).status().message()),
      HasSubstr("numerics"));
}

// Launches are much of the time of rows; of other groups each step is as a part of a call.
TEST(RowStage, CallsBeginEarly) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  const auto starts_early = [&](const std::vector<JointGroup>& groups, int architecture) {
    const DeviceDescription device = *DescribeCudaArchitecture(architecture);
    const auto parameters = *DefaultParameters(pipeline, groups, CudaModel(), device);
    return GeneratePipelineKernel(pipeline, CudaModel(), device, parameters, groups)
        ->launches[0]
        .starts_early;
  };
  const std::vector<JointGroup> rows = {RowsOf(pipeline, {.threads = 64, .rows = 2, .vector = 4})};
  EXPECT_TRUE(starts_early(rows, 90));
  EXPECT_FALSE(starts_early(rows, 80));
  EXPECT_FALSE(starts_early({WithPart(pipeline, JointGroups(pipeline).at(0), 1)}, 90));
}

TEST(RowLayouts, SuitTheLengthOfRows) {
  const auto first = [](const char* length) {
    const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", length}});
    const std::vector<RowLayout> layouts = RowLayouts(pipeline, RowsOf(pipeline, {}), Gpu());
    for (const RowLayout& layout : layouts) {
      EXPECT_TRUE(KernelOf(pipeline, layout).ok()) << KernelOf(pipeline, layout).status();
    }
    return layouts.at(0);
  };
  EXPECT_EQ(first("128"), (RowLayout{8, 16, 4, RowLayout::Keep::kRegisters}));
  EXPECT_EQ(first("1024"), (RowLayout{64, 2, 4, RowLayout::Keep::kRegisters}));
  EXPECT_EQ(first("8192"), (RowLayout{512, 1, 4, RowLayout::Keep::kRegisters}));
  EXPECT_EQ(first("50257").vector, 1);
  EXPECT_NE(first("1000003").keep, RowLayout::Keep::kRegisters);
}

TEST(RowLayouts, AreCandidatesWhereThereAreRowsAndBlocks) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax);
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  const Partition& unfused = *std::find_if(partitions.begin(), partitions.end(),
                                           [](const Partition& p) { return p.is_unfused(); });
  int rows = 0;
  for (const PipelineParameters& p : JointCandidates(unfused, CudaModel(), Gpu())) {
    rows += p.groups[0].rows ? 1 : 0;
  }
  EXPECT_GE(rows, 4);
  DeviceDescription cpu;
  cpu.cores = 2;
  EXPECT_THAT(RowLayouts(pipeline, RowsOf(pipeline, {}), cpu), IsEmpty());
  const Pipeline attention = *ParsePipeline(kAttention);
  EXPECT_THAT(RowLayouts(attention, JointGroups(attention)[0], Gpu()), IsEmpty());
}

}  // namespace
}  // namespace mdh::row_stage_test
