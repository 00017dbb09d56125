// Kernels of joint groups: golden sources, what is refused by which constraint, and candidates.
#include "codegen/backends/joint_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "codegen/generate_pipeline.h"
#include "codegen/joint_parameters.h"
#include "core/pipeline/plan/computed_pipeline.h"
#include "core/pipeline/plan/joint_groups.h"
#include "core/pipeline/plan/plan.h"
#include "core/pipeline/plan/streamed_steps.h"
#include "core/text/pipeline_parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/core/pipeline/row_pipelines.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tests/source_path.h"

namespace mdh::joint_stage_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

DeviceDescription TwoCores() {
  DeviceDescription device;
  device.name = "test";
  device.cores = 2;
  device.simd_bytes = 32;
  device.compiler = "gcc";
  return device;
}

DeviceDescription Gpu() { return *DescribeCudaArchitecture(90); }

JointGroup GroupOf(const Pipeline& pipeline, int64_t points) {
  return WithPart(pipeline, JointGroups(pipeline).at(0), points);
}

Result<Kernel> KernelOf(const Pipeline& pipeline, const JointGroup& group, const SystemModel& model,
                        const DeviceDescription& device) {
  const auto parameters =
      DefaultParameters(pipeline, std::vector<JointGroup>{group}, model, device);
  EXPECT_TRUE(parameters.ok()) << parameters.status();
  return GeneratePipelineKernel(pipeline, model, device, *parameters, {group});
}

std::string ShippedPipeline(const std::string& name) {
  std::ifstream file(SourcePath("client/expressions/pipelines/" + name + ".mdh"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

DeviceDescription TwoWideCores() {
  DeviceDescription cpu = TwoCores();
  cpu.simd_bytes = 64;
  cpu.vector_registers = 32;
  cpu.l1_bytes = 48 << 10;
  cpu.l2_bytes = 2 << 20;
  return cpu;
}

// Of so many elements, with matrices of points x points.
Pipeline Interpolation(int64_t points, int64_t elements) {
  const std::string extent = std::to_string(points);
  return *ParsePipeline(ShippedPipeline("interp"),
                        {{"E", std::to_string(elements)}, {"M", extent}, {"N", extent}});
}

TEST(JointStage, GoldenC) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax);
  const auto kernel = KernelOf(pipeline, GroupOf(pipeline, 4), OpenMpModel(), TwoCores());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->stages, 1);
  ExpectGoldenFile("joint_soft_max.c", kernel->source);
}

TEST(JointStage, GoldenCuda) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  const auto kernel = KernelOf(pipeline, GroupOf(pipeline, 1), CudaModel(), Gpu());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_EQ(kernel->launches.size(), 1u);
  EXPECT_EQ(kernel->launches[0].geometry.grid[0], 32);
  EXPECT_EQ(kernel->scratch_bytes, 0);
  ExpectGoldenFile("joint_soft_max.cu", kernel->source);
}

// The matrix is turned for vectors along the last dimension.
TEST(JointStage, ThreadsPackOnceWhatIsTheSameForAllParts) {
  const Pipeline pipeline = Interpolation(7, 100);
  const auto kernel =
      KernelOf(pipeline, GroupOf(pipeline, 7), OpenMpSimdRegistersModel(), TwoCores());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const size_t packing = kernel->source.find("Pack whole inputs");
  ASSERT_NE(packing, std::string::npos);
  EXPECT_LT(packing, kernel->source.find("joint_part"));
  EXPECT_EQ(kernel->source.find("Pack whole inputs", packing + 1), std::string::npos);
}

