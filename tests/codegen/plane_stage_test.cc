// Kernels of chains of stencils plane after plane: a golden source, what is read how often, what is
// refused, and which parts are worth a trial.
#include "codegen/backends/planes/plane_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "codegen/plane_layouts.h"
#include "codegen/said_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/schedule/pipeline_parameters_text.h"
#include "core/pipeline/schedule/pipeline_schedule.h"
#include "core/text/pipeline_parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/core/pipeline/row_pipelines.h"

namespace mdh::plane_stage_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kStars[] = R"(stars<T = fp32 | N = 32> := pipeline(x) -> (y) {
  a = star<T | N + 2>(x);
  y = star<T | N>(a)
}
star<T | N> := out_view<T>( o: (i,j,k) -> (i,j,k) ) o md_hom<N,N,N>( f, (++, ++, ++) ) o
  inp_view<T>( x: (i,j,k) -> (i+1,j+1,k), (i,j,k) -> (i+1,j+1,k+2), (i,j,k) -> (i+1,j,k+1),
                  (i,j,k) -> (i+1,j+2,k+1), (i,j,k) -> (i,j+1,k+1), (i,j,k) -> (i+2,j+1,k+1) )
where f(w, e, n, s, u, d) -> o { o = w + e + n + s + u + d }
)";

DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

JointGroup PlanesOf(const Pipeline& pipeline, std::vector<int64_t> part,
                    const PlaneLayout& layout) {
  JointGroup group = JointGroups(pipeline).at(0);
  group.part = std::move(part);
  group.planes = layout;
  return group;
}

Result<Kernel> KernelOf(const Pipeline& pipeline, const JointGroup& group,
                        const SystemModel& model = CudaModel(),
                        const DeviceDescription& device = Gpu()) {
  const std::vector<JointGroup> groups = {group};
  const auto parameters = DefaultParameters(pipeline, groups, model, device);
  if (!parameters.ok()) return parameters.status();
  return GeneratePipelineKernel(pipeline, model, device, *parameters, groups);
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PlaneStage, GoldenCuda) {
  const Pipeline pipeline = *ParsePipeline(kStars);
  const auto kernel =
      KernelOf(pipeline, PlanesOf(pipeline, {16, 8, 32}, {.column = 4, .resident = 2}));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->launches[0].geometry.grid[0], 2 * 4);
  EXPECT_EQ(kernel->launches[0].geometry.block[0], 36 * 3);
  EXPECT_EQ(kernel->scratch_bytes, 0);
  ExpectGoldenFile("plane_stars.cu", kernel->source);
}

// An element of a plane is loaded once, for a turn later; threads wait for each other once a turn.
TEST(PlaneStage, PlanesAreReadOnceAndBarriersAreFew) {
  const Pipeline pipeline = *ParsePipeline(kStars);
  const Kernel kernel = *KernelOf(pipeline, PlanesOf(pipeline, {16, 8, 32}, {.column = 4}));
  const size_t loop = kernel.source.find("for (int round");
  ASSERT_NE(loop, std::string::npos);
  EXPECT_EQ(CountOf(kernel.source.substr(loop), " = x["), 3 * 4);
  EXPECT_EQ(CountOf(kernel.source, "__syncthreads()"), 3);
}

// Where there is nothing, sums are of whatever is there, but nothing is divided.
TEST(PlaneStage, OnlyPointsAreDivided) {
  const auto conditions = [](const std::string& sum, const std::string& type) {
    const Pipeline pipeline = *ParsePipeline(
        absl::StrReplaceAll(kStars, {{"o = w + e", sum}, {"T = fp32", "T = " + type}}));
    return CountOf(KernelOf(pipeline, PlanesOf(pipeline, {16, 8, 32}, {.column = 4}))->source,
                   "if (is_there");
  };
  EXPECT_EQ(conditions("o = w + e", "fp32"), 3 * 4);
  EXPECT_EQ(conditions("o = w + e", "int32"), 3 * 4);
  EXPECT_EQ(conditions("o = w / e", "fp32"), 3 * 4);
  EXPECT_EQ(conditions("o = w / e", "int32"), 3 * 8);
}

