// What rules say of pipelines of which nothing was measured.
#include "codegen/pipeline_defaults.h"

#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/text/pipeline_parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/pipeline/row_pipelines.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/source_path.h"

namespace mdh::pipeline_defaults_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

PipelineDefaults DefaultsOf(const std::string& text, const Bindings& bindings,
                            const SystemModel& model, const DeviceDescription& device,
                            NumericsPolicy numerics = NumericsPolicy::kReassociate) {
  const Result<Pipeline> pipeline = ParsePipeline(text, bindings);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  const std::vector<Partition> partitions = PlanPartitions(*pipeline);
  PipelineDefaults defaults = DefaultPipelineParameters(partitions, model, device, numerics);
  const Partition& chosen = partitions[defaults.partition];
  EXPECT_EQ(defaults.parameters.edges, chosen.edges);
  const auto kernel = GeneratePipelineKernel(chosen.pipeline, model, device,
                                             defaults.parameters.steps, defaults.parameters.groups);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return defaults;
}

TEST(PipelineDefaults, RowsOfBlocksAreKeptOnChip) {
  for (const char* const text : {kSoftMax, kLogSoftMax, kLayerNorm, kRmsNorm}) {
    for (const char* const length : {"128", "1024", "8192", "50257"}) {
      const PipelineDefaults defaults =
          DefaultsOf(text, {{"M", "4096"}, {"N", length}}, CudaModel(), Gpu());
      ASSERT_THAT(defaults.parameters.groups, SizeIs(1)) << text << length;
      const JointGroup& group = defaults.parameters.groups[0];
      ASSERT_TRUE(group.rows) << text << length;
      EXPECT_EQ(group.last - group.first + 1, std::ssize(defaults.parameters.steps));
      EXPECT_EQ(group.rows->threads >= 64, std::string(length) != "128") << length;
      EXPECT_NE(group.rows->keep, RowLayout::Keep::kNothing) << text << length;
    }
  }
}

// What a part leaves to its next step is in the first-level cache, unless it is long, or rows share
// much that no cache so small keeps; results that no cache keeps are not read.
TEST(PipelineDefaults, RowsOfCpusAreComputedWhereTheyAreNear) {
  DeviceDescription cpu;
  cpu.cores = 2;
  cpu.simd_bytes = 64;
  cpu.vector_registers = 32;
  cpu.l1_bytes = 48 << 10;
  cpu.l2_bytes = 1 << 20;
  cpu.l3_bytes = 32 << 20;
  cpu.compiler = "gcc";
  for (const char* const text : {kSoftMax, kLogSoftMax, kLayerNorm, kRmsNorm}) {
    for (const auto& [rows, length, most] :
         {std::tuple("32768", "128", 16), std::tuple("1024", "1024", 2)}) {
      const PipelineDefaults defaults =
          DefaultsOf(text, {{"M", rows}, {"N", length}}, OpenMpSimdRegistersModel(), cpu);
      ASSERT_THAT(defaults.parameters.groups, SizeIs(1)) << text << length;
      EXPECT_LE(defaults.parameters.groups[0].part[0], most) << text << length;
      EXPECT_EQ(defaults.parameters.steps.back().streams_results, std::string(rows) == "32768")
          << text << length;
    }
  }
  const PipelineDefaults shared =
      DefaultsOf(kLayerNorm, {{"M", "1024"}, {"N", "8192"}}, OpenMpSimdRegistersModel(), cpu);
  ASSERT_THAT(shared.parameters.groups, SizeIs(1));
  EXPECT_GT(shared.parameters.groups[0].part[0], 1);
}

TEST(PipelineDefaults, AttentionStreamsButInTheOrderOfItsSums) {
  std::ifstream file(SourcePath("client/expressions/pipelines/attention.mdh"));
  std::stringstream contents;
  contents << file.rdbuf();
  const std::string text = contents.str();
  const Bindings sizes = {{"I", "1024"}, {"J", "1024"}};
  const PipelineDefaults streamed = DefaultsOf(text, sizes, CudaModel(), Gpu());
  ASSERT_THAT(streamed.parameters.groups, SizeIs(1));
  EXPECT_TRUE(streamed.parameters.groups[0].is_streamed());
  for (const JointGroup& group :
       DefaultsOf(text, sizes, CudaModel(), Gpu(), NumericsPolicy::kExactOrder).parameters.groups) {
    EXPECT_FALSE(group.is_streamed());
  }
}