// Keys are turned for the first part of a head that a thread computes, chunk by chunk.
TEST(JointStage, ThreadsPackOnceWhatIsTheSameForPartsOfAHead) {
  const DeviceDescription cpu = TwoWideCores();
  const auto source_of = [&](const char* name, const char* keys, const char* queries) {
    const Pipeline pipeline = *ParsePipeline(
        ShippedPipeline(name), {{"B", "1"}, {"H", "4"}, {"I", queries}, {"J", keys}, {"E", "64"}});
    const JointGroup group = DefaultJointGroups(pipeline, cpu).at(0);
    return KernelOf(pipeline, group, OpenMpSimdRegistersModel(), cpu)->source;
  };
  EXPECT_THAT(source_of("attention", "512", "512"),
              AllOf(HasSubstr("if (kept_for[0] != (int64_t)(joint_part / "),
                    Not(HasSubstr("K_packed_of_chunks"))));
  EXPECT_THAT(source_of("causal_attention", "512", "512"),
              AllOf(HasSubstr("if (kept_for[joint_origin3 / 64] != (int64_t)(joint_part / 8))"),
                    HasSubstr("K_packed = K_packed_of_chunks + joint_origin3 / 64 * 4096;")));
  // A head is a part.
  EXPECT_THAT(source_of("attention", "512", "16"), Not(HasSubstr("kept_for")));
}

// What costs too much for one part pays for those of a head.
TEST(JointParameters, CopiesForSeveralPartsCostTheirShare) {
  const DeviceDescription cpu = TwoWideCores();
  const auto packs_keys = [&](const char* heads, const char* queries) {
    const Pipeline pipeline =
        *ParsePipeline(ShippedPipeline("attention"),
                       {{"B", "1"}, {"H", heads}, {"I", queries}, {"J", "2048"}, {"E", "128"}});
    JointGroup group = StreamedGroups(pipeline, GroupOf(pipeline, 1)).at(0);
    group.part = {1, 1, 4};
    group.chunk = 128;
    const auto parameters = DefaultParameters(pipeline, std::vector<JointGroup>{group},
                                              OpenMpSimdRegistersModel(), cpu);
    return parameters->at(0).inputs.at(1).stage_layer == InputParameters::kWholeBuffer;
  };
  EXPECT_TRUE(packs_keys("4", "2048"));
  EXPECT_FALSE(packs_keys("64", "4"));
}

// Masks of attention compare with the query's index, scores are in shared memory.
TEST(JointStage, IndicesCountFromTheFirstPoint) {
  const Pipeline pipeline = *ParsePipeline(kAttention);
  const JointGroup group = GroupOf(pipeline, 4);
  EXPECT_THAT(KernelOf(pipeline, group, OpenMpModel(), TwoCores())->source,
              HasSubstr("joint_origins[2] = (int64_t)(joint_origin2);"));
  const Kernel cuda = *KernelOf(pipeline, group, CudaModel(), Gpu());
  EXPECT_THAT(cuda.source, AllOf(HasSubstr("__shared__ __align__(16) float s[64];"),
                                 HasSubstr("long long joint_origins[3];")));
  EXPECT_EQ(cuda.scratch_bytes, 0);
  DeviceDescription device = Gpu();
  device.kind = DeviceKind::kOpenCl;
  device.features = FeaturesOf(device);
  EXPECT_THAT(KernelOf(pipeline, group, OpenClModel(), device)->source,
              HasSubstr("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"));
}

// Of rows of 1026 elements only every other one begins at 16 bytes.
TEST(JointStage, RowsAtOddPlacesAreMovedByElements) {
  const Pipeline even = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  EXPECT_THAT(KernelOf(even, GroupOf(even, 1), CudaModel(), Gpu())->source,
              HasSubstr("const float4*)&x_of_part"));
  // The parameters are those of rows of the same number, in a buffer whose rows are longer.
  const std::string text = kSoftMax;
  const auto strided = [&](absl::string_view from, absl::string_view to) {
    return absl::StrReplaceAll(text, {{from, to}});
  };
  const Pipeline odd =
      *ParsePipeline(strided("x: (i,j)", "x[I,J] strides (1026, 1): (i,j)"), {{"N", "1024"}});
  EXPECT_THAT(KernelOf(odd, GroupOf(odd, 1), CudaModel(), Gpu())->source,
              Not(HasSubstr("const float4*)&x_of_part")));
}

