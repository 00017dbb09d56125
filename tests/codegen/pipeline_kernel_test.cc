// Kernels of pipelines: golden sources of a step with a temporary, and what is chosen for all
// steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/generate_kernel.h"
#include "codegen/generate_pipeline.h"
#include "codegen/print/c_unit_parts.h"
#include "core/pipeline/pipeline_place.h"
#include "core/text/pipeline_parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/core/pipeline/sample_pipelines.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/random_expression.h"

namespace mdh::pipeline_kernel_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DeviceDescription Cpu() {
  DeviceDescription device;
  device.name = "test";
  device.cores = 2;
  device.simd_bytes = 32;
  device.compiler = "gcc";
  return device;
}

Pipeline Layer() { return *ParsePipeline(kLayer, {{"M", "64"}, {"N", "96"}, {"K", "32"}}); }

// h = x + x, z = h * h, u = z - 1, y = u + h with these roles: `h` and `u` are temporaries.
constexpr char kChain[] = R"(chain := pipeline(x) -> (y, z) {
  h = twice(x); z = square(h); u = less(z); y = less(u)
}
twice := out_view<fp32>( b: (i) -> (i) ) o md_hom<1000>( f, (++) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> b { b = a + a }
square := out_view<fp32>( b: (i) -> (i) ) o md_hom<1000>( f, (++) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> b { b = a * a }
less := out_view<fp32>( b: (i) -> (i) ) o md_hom<1000>( f, (++) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> b { b = a - 1 }
)";

Kernel DefaultKernel(const Pipeline& pipeline, const SystemModel& model,
                     const DeviceDescription& device) {
  const auto kernel =
      GeneratePipelineKernel(pipeline, model, device, DefaultParameters(pipeline, model, device));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

TEST(PipelineKernelTest, GoldenC) {
  const Pipeline layer = Layer();
  const SystemModel model = OpenMpModel();
  std::vector<TuningParameters> parameters = DefaultParameters(layer, model, Cpu());
  parameters[1].threads = 1;
  const auto kernel = GeneratePipelineKernel(layer, model, Cpu(), parameters);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("layer.c", kernel->source);
}

TEST(PipelineKernelTest, GoldenCuda) {
  ExpectGoldenFile("layer.cu",
                   DefaultKernel(Layer(), CudaModel(), *DescribeCudaArchitecture(90)).source);
}

TEST(PipelineKernelTest, ArgumentsAreInputsThenOutputsOfThePipeline) {
  const Kernel kernel = DefaultKernel(Layer(), OpenMpModel(), Cpu());
  EXPECT_EQ(kernel.entry, "mdh_layer");
  std::vector<std::string> names;
  for (const KernelArgument& a : kernel.arguments) names.push_back(a.name);
  EXPECT_THAT(names, testing::ElementsAre("x", "w", "b", "y"));
  EXPECT_TRUE(kernel.arguments[3].is_output);
  EXPECT_EQ(kernel.arguments[3].extents, (std::vector<int64_t>{64, 96}));
}

// h is dead before u is alive, so that they share memory.
TEST(PipelineKernelTest, TemporariesShareMemoryByLifetime) {
  const Kernel kernel =
      DefaultKernel(*ParsePipeline(kChain), CudaModel(), *DescribeCudaArchitecture(90));
  EXPECT_EQ(kernel.launches.size(), 4u);
  EXPECT_EQ(kernel.scratch_bytes, 4032);  // 4000, aligned
  EXPECT_THAT(kernel.source, AllOf(HasSubstr("h = (float*)(scratch + 0)"),
                                   HasSubstr("u = (float*)(scratch + 0)")));
}

TEST(ScratchLayoutTest, WithoutLifetimesBuffersLieInTheirOrder) {
  const ScratchLayout layout = LayOutScratch({{"a", ScalarType::kFloat32, 4, false},
                                              {"of_thread", ScalarType::kFloat64, 9, true},
                                              {"b", ScalarType::kFloat32, 100, false}});
  EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 0, 64}));
  EXPECT_EQ(layout.shared_bytes, 64 + 448);
  EXPECT_EQ(layout.thread_bytes, 128);
  EXPECT_EQ(layout.TotalBytes(3), 512 + 3 * 128);
}