// A part of few rows would read all of w.
TEST(PipelineDefaults, ProductsKeepTheirTiles) {
  const std::string text =
      absl::StrCat(R"(
scores<| M = 1024, N = 1024, K = 1024> := pipeline(x, w, b) -> m {
  h = matmul<fp32 | M, N, K>(x, w);
  y = activation<fp32 | M, N>(h, b);
  m = largest<| M, N>(y)
}
largest<| I, J> :=
  out_view<fp32>( m: (i,j) -> (i) ) o md_hom<I,J>( f, (++, max) ) o
  inp_view<fp32>( y: (i,j) -> (i,j) )
where f(y) -> m { m = y }
)",
                   std::string(kLayer).substr(std::string(kLayer).find("matmul<T | I")));
  const PipelineDefaults defaults = DefaultsOf(text, {}, CudaModel(), Gpu());
  for (const JointGroup& group : defaults.parameters.groups) EXPECT_GT(group.first, 0);
  const Pipeline unfused = *ParsePipeline(text);
  const JointGroup all = WithPart(unfused, JointGroups(unfused).at(0), 1);
  EXPECT_GT(CostWithGroups(unfused, std::vector<JointGroup>{all}, Gpu()),
            CostWithGroups(unfused, {}, Gpu()));
}

// Four parts of Khatri-Rao products and what is made of them would use four of 132 multiprocessors.
TEST(PipelineDefaults, FewPartsOfMuchWorkDoNotRunTogether) {
  const std::string text = R"(
mttkrp<| I = 250, J = 250, K = 250, L = 250> := pipeline(X, B, C) -> y {
  p = khatri_rao<| J, K, L>(B, C);
  y = product<| I, J, K, L>(X, p)
}
khatri_rao<| J, K, L> :=
  out_view<fp32>( p: (j,k,l) -> (j,k,l) ) o md_hom<J,K,L>( f, (++, ++, ++) ) o
  inp_view<fp32,fp32>( B: (j,k,l) -> (k,j), C: (j,k,l) -> (l,j) )
where f(B, C) -> p { p = B * C }
product<| I, J, K, L> :=
  out_view<fp32>( y: (i,j,k,l) -> (i,j) ) o md_hom<I,J,K,L>( f, (++, ++, +, +) ) o
  inp_view<fp32,fp32>( X: (i,j,k,l) -> (i,k,l), p: (i,j,k,l) -> (j,k,l) )
where f(X, p) -> y { y = X * p }
)";
  const PipelineDefaults defaults = DefaultsOf(text, {}, CudaModel(), Gpu());
  for (const JointGroup& group : defaults.parameters.groups) {
    int64_t parts = group.splits;
    for (const int64_t points : group.part) parts *= 250 / points;
    EXPECT_GE(parts, Gpu().blocks.multiprocessors / 2);
  }
  // Few rows are little work: launches would take longer.
  EXPECT_THAT(
      DefaultsOf(kSoftMax, {{"M", "4"}, {"N", "1024"}}, CudaModel(), Gpu()).parameters.groups,
      SizeIs(1));
}

constexpr char kBlurs[] = R"(
blurs<| N = 4194304> := pipeline(x) -> z { y = blur<| N + 2>(x); z = blur<| N>(y) }
blur<| I> :=
  out_view<fp32>( y: (i) -> (i) ) o md_hom<I>( f, (++) ) o
  inp_view<fp32>( x: (i) -> (i), (i) -> (i + 1), (i) -> (i + 2) )
where f(a, b, c) -> y { y = exp(a) + exp(b) + exp(c) }
)";

TEST(PipelineDefaults, ChainsOfStencilsRunTogetherOnCpusAlone) {
  DeviceDescription cpu;
  cpu.name = "test";
  cpu.cores = 2;
  cpu.simd_bytes = 32;
  cpu.l2_bytes = 1 << 20;
  cpu.compiler = "gcc";
  EXPECT_THAT(DefaultsOf(kBlurs, {}, OpenMpSimdRegistersModel(), cpu).parameters.groups, SizeIs(1));
  EXPECT_THAT(DefaultsOf(kBlurs, {}, CudaModel(), Gpu()).parameters.groups, IsEmpty());
}

// Blocks compute chains plane after plane, where these have two dimensions or more.
TEST(PipelineDefaults, ChainsOfPlanesRunTogetherOnGpus) {
  const std::string planes =
      absl::StrReplaceAll(kBlurs, {{"| N = 4194304", "| N = 2048"},
                                   {"md_hom<I>( f, (++) )", "md_hom<I,I>( f, (++, ++) )"},
                                   {"(i) -> (i)", "(i,j) -> (i,j)"},
                                   {"(i) -> (i + 1)", "(i,j) -> (i + 1, j + 2)"},
                                   {"(i) -> (i + 2)", "(i,j) -> (i + 2, j + 1)"}});
  const PipelineParameters chosen = DefaultsOf(planes, {}, CudaModel(), Gpu()).parameters;
  ASSERT_THAT(chosen.groups, SizeIs(1));
  EXPECT_TRUE(chosen.groups[0].planes);
}

TEST(PipelineDefaults, OneStepIsItsDefault) {
  const PipelineDefaults defaults = DefaultsOf(kLayer, {}, CudaModel(), Gpu());
  EXPECT_EQ(defaults.partition, 0u);
  EXPECT_THAT(defaults.parameters.steps, SizeIs(1));
  EXPECT_THAT(defaults.parameters.groups, IsEmpty());
}

}  // namespace
}  // namespace mdh::pipeline_defaults_test