TEST(PlaneStage, ConstraintsAreNamed) {
  const Pipeline pipeline = *ParsePipeline(kStars, {{"N", "64"}});
  const auto refusal = [&](std::vector<int64_t> part, const PlaneLayout& layout) {
    return std::string(KernelOf(pipeline, PlanesOf(pipeline, part, layout)).status().message());
  };
  EXPECT_THAT(refusal({16, 16, 64}, {.column = 4}), IsEmpty());
  EXPECT_THAT(refusal({16, 16, 64}, {.column = 0}), HasSubstr("plane_column"));
  EXPECT_THAT(refusal({16, 16, 64}, {.column = 32}), HasSubstr("plane_column"));
  EXPECT_THAT(refusal({16, 64, 64}, {.column = 1}), HasSubstr("plane_threads"));
  EXPECT_THAT(refusal({16, 64, 16}, {.column = 66}), IsEmpty());
  const Pipeline large = *ParsePipeline(kStars, {{"N", "128"}});
  const JointGroup long_columns = PlanesOf(large, {16, 128, 16}, {.column = 128});
  EXPECT_THAT(std::string(KernelOf(large, long_columns).status().message()),
              HasSubstr("plane_registers"));
  EXPECT_THAT(refusal({16, 16, 64}, {.column = 4, .resident = 33}), HasSubstr("plane_resident"));
  EXPECT_THAT(refusal({16, 8, 64}, {.column = 1, .resident = 6}),
              HasSubstr("plane_resident (registers of a thread)"));
  EXPECT_THAT(refusal({16, 64, 64}, {.column = 8, .resident = 2}), HasSubstr("plane_shared_bytes"));
  const Pipeline rows = *ParsePipeline(kSoftMax);
  JointGroup group = JointGroups(rows).at(0);
  group.planes = PlaneLayout();
  EXPECT_THAT(std::string(KernelOf(rows, group).status().message()),
              HasSubstr("planes have one or two dimensions"));
}

TEST(PlaneStage, SchedulesSayColumnsAndBlocks) {
  const Pipeline pipeline = *ParsePipeline(kStars);
  const auto said = [&](const std::string& clauses) {
    const auto schedule = PipelineSchedule::Parse(
        "together(1, 2): part i=16, j=8, k=32; " + clauses, pipeline, CudaModel());
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    const auto parameters = SaidOrRules(*schedule, Gpu());
    EXPECT_TRUE(parameters.ok()) << parameters.status();
    return parameters->groups.at(0).planes;
  };
  EXPECT_EQ(said("column=4; resident=2"), (PlaneLayout{.column = 4, .resident = 2}));
  EXPECT_EQ(said("column=2; resident=none"), (PlaneLayout{.column = 2, .resident = 0}));
  EXPECT_EQ(said("column=none"), std::nullopt);
}

// Of what a thread of OpenCL can have nobody says how many blocks there are.
TEST(PlaneStage, HasCodeForOpenCl) {
  const Pipeline pipeline = *ParsePipeline(kStars);
  DeviceDescription cpu = Gpu();
  cpu.kind = DeviceKind::kOpenCl;
  cpu.features = {};
  cpu.blocks.warp_size = 1;
  const auto kernel =
      KernelOf(pipeline, PlanesOf(pipeline, {16, 8, 32}, {.column = 3}), OpenClModel(), cpu);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(kernel->source, HasSubstr("__local float x_planes["));
  EXPECT_THAT(
      std::string(KernelOf(pipeline, PlanesOf(pipeline, {16, 8, 32}, {.column = 3, .resident = 1}),
                           OpenClModel(), cpu)
                      .status()
                      .message()),
      HasSubstr("plane_resident"));
  EXPECT_THAT(PlaneGroups(pipeline, JointGroups(pipeline).at(0), cpu), IsEmpty());
}

TEST(PlaneGroups, HaveCodeAndAreDifferent) {
  const Pipeline pipeline = *ParsePipeline(kStars, {{"N", "256"}});
  const std::vector<JointGroup> groups = PlaneGroups(pipeline, JointGroups(pipeline).at(0), Gpu());
  EXPECT_GE(groups.size(), 4u);
  for (size_t n = 0; n < groups.size(); ++n) {
    EXPECT_TRUE(KernelOf(pipeline, groups[n]).ok()) << KernelOf(pipeline, groups[n]).status();
    for (size_t m = 0; m < n; ++m) EXPECT_FALSE(groups[n] == groups[m]);
  }
  // Planes of many elements, and not as if halos cost nothing.
  EXPECT_GE(groups[0].part[1] * groups[0].part[2], 512);
  EXPECT_GE(groups[0].planes->column, 2);
  const Pipeline rows = *ParsePipeline(kSoftMax);
  EXPECT_THAT(PlaneGroups(rows, JointGroups(rows).at(0), Gpu()), IsEmpty());
}

TEST(PlaneGroups, AreCandidatesOfChainsAndOfTheirHalves) {
  const Pipeline pipeline = *ParsePipeline(
      absl::StrReplaceAll(kStars, {{"  a = star<T | N + 2>(x);\n",
                                    "  c = star<T | N + 6>(x);\n  b = star<T | N + 4>(c);\n"
                                    "  a = star<T | N + 2>(b);\n"}}),
      {{"N", "128"}});
  const std::vector<Partition> partitions = PlanPartitions(pipeline);
  const Partition& unfused = *std::find_if(partitions.begin(), partitions.end(),
                                           [](const Partition& p) { return p.is_unfused(); });
  int whole = 0, halves = 0;
  for (const PipelineParameters& p : JointCandidates(unfused, CudaModel(), Gpu())) {
    if (!p.groups[0].planes) continue;
    (p.groups.size() == 1 ? whole : halves) += 1;
    EXPECT_EQ(*ParsePipelineParameters(ToText(p)), p);
  }
  EXPECT_GE(whole, 2);
  EXPECT_GE(halves, 2);
}

}  // namespace
}  // namespace mdh::plane_stage_test