// Those that a stage may use together lie apart.
TEST(ScratchLayoutTest, BuffersOfOneTimeLieApart) {
  Rng rng(FreshSeed());
  for (int n = 0; n < 200; ++n) {
    std::vector<ScratchBuffer> scratch;
    const int64_t count = 1 + Below(rng, 12);
    for (int64_t b = 0; b < count; ++b) {
      const int first = static_cast<int>(Below(rng, 6));
      scratch.push_back({.name = absl::StrCat("b", b),
                         .type = ScalarType::kFloat32,
                         .elements = Below(rng, 200),
                         .per_thread = Below(rng, 4) == 0,
                         .first_stage = first,
                         .last_stage = first + static_cast<int>(Below(rng, 3))});
    }
    const ScratchLayout layout = LayOutScratch(scratch);
    int64_t all_bytes = 0, largest = 0;
    for (size_t a = 0; a < scratch.size(); ++a) {
      const auto end = [&](size_t b) { return layout.offsets[b] + 4 * scratch[b].elements; };
      EXPECT_EQ(layout.offsets[a] % 64, 0);
      EXPECT_LE(end(a), scratch[a].per_thread ? layout.thread_bytes : layout.shared_bytes);
      const int64_t bytes = (4 * scratch[a].elements + 63) / 64 * 64;
      all_bytes += bytes;
      largest = std::max(largest, bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool meet = scratch[a].per_thread == scratch[b].per_thread &&
                          scratch[a].first_stage <= scratch[b].last_stage &&
                          scratch[b].first_stage <= scratch[a].last_stage;
        const bool overlap = layout.offsets[a] < end(b) && layout.offsets[b] < end(a);
        EXPECT_FALSE(meet && overlap) << a << " and " << b;
      }
    }
    EXPECT_LE(layout.TotalBytes(1), all_bytes);
    EXPECT_GE(layout.TotalBytes(1), largest);
  }
}

// A stage that may begin while another one still writes the output must not take it for constant.
TEST(PipelineKernelTest, OutputsThatEarlyStagesOnlyReadHaveNoRestrict) {
  const Pipeline chain = *ParsePipeline(kChain);
  const std::string source =
      DefaultKernel(chain, CudaModel(), *DescribeCudaArchitecture(90)).source;
  EXPECT_THAT(source, HasSubstr("mdh_chain_1(const float* __restrict__ x, float* __restrict__ y, "
                                "float* __restrict__ z, "));
  EXPECT_THAT(source, HasSubstr("mdh_chain_2(const float* __restrict__ x, float* __restrict__ y, "
                                "float* z, "));
}

TEST(PipelineKernelTest, ThreadsCompilerAndContractionAreRightForAllSteps) {
  const Pipeline layer = Layer();
  std::vector<TuningParameters> parameters = DefaultParameters(layer, OpenMpModel(), Cpu());
  const auto kernel_of = [&](int threads_of_product, int threads_of_activation) {
    parameters[0].threads = threads_of_product;
    parameters[1].threads = threads_of_activation;
    return *GeneratePipelineKernel(layer, OpenMpModel(), Cpu(), parameters);
  };
  EXPECT_EQ(kernel_of(1, 1).threads, 1);
  EXPECT_EQ(kernel_of(1, 3).threads, 3);
  EXPECT_EQ(kernel_of(0, 3).threads, TuningParameters::kAllThreads);
  EXPECT_THAT(kernel_of(0, 3).source,
              AllOf(HasSubstr("case 0: stage_0(thread, threads, "),
                    HasSubstr("case 1: if (thread < 3) stage_1(thread, (int)mdh_min(threads, 3)")));
  EXPECT_THAT(kernel_of(0, 1).source, HasSubstr("case 1: if (thread < 1) stage_1(0, 1, "));
  parameters[0].compiler = Compiler::kClang;  // that of the product, which is more work
  EXPECT_EQ(kernel_of(0, 0).compiler, Compiler::kClang);
  EXPECT_THAT(kernel_of(0, 0).compile_options, testing::Contains("-ffp-contract=fast"));
  parameters[1].numerics = NumericsPolicy::kExactOrder;
  EXPECT_THAT(kernel_of(0, 0).compile_options, testing::Contains("-ffp-contract=off"));
}