// With as many keys that rows of scores are long.
constexpr char kCausal[] = R"(causal<T = fp32 | I = 256, J = 256> := pipeline(q, k, v) -> (l, o) {
  s = scores<T | I, J>(q, k);
  m = row_max<T | I, J>(s);
  p = weights<T | I, J>(s, m);
  l = row_sum<T | I, J>(p);
  o = output<T | I, J>(p, v)
}
scores<T | I, J> := out_view<T>( s: (i,j,e) -> (i,j) ) o
  md_hom<I,J,32>( f, (++, ++, +), store masked ) o
  inp_view<T,T>( q: (i,j,e) -> (i,e), k: (i,j,e) -> (j,e) )
where f(q, k) -> (c: T) { c = q * k }, masked(c) -> s { s = j <= i ? c : T(-inf) }
row_max<T | I, J> := out_view<T>( m: (i,j) -> (i) ) o md_hom<I,J>( f, (++, max) ) o
  inp_view<T>( s: (i,j) -> (i,j) ) where f(s) -> m { m = s }
weights<T | I, J> := out_view<T>( p: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T>( s: (i,j) -> (i,j), m: (i,j) -> (i) ) where f(s, m) -> p { p = exp(s - m) }
row_sum<T | I, J> := out_view<T>( l: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
  inp_view<T>( p: (i,j) -> (i,j) ) where f(p) -> l { l = p }
output<T | I, J> := out_view<T>( o: (i,e,j) -> (i,e) ) o md_hom<I,32,J>( f, (++, ++, +) ) o
  inp_view<T,T>( p: (i,e,j) -> (i,j), v: (i,e,j) -> (j,e) )
where f(p, v) -> o { o = p * v }
)";

JointGroup StreamedGroupOf(const Pipeline& pipeline, int64_t points, int64_t chunk) {
  JointGroup group = StreamedGroups(pipeline, GroupOf(pipeline, points)).at(0);
  group.chunk = chunk;
  return group;
}

TEST(JointStage, ChunksOfAStreamedDimension) {
  const Pipeline pipeline = *ParsePipeline(kCausal);
  const Kernel cuda = *KernelOf(pipeline, StreamedGroupOf(pipeline, 64, 32), CudaModel(), Gpu());
  // Parts with more keys begin first. Scores and what is carried are in registers, only the weights
  // go through shared memory, whose copies begin ahead.
  EXPECT_THAT(cuda.source,
              AllOf(HasSubstr("const int joint_origin0 = (3 - joint_part) * 64;"),
                    HasSubstr("joint_chunk < joint_end; joint_chunk++"), HasSubstr("float s_own["),
                    HasSubstr("float o_after_own["), HasSubstr("float p[2300]"),
                    Not(HasSubstr("float s[")), HasSubstr("mdh_wait_for_copies_but_0();")));
  EXPECT_EQ(cuda.launches.size(), 1u);
  EXPECT_EQ(cuda.scratch_bytes, 0);
  // Tiles of results in registers, rows of keys as vectors from shared memory.
  EXPECT_THAT(cuda.source, AllOf(HasSubstr("float4*)&k_sm["), HasSubstr("waiting")));
  // CPUs combine from one place to another.
  const Kernel c =
      *KernelOf(pipeline, StreamedGroupOf(pipeline, 64, 32), OpenMpModel(), TwoCores());
  EXPECT_THAT(c.source, HasSubstr("joint_chunk % 2"));
}

// Of records every field has a view, which all steps would call the same.
constexpr char kRecords[] = R"(pairs<T = fp32 | I = 256, J = 32> := pipeline(x) -> (t, y) {
  s = first<T | I, J>(x);
  t = second<T | I, J>(s);
  y = third<T | I, J>(s, t)
}
first<T | I, J> := out_view<{p: T, q: int32}>( o: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T>( x: (i,j) -> (i,j) ) where f(x) -> o { o = {p: x, q: 1} }
second<T | I, J> := out_view<{p: T, q: int32}>( o: (i,j) -> (i) ) o
  md_hom<I,J>( f, (++, g) ) o inp_view<{p: T, q: int32}>( s: (i,j) -> (i,j) )
where f(s) -> o { o = s }, g(a, b) -> c { c = {p: max(a.p, b.p), q: a.q + b.q} }
third<T | I, J> := out_view<{p: T, q: int32}>( o: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<{p: T, q: int32},{p: T, q: int32}>( s: (i,j) -> (i,j), t: (i,j) -> (i) )
where f(s, t) -> o { o = {p: s.p - t.p, q: s.q + t.q} }
)";

TEST(JointStage, PointersOfAllStepsHaveNamesOfTheirOwn) {
  const Pipeline pipeline = *ParsePipeline(kRecords);
  const std::string source = KernelOf(pipeline, GroupOf(pipeline, 1), CudaModel(), Gpu())->source;
  std::map<std::string, int> declared;
  for (const absl::string_view line : absl::StrSplit(source, '\n')) {
    const size_t end = line.find(" = ("), star = line.rfind("* ", end);
    if (end == absl::string_view::npos || star == absl::string_view::npos) continue;
    ++declared[std::string(line.substr(star + 2, end - star - 2))];
  }
  EXPECT_THAT(declared, AllOf(Contains(Pair("o_f32", 1)), Contains(Pair("o_f32_1", 1)),
                              Contains(Pair("o_f32_2", 1)), Contains(Pair("s_i32_1", 1))));
  for (const auto& [name, times] : declared) EXPECT_EQ(times, 1) << name;
  // What the first step stores through one, the second one waits for.
  const size_t second = source.find("Of step 2, second.");
  EXPECT_NE(source.substr(0, second).find("__syncthreads();", source.find("Of step 1, first.")),
            std::string::npos);
}

// PoCL 3.1 mixes up work-items around loops with barriers that look as if they might be empty.
// Every part runs a chunk, whose elements may all be masked.
TEST(JointStage, LoopsWithBarriersAreNeverEmptyOnCpusUnderOpenCl) {
  DeviceDescription gpu = Gpu();
  gpu.kind = DeviceKind::kOpenCl;
  gpu.features = FeaturesOf(gpu);
  DeviceDescription cpu = gpu;
  cpu.blocks.warp_size = 1;
  cpu.features = FeaturesOf(cpu);
  const Pipeline causal = *ParsePipeline(kCausal);
  const JointGroup group = StreamedGroupOf(causal, 64, 32);
  const std::string on_cpu = KernelOf(causal, group, OpenClModel(), cpu)->source;
  EXPECT_THAT(on_cpu, HasSubstr("for (int joint_chunk = joint_first; joint_chunk == joint_first || "
                                "joint_chunk < joint_end; joint_chunk++)"));
  EXPECT_THAT(KernelOf(causal, group, OpenClModel(), gpu)->source,
              AllOf(HasSubstr("joint_chunk < joint_end; joint_chunk++"),
                    Not(HasSubstr("joint_chunk == joint_first"))));
  const Pipeline attention = *ParsePipeline(kAttention, {{"I", "4096"}, {"J", "4096"}});
  EXPECT_THAT(KernelOf(attention, GroupOf(attention, 32), OpenClModel(), cpu)->source,
              HasSubstr("joint_part == joint_block || joint_part < "));
}

TEST(JointStage, SplitsAreCombinedByASecondLaunch) {
  const Pipeline pipeline = *ParsePipeline(kCausal, {{"I", "2"}});
  JointGroup group = StreamedGroupOf(pipeline, 1, 32);
  group.splits = 4;
  const Kernel kernel = *KernelOf(pipeline, group, CudaModel(), Gpu());
  ASSERT_EQ(kernel.launches.size(), 2u);
  EXPECT_EQ(kernel.launches[0].geometry.grid[0], 8);
  EXPECT_EQ(kernel.launches[1].geometry.grid[0], 2);
  EXPECT_GT(kernel.scratch_bytes, 0);
}

TEST(JointStage, StreamedSumsAreReassociated) {
  const Pipeline pipeline = *ParsePipeline(kCausal);
  const std::vector<JointGroup> groups = {StreamedGroupOf(pipeline, 64, 32)};
  const auto parameters =
      DefaultParameters(pipeline, groups, OpenMpModel(), TwoCores(), NumericsPolicy::kExactOrder);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const Status status =
      GeneratePipelineKernel(pipeline, OpenMpModel(), TwoCores(), *parameters, groups).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorMessage(status), HasSubstr("joint_streamed (sums of chunks in the order"));
}