TEST(PipelineKernelTest, CallsStartEarlyIfAllStepsAllowIt) {
  const Pipeline layer = Layer();
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  std::vector<TuningParameters> parameters = DefaultParameters(layer, CudaModel(), device);
  const auto starts_early = [&](EarlyLaunches product, EarlyLaunches activation) {
    parameters[0].early_launches = product;
    parameters[1].early_launches = activation;
    const Kernel kernel = *GeneratePipelineKernel(layer, CudaModel(), device, parameters);
    return std::vector<bool>{kernel.launches[0].starts_early, kernel.launches[1].starts_early};
  };
  using Early = std::vector<bool>;
  EXPECT_EQ(starts_early(EarlyLaunches::kCalls, EarlyLaunches::kCalls), Early({true, true}));
  EXPECT_EQ(starts_early(EarlyLaunches::kCalls, EarlyLaunches::kStages), Early({false, true}));
  EXPECT_EQ(starts_early(EarlyLaunches::kNone, EarlyLaunches::kCalls), Early({false, false}));
  EXPECT_EQ(starts_early(EarlyLaunches::kPrefetches, EarlyLaunches::kCalls), Early({true, true}));
}

// If all steps do, and the inputs of the whole call are not too many bytes.
TEST(PipelineKernelTest, InputsAreBroughtEarlyIfAllStepsSayIt) {
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const auto prefetches = [&](const Pipeline& pipeline, EarlyLaunches last) {
    std::vector<TuningParameters> parameters = DefaultParameters(pipeline, CudaModel(), device);
    for (TuningParameters& p : parameters) p.early_launches = EarlyLaunches::kPrefetches;
    parameters.back().early_launches = last;
    const Kernel kernel = *GeneratePipelineKernel(pipeline, CudaModel(), device, parameters);
    EXPECT_TRUE(kernel.launches[0].starts_early);
    return kernel.source.find("mdh_prefetch") != std::string::npos;
  };
  EXPECT_TRUE(prefetches(Layer(), EarlyLaunches::kPrefetches));
  EXPECT_FALSE(prefetches(Layer(), EarlyLaunches::kCalls));
  const Pipeline large = *ParsePipeline(R"(p := pipeline(x, w) -> (y, z) {
  y = twice(x);
  z = twice(w)
}
twice := out_view<fp32>( b: (i) -> (i) ) o md_hom<3000000>( f, (++) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> b { b = a + a }
)");
  EXPECT_FALSE(prefetches(large, EarlyLaunches::kPrefetches)) << "24 MB, of each step 12";
}

// A stage that reads inputs before it waits for the others must not do so where another step writes
// them: the stage in front of it may run at the same time as that one.
TEST(PipelineKernelTest, StepsWaitBeforeTheyReadTemporaries) {
  const Pipeline pipeline = *ParsePipeline(R"(p := pipeline(x) -> y { h = twice(x); y = total(h) }
twice := out_view<fp32>( b: (i) -> (i) ) o md_hom<100000>( f, (++) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> b { b = a + a }
total := out_view<fp32>( s: (i) -> (0) ) o md_hom<100000>( f, (+) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> s { s = a }
)");
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const Expression& total = pipeline.steps()[1].expression;
  std::vector<TuningParameters> parameters = DefaultParameters(pipeline, CudaModel(), device);
  // Found where partial results are combined by blocks: atomically, or by the last one.
  for (const CombineBlocks combine : {CombineBlocks::kAtomics, CombineBlocks::kLastBlock}) {
    parameters[1].combine_blocks = combine;
    const auto alone = Lower(total, CudaModel(), device, parameters[1]);
    ASSERT_TRUE(alone.ok()) << alone.status();
    const KernelProgram joined = *PipelineProgramOf(pipeline, CudaModel(), device, parameters);
    EXPECT_EQ(joined.program.stages.size(),
              BuildProgram(*alone, device)->program.stages.size() + 1);
    const std::string source =
        GeneratePipelineKernel(pipeline, CudaModel(), device, parameters)->source;
    const size_t last = source.find("mdh_p_2(");
    ASSERT_NE(last, std::string::npos);
    EXPECT_LT(source.find("mdh_wait_for_stages();", last), source.find("h[", last));
    EXPECT_LT(source.find("mdh_wait_for_stages();", last), source.find("h +", last));
  }
}

// Nor must it write scratch memory that another step, which may still run, has for its own results.
TEST(PipelineKernelTest, StepsWaitBeforeTheyWriteScratchMemory) {
  const Pipeline pipeline =
      *ParsePipeline(R"(p := pipeline(x, y) -> (s, t) { s = total(x); t = total(y) }
total := out_view<fp32>( s: (i) -> (0) ) o md_hom<100000>( f, (+) ) o inp_view<fp32>( a: (i) -> (i) )
where f(a) -> s { s = a }
)");
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  std::vector<TuningParameters> parameters = DefaultParameters(pipeline, CudaModel(), device);
  for (TuningParameters& step : parameters) step.combine_blocks = CombineBlocks::kLastBlock;
  const Result<Kernel> kernel = GeneratePipelineKernel(pipeline, CudaModel(), device, parameters);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::string& source = kernel->source;
  ASSERT_EQ(kernel->launches.size(), 4);
  const auto waits_first = [&source](const char* stage) {
    const size_t begin = source.find(stage);
    return source.find("mdh_wait_for_stages();", begin) < source.find("(scratch + ", begin);
  };
  EXPECT_FALSE(waits_first("mdh_p_1(")) << "of the first step nothing else runs beside it";
  EXPECT_TRUE(waits_first("mdh_p_3("));
}

// Names that one step has for itself and another one, or the pipeline, for something else.
TEST(PipelineKernelTest, NamesOfStepsDoNotMeet) {
  const Pipeline pipeline = *ParsePipeline(R"(p := pipeline(i, tid) -> (B, threads) {
  A = product(i, tid); B = product(A, tid); threads = product(tid, A)
}
product := out_view<fp32>( i_: (i,j,k) -> (i,j) ) o md_hom<32,32,32>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
)");
  const Kernel kernel = DefaultKernel(pipeline, CudaModel(), *DescribeCudaArchitecture(90));
  EXPECT_EQ(kernel.arguments[0].name, "i");
  EXPECT_EQ(kernel.arguments[1].name, "tid_");
  EXPECT_EQ(kernel.arguments[3].name, "threads_");
  EXPECT_THAT(kernel.source, Not(HasSubstr("const int i =")));
}

TEST(PipelineKernelTest, TheProgramOfOneStepIsThatOfItsExpression) {
  const Pipeline product = Pipeline::Of(Layer().steps()[0].expression);
  const std::vector<TuningParameters> parameters = DefaultParameters(product, OpenMpModel(), Cpu());
  const Kernel alone = *GenerateKernel(
      *Lower(product.steps()[0].expression, OpenMpModel(), Cpu(), parameters[0]), Cpu());
  const Kernel kernel = *GeneratePipelineKernel(product, OpenMpModel(), Cpu(), parameters);
  EXPECT_EQ(kernel.compile_options, alone.compile_options);
  EXPECT_EQ(kernel.header, alone.header);
  EXPECT_EQ(kernel.stages, alone.stages);
}

TEST(PipelineKernelTest, ErrorsNameTheStep) {
  const Pipeline layer = Layer();
  std::vector<TuningParameters> parameters = DefaultParameters(layer, OpenMpModel(), Cpu());
  parameters[1] = parameters[0];
  const Status status = GeneratePipelineKernel(layer, OpenMpModel(), Cpu(), parameters).status();
  EXPECT_THAT(ErrorMessage(status), HasSubstr("step 2, activation: "));
  EXPECT_EQ(PlaceOfPipeline(status),
            (PipelinePlace{.kind = PipelinePlace::Kind::kStep, .number = 1}));
  parameters.pop_back();
  EXPECT_EQ(ErrorMessage(GeneratePipelineKernel(layer, OpenMpModel(), Cpu(), parameters).status()),
            "pipeline 'layer' has 2 steps, but 1 parameters were given");
}

}  // namespace
}  // namespace mdh::pipeline_kernel_test