TEST(JointStage, RulesStreamWhereRowsAreTooLong) {
  const Pipeline longer = *ParsePipeline(kCausal, {{"I", "4096"}, {"J", "4096"}});
  const JointGroup group = DefaultJointGroups(longer, Gpu()).at(0);
  EXPECT_TRUE(group.is_streamed());
  EXPECT_EQ(group.splits, 16);
  EXPECT_EQ(group.part[0], 128);
  EXPECT_EQ(group.chunk, 64);
  const Pipeline decode = *ParsePipeline(kCausal, {{"I", "1"}, {"J", "8192"}});
  EXPECT_GT(DefaultJointGroups(decode, Gpu()).at(0).splits, 16);
  const std::vector<PipelineParameters> candidates =
      JointCandidates(PlanPartitions(longer).back(), CudaModel(), Gpu());
  EXPECT_TRUE(candidates.at(0).groups.at(0).is_streamed());
  for (const PipelineParameters& exact : JointCandidates(PlanPartitions(longer).back(), CudaModel(),
                                                         Gpu(), NumericsPolicy::kExactOrder)) {
    EXPECT_FALSE(exact.groups.at(0).is_streamed());
  }
}

// Parts of streamed steps of which shared memory holds nothing are not worth it, and no rules leave
// blocks of one thread.
TEST(JointStage, RulesGiveBlocksOfManyThreads) {
  for (const char* name : {"attention", "causal_attention", "interp", "inverse_helmholtz",
                           "jacobi3d_4", "layer_norm", "log_softmax", "rms_norm", "softmax"}) {
    const Pipeline pipeline = *ParsePipeline(ShippedPipeline(name));
    const std::vector<JointGroup> groups = DefaultJointGroups(pipeline, Gpu());
    ASSERT_FALSE(groups.empty()) << name;
    const auto parameters = DefaultParameters(pipeline, groups, CudaModel(), Gpu());
    ASSERT_TRUE(parameters.ok()) << name << parameters.status();
    const auto kernel = GeneratePipelineKernel(pipeline, CudaModel(), Gpu(), *parameters, groups);
    ASSERT_TRUE(kernel.ok()) << name << kernel.status();
    EXPECT_GE(kernel->launches[0].geometry.threads_per_block(), 32) << name;
    EXPECT_EQ(kernel->scratch_bytes, 0) << name;
  }
}

// What does not fit into shared memory is in device memory, a piece for every block.
TEST(JointStage, LargeTemporariesAreInDeviceMemory) {
  const Pipeline pipeline = *ParsePipeline(kAttention, {{"I", "4096"}, {"J", "4096"}});
  const JointGroup group = GroupOf(pipeline, 32);
  const Kernel kernel = *KernelOf(pipeline, group, CudaModel(), Gpu());
  const int64_t blocks = kernel.launches[0].geometry.grid[0];
  EXPECT_LE(blocks, 4 * Gpu().blocks.multiprocessors);
  EXPECT_GE(kernel.scratch_bytes, blocks * 32 * 4096 * 4);
  EXPECT_THAT(kernel.source, HasSubstr("for (int joint_part = joint_block; joint_part < 768;"));
}

std::string Refusal(const Pipeline& pipeline, const JointGroup& group,
                    std::vector<TuningParameters> parameters, const DeviceDescription& device) {
  const Status status =
      GeneratePipelineKernel(pipeline, CudaModel(), device, parameters, {group}).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

TEST(JointStage, ConstraintsAreNamed) {
  const Pipeline pipeline = *ParsePipeline(kSoftMax, {{"N", "1024"}});
  const JointGroup group = GroupOf(pipeline, 1);
  const std::vector<JointGroup> groups = {group};
  const std::vector<TuningParameters> parameters =
      *DefaultParameters(pipeline, groups, CudaModel(), Gpu());
  std::vector<TuningParameters> others = parameters;
  const std::vector<Expression> parts = *ComputedExpressions(pipeline, groups);
  DeviceDescription narrow = Gpu();
  narrow.blocks.max_threads_per_block = 32;
  others[0] = DefaultParameters(pipeline, groups, CudaModel(), narrow)->at(0);
  EXPECT_THAT(
      Refusal(pipeline, group, others, Gpu()),
      AllOf(HasSubstr("step 1, row_max"),
            HasSubstr("joint_threads (threads of a block in all steps of a group): 32 < ")));
  // Of two types, so that one step does not have the memory of the other.
  const Pipeline wide = *ParsePipeline(
      absl::StrReplaceAll(kSoftMax,
                          {{"-> s { s = exp(x - m) }", "-> (s: fp64) { s = fp64(exp(x - m)) }"}}),
      {{"N", "1024"}});
  const auto of_wide = *DefaultParameters(wide, groups, CudaModel(), Gpu());
  DeviceDescription small = Gpu();
  small.blocks.shared_bytes_per_block = 2100;
  EXPECT_THAT(Refusal(wide, group, of_wide, small),
              HasSubstr("joint_shared_bytes (shared memory of a block): 3072 > 2100"));
  others = parameters;
  others.pop_back();
  EXPECT_THAT(Refusal(pipeline, group, others, Gpu()), HasSubstr("has 3 steps, but 2"));
  EXPECT_EQ(
      ErrorMessage(GeneratePipelineKernel(pipeline, CudaModel(), Gpu(), parameters, {group, group})
                       .status()),
      "the joint group of steps 1 to 3 comes behind one up to step 3");
  JointGroup uneven = group;
  uneven.part = {5};
  EXPECT_THAT(Refusal(pipeline, uneven, parameters, Gpu()), HasSubstr("do not divide the 32"));
}

TEST(JointParameters, EveryPipelineHasCandidates) {
  DeviceDescription opencl = Gpu();
  opencl.kind = DeviceKind::kOpenCl;
  opencl.features = FeaturesOf(opencl);
  for (const char* text : kRowPipelines) {
    const Pipeline pipeline = *ParsePipeline(text);
    const std::vector<Partition> partitions = PlanPartitions(pipeline);
    const Partition& unfused = *std::find_if(partitions.begin(), partitions.end(),
                                             [](const Partition& p) { return p.is_unfused(); });
    for (const auto& [model, device] : std::vector<std::pair<SystemModel, DeviceDescription>>{
             {OpenMpSimdRegistersModel(), TwoCores()},
             {CudaModel(), Gpu()},
             {OpenClModel(), opencl}}) {
      const std::vector<PipelineParameters> candidates =
          JointCandidates(unfused, model, device, NumericsPolicy::kReassociate, /*most=*/2);
      ASSERT_EQ(candidates.size(), 2u) << pipeline.name() << model.name;
      EXPECT_FALSE(candidates[0] == candidates[1]);
      for (const PipelineParameters& p : candidates) {
        EXPECT_EQ(p.edges, unfused.edges);
        EXPECT_TRUE(
            GeneratePipelineKernel(unfused.pipeline, model, device, p.steps, p.groups).ok());
      }
    }
  }
}

// What contractions use again is little beside a part, or it is not: matrices of 7 x 7 and of 32
// x 32.
TEST(JointParameters, PartsOfCoresAreSmallWhereLittleIsTheSameForAll) {
  DeviceDescription cpu = TwoCores();
  cpu.l1_bytes = 48 << 10;
  cpu.l2_bytes = 1 << 20;
  const auto part_of = [&](int64_t points, int64_t elements) {
    return DefaultJointGroups(Interpolation(points, elements), cpu).at(0).part;
  };
  // Of the input, the output and two temporaries.
  const auto bytes_of_part = [&](int64_t points, int64_t elements) {
    const std::vector<int64_t> part = part_of(points, elements);
    return 4 * 8 * points * points * part[0] * part[1];
  };
  EXPECT_LE(bytes_of_part(5, 136000), cpu.l1_bytes / 4);
  EXPECT_GT(bytes_of_part(5, 136000), cpu.l1_bytes / 8);
  EXPECT_GT(bytes_of_part(32, 5000), cpu.l1_bytes / 2);
  EXPECT_GT(bytes_of_part(64, 5000), 2 * cpu.l1_bytes);
  // Whole elements: a quarter of a smaller cache has no room for one, and half of it has.
  EXPECT_THAT(part_of(7, 50000), ElementsAre(1, 7));
  cpu.l1_bytes = 32 << 10;
  EXPECT_THAT(part_of(7, 50000), ElementsAre(1, 7));
  EXPECT_THAT(part_of(9, 50000), ElementsAre(1, 3));
}

// Keys and values of a head are read again for each part of its queries, from beyond the first
// cache.
TEST(JointParameters, PartsOfAttentionOnCoresHaveManyQueries) {
  const DeviceDescription cpu = TwoWideCores();
  const auto part_of = [&](const char* keys) {
    const Pipeline attention = *ParsePipeline(ShippedPipeline("attention"), {{"J", keys}});
    return DefaultJointGroups(attention, cpu).at(0).part;
  };
  EXPECT_GE(part_of("1024").back(), 64);
  EXPECT_LE(part_of("32").back() * 32 * 4, cpu.l1_bytes) << "they stay in it";
}

// Causal attention and sliding windows compute no scores in vain but on the edge of the mask, in
// parts and chunks of about as many points whatever the extent, unless nothing near divides it.
TEST(JointParameters, PartsOnCoresLeaveOutChunksThatMasksDoNotNeed) {
  const DeviceDescription cpu = TwoWideCores();
  const std::string causal = ShippedPipeline("causal_attention");
  const auto group_of = [&](const std::string& text, const char* points,
                            NumericsPolicy numerics = NumericsPolicy::kReassociate) {
    return DefaultJointGroups(*ParsePipeline(text, {{"I", points}}), cpu, numerics).at(0);
  };
  for (const auto& [points, each] : {std::pair{"1024", 64}, {"777", 111}, {"1000", 125}}) {
    const JointGroup group = group_of(causal, points);
    ASSERT_TRUE(group.is_streamed()) << points;
    EXPECT_THAT(group.part, ElementsAre(1, 1, each));
    EXPECT_EQ(group.chunk, each);
  }
  EXPECT_FALSE(group_of(causal, "1021").is_streamed());
  EXPECT_FALSE(group_of(causal, "1024", NumericsPolicy::kExactOrder).is_streamed());
  const auto with_mask = [&](const char* mask) {
    return absl::StrReplaceAll(causal, {{"j <= i ?", mask}});
  };
  EXPECT_EQ(group_of(with_mask("j <= i && i - j < 100 ?"), "1024").chunk, 64);
  EXPECT_FALSE(group_of(with_mask("j % 2 == 0 ?"), "1024").is_streamed());
}

TEST(JointParameters, WithoutCommonDimensionsThereAreNone) {
  const Pipeline one = Pipeline::Of(ParsePipeline(kLayer)->steps()[0].expression);
  EXPECT_THAT(JointCandidates(PlanPartitions(one)[0], CudaModel(), Gpu()), IsEmpty());
}

}  // namespace
}  // namespace mdh::joint_stage_test
