// Golden sources of whole kernels for OpenCL C and CUDA C++, and what their callers are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "codegen/print/c_unit.h"
#include "codegen/program/kernel.h"
#include "core/text/parser.h"
#include "tests/codegen/golden_file.h"
#include "tests/core/decomposition/lowering_case.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"

namespace mdh::block_source_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<Kernel> Generate(const Expression& expression, const std::string& parameters,
                        const DeviceDescription& device) {
  MDH_ASSIGN_OR_RETURN(const TuningParameters parsed,
                       ParseTuningParameters(parameters, expression));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parsed.system_model));
  MDH_ASSIGN_OR_RETURN(const LowLevelExpression low, Lower(expression, model, device, parsed));
  return GenerateKernel(low, device);
}

Result<Kernel> Generate(const Expression& expression, const std::string& parameters) {
  MDH_ASSIGN_OR_RETURN(const TuningParameters parsed,
                       ParseTuningParameters(parameters, expression));
  MDH_ASSIGN_OR_RETURN(const SystemModel model, SystemModelNamed(parsed.system_model));
  return Generate(expression, parameters, DeviceFor(model));
}

constexpr char kAtomicMatMul[] =
    "model=CUDA; parts=1,8,16|1,1,4|1,32,4|1,1,8|16,4,1; "
    "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,1)(2,2)(2,3)(4,1)(4,2)(4,3)(5,1)(5,2)(5,3); "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; results=0,0,0|2,2,2|0,0,1|2,2,2|2,2,2; "
    "combine=atomics";

// A decomposition of `scan`.
constexpr char kScan[] =
    "tile=64|64|1|1|1; order=(1,1)(3,1)(4,1)(5,1)(2,1); inputs=in_place:0:-1; "
    "accumulate=registers; chains=one; compiler=gcc; "
    "assign=(1,1)|(2,1)|(3,1)|(4,1)|(5,1); results=0|2|1|2|2";

std::string Figure(const std::string& name) {
  return ReadFile(SourcePath("tests/core/decomposition/figures/") + name + ".txt");
}

// Figures 20 and 21: TVM's decompositions of a matrix product.
TEST(BlockSourceTest, FigureForCuda) {
  const Result<Kernel> kernel = Generate(MatMul(16, 1000, 2048), Figure("tvm_cuda"));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("tvm_matmul.cu", kernel->source);
  EXPECT_EQ(kernel->language, Language::kCudaCxx);
  EXPECT_EQ(kernel->entry, "mdh_matmul");
  EXPECT_THAT(kernel->compile_options, ElementsAre("--std=c++17", "--fmad=true"));
  EXPECT_EQ(kernel->launches.size(), static_cast<size_t>(kernel->stages));
}

TEST(BlockSourceTest, FigureForOpenCl) {
  const Result<Kernel> kernel = Generate(MatMul(16, 1000, 2048), Figure("tvm_opencl"));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("tvm_matmul.cl", kernel->source);
  EXPECT_EQ(kernel->language, Language::kOpenClC);
  EXPECT_THAT(kernel->compile_options,
              ElementsAre("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"));
}

// 16 blocks and 4 warps in each share the reduction; blocks add to outputs that were set to zero.
TEST(BlockSourceTest, BlocksThatCombineByAtomics) {
  const Result<Kernel> kernel = Generate(MatMul(16, 1000, 2048), kAtomicMatMul);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("atomics_matmul.cu", kernel->source);
  EXPECT_EQ(kernel->scratch_bytes, 0);
  ASSERT_EQ(kernel->launches.size(), 2u);
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{125, 1, 1}, {128, 1, 1}}));
  EXPECT_FALSE(kernel->launches[0].starts_early);
  EXPECT_EQ(kernel->launches[1].geometry, (LaunchGeometry{{1, 8, 16}, {1, 32, 4}}));
  EXPECT_TRUE(kernel->launches[1].starts_early);
  // Without them, partial results go to scratch memory.
  const std::string partials = absl::StrReplaceAll(kAtomicMatMul, {{"; combine=atomics", ""}});
  const Result<Kernel> other = Generate(MatMul(16, 1000, 2048), partials);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->scratch_bytes, int64_t{4} * 16 * 1000 * 16);
  EXPECT_THAT(other->source, Not(HasSubstr("mdh_add")));
}

// 32 blocks and 4 warps in each share the reduction, and the columns do not fill the last block.
constexpr char kWarpsOfReduction[] =
    "model=CUDA; tile=16,128,64|1,128,64|1,4,16|1,1,1|1,1,1; "
    "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,3)(4,3)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2)(5,3); "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; "
    "compiler=gcc; "
    "assign=(1,3)(1,2)(1,1)|(2,2)(2,1)(2,3)|(3,2)(3,1)(3,3)|(4,2)(4,1)(4,3)|(5,2)(5,1)(5,3); "
    "memory=0,0,0|1,1,0|0,0,0|1,1,1|1,1,1/0,0,0|2,2,0|0,0,0|2,2,2|2,2,2; copy=0:4:1|0:1:1; "
    "results=0,0,0|2,2,2|1,1,1|2,2,2|2,2,2; combine=atomics; unroll=1024";

// Every warp adds up a quarter of the results and adds it to the outputs; there is one version of
// the code, in which the last block reads what exists and adds what exists.
TEST(BlockSourceTest, WarpsThatShareResultsOut) {
  const Result<Kernel> kernel = Generate(MatMul(16, 1000, 2048), kWarpsOfReduction);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("warps_of_reduction.cu", kernel->source);
}

// Fields of records are added to, one after the other, where points add at once, too.
TEST(BlockSourceTest, AtomicsOnFieldsOfRecords) {
  const auto expression = ParseExpression(R"(
    moments := out_view<{s: fp32, n: int64}>( y: (i,k) -> (i) ) o
      md_hom<8,64>( f, (++, +) ) o
      inp_view<fp32>( x: (i,k) -> (i,k) )
    where f(x) -> y { y.s = x; y.n = 1 })");
  ASSERT_TRUE(expression.ok()) << expression.status();
  const Result<Kernel> kernel =
      Generate(*expression,
               "model=CUDA; parts=1,64|1,1|8,1|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; "
               "inputs=in_place:0,1:-1; combine=atomics");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_THAT(kernel->source, HasSubstr("mdh_wait_for_stages();\n"));
  EXPECT_THAT(kernel->source, HasSubstr("mdh_atomic_add_f32(&y_f32["));
  EXPECT_THAT(kernel->source, HasSubstr("mdh_atomic_add_i64(&y_i64["));
}

// Parts of a reduction of which the last is not whole; A is transposed through registers, B has
// three stages of asynchronous copies.
constexpr char kPipelines[] =
    "model=CUDA; tile=64,64,200|64,32,16|4,4,16|1,1,1|1,1,1; "
    "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,3)(4,3)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2)(5,3); "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; assign=(1,1)(1,2)(1,3)|(2,2)(2,1)(2,3)|"
    "(3,2)(3,1)(3,3)|(4,2)(4,1)(4,3)|(5,2)(5,1)(5,3); "
    "memory=0,0,0|1,1,0|0,0,0|1,1,1|1,1,1@0.1,0.1,0.1|1.0,1.0,0.1|0.1,0.1,0.1|1.0,1.0,1.0|"
    "1.0,1.0,1.0/0,0,0|1,1,0|0,0,0|1,1,1|1,1,1; copy=4:4:2|0:4:3:async; "
    "results=0,0,0|2,2,2|1,1,1|2,2,2|2,2,2; unroll=32";

// Tiles of 32 x 32 results, four blocks along k, 8 x 8 threads of 4 x 4 results and two along k.
constexpr char kClusters[] =
    "model=CUDA; tile=32,32,128|32,32,16|4,4,8|1,1,1|1,1,1; "
    "order=(1,1)(1,2)(1,3)(3,1)(3,2)(3,3)(2,3)(4,3)(2,1)(2,2)(4,1)(4,2)(5,1)(5,2)(5,3); "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
    "assign=(1,3)(1,2)(1,1)|(2,2)(2,1)(2,3)|(3,2)(3,1)(3,3)|(4,2)(4,1)(4,3)|(5,2)(5,1)(5,3); "
    "memory=0,0,0|1,1,0|0,0,0|1,1,1|1,1,1/0,0,0|1,1,0|0,0,0|1,1,1|1,1,1; copy=4:4:1|0:4:1; "
    "results=0,0,0|2,2,2|1,1,1|2,2,2|2,2,2; combine=cluster; unroll=128";

TEST(BlockSourceTest, AsynchronousCopies) {
  const Result<Kernel> kernel = Generate(MatMul(256, 256, 200), kPipelines);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("async_copies.cu", kernel->source);
  // A of 64 x 16 elements twice, with padding; B of 16 x 64 three times.
  EXPECT_THAT(kernel->source, HasSubstr("A_sm[2176]"));
  EXPECT_THAT(kernel->source, HasSubstr("B_sm[3072]"));
  EXPECT_THAT(kernel->header, HasSubstr("which needs compute capability 8.0 or later"));
}

// Threads are launched as before, and numbered in tiles.
TEST(BlockSourceTest, TilesOfLanes) {
  const Expression matmul = MatMul(256, 256, 200);
  const Result<Kernel> plain = Generate(matmul, kPipelines);
  const Result<Kernel> kernel = Generate(matmul, std::string(kPipelines) + "; lanes=4x8x1");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("lanes_matmul.cu", kernel->source);
  EXPECT_EQ(kernel->launches[0].geometry, plain->launches[0].geometry);
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{4, 4, 1}, {8, 16, 1}}));
}

// The grid is as before; blocks are numbered within rows of it.
TEST(BlockSourceTest, BlocksRunThroughSeveralRowsOfTheGrid) {
  const Expression matmul = MatMul(256, 256, 200);
  const auto swizzled = [&](const std::string& text) {
    return Generate(matmul, kPipelines + text);
  };
  const Result<Kernel> kernel = swizzled("; swizzle=2");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{4, 4, 1}, {8, 16, 1}}));
  EXPECT_THAT(kernel->source,
              HasSubstr("  const int block_x = blockIdx.x;\n"
                        "  const int block_y = blockIdx.y;\n"
                        "  const int block_of_rows = (block_y & 1) * 4 + block_x;\n"
                        "  const int i_blk = block_of_rows >> 1;\n"
                        "  const int j_blk = (block_y >> 1) * 2 + (block_of_rows & 1);\n"));
  // All of them, which no other ones follow; and none that divides the grid but one.
  EXPECT_THAT(swizzled("; swizzle=16")->source, HasSubstr("block_of_rows & 3"));
  EXPECT_THAT(swizzled("; swizzle=3")->source, Not(HasSubstr("block_of_rows")));
  const auto error = [](const Result<Kernel>& result) { return result.status().message(); };
  EXPECT_EQ(error(swizzled("; swizzle=0")), "tuning parameters: swizzle: 0 is not in 1..64");
  EXPECT_EQ(error(Generate(MatMul(64, 100, 512), std::string(kClusters) + "; swizzle=2",
                           *DescribeCudaArchitecture(90))),
            "tuning parameters: swizzle=2: blocks of a cluster are neighbours");
  EXPECT_EQ(error(Generate(MatMul(64, 256, 200), kPipelines + std::string("; swizzle=2"))),
            "tuning parameters: swizzle=2: blocks are in one row");
}

// Blocks of a cluster along x, which is the reduction's axis alone.
TEST(BlockSourceTest, ClustersOfBlocks) {
  const Result<Kernel> kernel =
      Generate(MatMul(64, 100, 512), kClusters, *DescribeCudaArchitecture(90));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("cluster_matmul.cu", kernel->source);
  ASSERT_EQ(kernel->launches.size(), 1u);
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{4, 4, 2}, {8, 8, 2}}));
  EXPECT_THAT(kernel->source, HasSubstr("__cluster_dims__(4, 1, 1) __launch_bounds__(128, 1)"));
  EXPECT_THAT(kernel->header, HasSubstr("clusters, which needs compute capability 9.0 or later"));
  EXPECT_EQ(kernel->scratch_bytes, 0);
}

TEST(BlockSourceTest, CallsBeginEarly) {
  const Result<Kernel> kernel =
      Generate(MatMul(64, 100, 512),
               absl::StrCat(absl::StrReplaceAll(kClusters, {{"; combine=cluster", ""},
                                                            {"tile=32,32,128", "tile=32,32,512"}}),
                            "; early=calls"));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("early_matmul.cu", kernel->source);
  ASSERT_EQ(kernel->launches.size(), 1u);
  EXPECT_TRUE(kernel->launches[0].starts_early);
}

TEST(BlockSourceTest, LastBlocksCombine) {
  const Result<Kernel> kernel =
      Generate(MatMul(64, 100, 512), absl::StrReplaceAll(kClusters, {{"cluster", "last_block"}}));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("last_block_matmul.cu", kernel->source);
  ASSERT_EQ(kernel->launches.size(), 2u);
  // Four blocks' results of 32 x 32, for 2 x 4 of these; eight counters.
  EXPECT_EQ(kernel->scratch_bytes, 4 * 4 * 32 * 32 * 2 * 4 + 64);
}

// One result, of 64 blocks: all threads of the last one take part.
TEST(BlockSourceTest, LastBlocksShareFewResults) {
  const Result<Kernel> kernel = Generate(
      Shipped("dot.mdh", {{"K", "65536"}}),
      "model=CUDA; tile=1024|1024|8|1|1; order=(1,1)(3,1)(2,1)(4,1)(5,1); "
      "inputs=in_place:0:-1|in_place:0:-1; accumulate=registers; chains=one; compiler=gcc; "
      "assign=(1,1)|(2,1)|(3,1)|(4,1)|(5,1); results=0|2|1|2|2; combine=last_block");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("last_block_dot.cu", kernel->source);
}

// A bound of the computation's registers; other stages have none.
TEST(BlockSourceTest, ResidentBlocks) {
  const Result<Kernel> kernel =
      Generate(MatMul(16, 1000, 2048), std::string(kAtomicMatMul) + "; resident=3");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("resident_matmul.cu", kernel->source);
  EXPECT_THAT(kernel->source, HasSubstr("__launch_bounds__(128, 3)\nmdh_matmul_1("));
  EXPECT_THAT(kernel->source, HasSubstr("__launch_bounds__(128)\nmdh_matmul_0("));
  EXPECT_EQ(kernel->launches[1].geometry, (LaunchGeometry{{1, 8, 16}, {1, 32, 4}}));
}

// Where multiprocessors have room or use for one block, unless something else is said.
TEST(BlockSourceTest, BlocksThatAreAloneMayHaveAllRegisters) {
  const auto of = [](int64_t i, const std::string& pipelines) {
    const Result<Kernel> kernel = Generate(MatMul(i, 1024, 200), pipelines);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return kernel.ok() ? kernel->source : "";
  };
  EXPECT_THAT(of(256, kPipelines), HasSubstr("__launch_bounds__(128, 1)\n")) << "64 blocks";
  EXPECT_THAT(of(1024, kPipelines), HasSubstr("__launch_bounds__(128)\n")) << "256 blocks";
  EXPECT_THAT(of(256, std::string(kPipelines) + "; resident=2"),
              HasSubstr("__launch_bounds__(128, 2)\n"));
  const std::string large =
      absl::StrReplaceAll(kPipelines, {{"64,32,16|4,4,16", "64,32,100|4,4,100"}});
  EXPECT_THAT(of(1024, large), HasSubstr("__launch_bounds__(128, 1)\n")) << "131 KB of copies";
}

// Tiles are summed up, then what is before them, then the elements of each, with f in place of its
// values.
TEST(BlockSourceTest, PrefixSumsInRegisters) {
  const Expression scan = Shipped("scan.mdh", {{"I", "100000"}});
  for (const auto& [model, golden] :
       {std::pair("CUDA", "scan_registers.cu"), std::pair("OpenCL", "scan_registers.cl")}) {
    const Result<Kernel> kernel =
        Generate(scan, absl::StrCat("model=", model, "; ", kScan, "; scan=256:4:4"));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ExpectGoldenFile(golden, kernel->source);
    EXPECT_EQ(kernel->launches.size(), 3);
    EXPECT_EQ(kernel->scratch_bytes, 128);
  }
}

// Lines along memory, then across; sums of f, which are in memory.
TEST(BlockSourceTest, PrefixSumsOfSums) {
  const auto table = ParseExpression(R"(
    table := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<100,50,3>( f, (ps(+), ps(+), +) ) o
      inp_view<fp32>( x: (i,j,k) -> (i,j + k) )
    where f(x) -> y { y = x })");
  ASSERT_TRUE(table.ok()) << table.status();
  const Result<Kernel> kernel =
      Generate(*table,
               "model=CUDA; tile=1,32,3|1,32,3|1,1,3|1,1,3|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|"
               "0,1,2; inputs=in_place:0,1:-1; accumulate=registers; chains=one; compiler=gcc; "
               "scan=64:2:2");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("summed_area_registers.cu", kernel->source);
  EXPECT_EQ(kernel->launches.size(), 7);
}

// What was tuned before `scan` was always given: the kernel is that of the numbers which suit the
// device.
TEST(BlockSourceTest, PrefixSumsWithoutNumbersSuitTheDevice) {
  const Expression scan = Shipped("scan.mdh", {{"I", "100000"}});
  const DeviceDescription gpu = DeviceFor(CudaModel());
  const DeviceDescription cpu = DeviceFor(OpenClModel());
  DeviceDescription small = cpu;
  small.blocks.shared_bytes_per_block = 128;
  const auto source = [&](const char* model, const DeviceDescription& device, const char* numbers) {
    const Result<Kernel> kernel =
        Generate(scan, absl::StrCat("model=", model, "; ", kScan, numbers), device);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    // From what is behind the configuration and the schedule, which name the numbers.
    return kernel.ok() ? kernel->source.substr(kernel->source.find("// Parts, outermost")) : "";
  };
  EXPECT_EQ(source("CUDA", gpu, ""), source("CUDA", gpu, "; scan=256:1:4"));
  EXPECT_EQ(source("OpenCL", cpu, ""), source("OpenCL", cpu, "; scan=32:1:4"));
  // Without memory for what threads exchange every part is summed up by one of them.
  EXPECT_THAT(source("OpenCL", small, ""), HasSubstr("part_begin"));
}

TEST(BlockSourceTest, RulesScanAsSuitsTheDevice) {
  const auto scan_of = [](const Expression& expression) {
    const SystemModel model = CudaModel();
    const DeviceDescription device = DeviceFor(model);
    const TuningParameters p = DefaultParameters(expression, model, device);
    EXPECT_TRUE(Validate(expression, model, device, p).ok());
    return p.scan;
  };
  EXPECT_EQ(scan_of(Shipped("scan.mdh", {{"I", "16777216"}})), (ScanParameters{256, 4, 4}));
  EXPECT_EQ(scan_of(Shipped("scan.mdh", {{"I", "16777216"}, {"T", "fp64"}})),
            (ScanParameters{256, 4, 2}));
  // Few elements are for more blocks.
  EXPECT_EQ(scan_of(Shipped("scan.mdh", {{"I", "100000"}})), (ScanParameters{256, 1, 4}));
}

// A decomposition of `histo`, of 1000 elements and so many bins.
std::string Keyed(const std::string& model, int bins, const std::string& keyed) {
  return absl::StrCat("model=", model, "; tile=1000,", bins,
                      "|1,1|1,1|1,1|1,1; order=0,1|0,1|0,1|0,1|0,1; "
                      "inputs=in_place:0:-1|in_place:0:-1; keyed=",
                      keyed);
}

// Elements are looked up in tables of the bins; the last block has what fills no tile.
TEST(BlockSourceTest, ResultsByKey) {
  const Expression histo = Shipped("histo.mdh", {{"E", "1000"}, {"B", "50"}});
  for (const auto& [model, golden] :
       {std::pair("CUDA", "keyed_histo.cu"), std::pair("OpenCL", "keyed_histo.cl")}) {
    const Result<Kernel> kernel = Generate(histo, Keyed(model, 50, "64:1:4:1:2"));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ExpectGoldenFile(golden, kernel->source);
    EXPECT_EQ(kernel->scratch_bytes, 0);
    ASSERT_EQ(kernel->launches.size(), 2u);
    EXPECT_EQ(kernel->launches[1].geometry, (LaunchGeometry{{4, 1, 1}, {64, 1, 1}}));
    EXPECT_EQ(kernel->launches[1].starts_early, std::string(model) == "CUDA");
  }
}

// Records, more keys than threads, several tiles of a block; floating point by compare and swap.
TEST(BlockSourceTest, LargestByKey) {
  const Expression largest = Shipped("gen_histo.mdh", {{"E", "1000"}, {"B", "100"}});
  for (const auto& [model, golden] :
       {std::pair("CUDA", "keyed_gen_histo.cu"), std::pair("OpenCL", "keyed_gen_histo.cl")}) {
    const Result<Kernel> kernel = Generate(largest, Keyed(model, 100, "32:2:1:4:1"));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ExpectGoldenFile(golden, kernel->source);
    EXPECT_EQ(kernel->launches.size(), 2u);
  }
}

// One block has all elements of a batch: its results are the outputs.
TEST(BlockSourceTest, BatchesByKeyInOneStage) {
  const auto batches = ParseExpression(R"(
    h := out_view<int64>( y: (i,e,k) -> (k,i) ) o md_hom<6,100,20>( f, (++, +, ++) ) o
      inp_view<int8,int8,int16>( x: (i,e,k) -> (i,e), b: (i,e,k) -> (i,k), w: (i,e,k) -> (e) )
    where f(x, b, w) -> y { y = x == b && w > 0 ? int64(w) : 0 })");
  ASSERT_TRUE(batches.ok()) << batches.status();
  const Result<Kernel> kernel =
      Generate(*batches,
               "model=CUDA; tile=6,100,20|1,1,1|1,1,1|1,1,1|1,1,1; order=0,1,2|0,1,2|0,1,2|0,1,2|"
               "0,1,2; inputs=in_place:0,1:-1|in_place:0,1:-1|in_place:0:-1; keyed=32:1:4:1:1");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ExpectGoldenFile("keyed_batches.cu", kernel->source);
  ASSERT_EQ(kernel->launches.size(), 1u);
  EXPECT_EQ(kernel->launches[0].geometry, (LaunchGeometry{{6, 1, 1}, {32, 1, 1}}));
}

TEST(BlockSourceTest, SearchesStartFromTablesOfKeysUnlessThereAreFew) {
  const auto keyed_of = [](const Expression& expression,
                           NumericsPolicy numerics = NumericsPolicy::kReassociate) {
    const SystemModel model = CudaModel();
    const DeviceDescription device = DeviceFor(model);
    // The first with a table.
    for (const TuningParameters& p : StartingParameters(expression, model, device, numerics)) {
      EXPECT_TRUE(Validate(expression, model, device, p).ok());
      if (p.keyed.threads > 0) return p.keyed;
    }
    return KeyedParameters();
  };
  EXPECT_GT(keyed_of(Shipped("histo.mdh")).threads, 0);
  EXPECT_GT(keyed_of(Shipped("histo.mdh"), NumericsPolicy::kExactOrder).threads, 0);
  EXPECT_GT(keyed_of(Shipped("histo.mdh", {{"B", "16"}})).copies, 1);
  EXPECT_GT(keyed_of(Shipped("gen_histo.mdh")).threads, 0);
  EXPECT_EQ(keyed_of(Shipped("gen_histo.mdh"), NumericsPolicy::kExactOrder), KeyedParameters());
  EXPECT_EQ(keyed_of(Shipped("histo.mdh", {{"B", "4"}})), KeyedParameters());
  EXPECT_EQ(keyed_of(Shipped("histo.mdh", {{"E", "100"}})), KeyedParameters());
  EXPECT_EQ(keyed_of(Shipped("histo.mdh", {{"B", "1000000"}})), KeyedParameters());
  EXPECT_EQ(keyed_of(Shipped("histo.mdh", {{"E", "300"}, {"B", "5000"}})), KeyedParameters());
}

TEST(BlockSourceTest, ExactNumericsKeepMultiplicationsAndAdditionsApart) {
  const auto generate = [](const std::string& figure, const std::string& numerics) {
    return Generate(MatMul(16, 1000, 2048), Figure(figure) + ";numerics=" + numerics);
  };
  const Result<Kernel> cuda = generate("tvm_cuda", "exact");
  ASSERT_TRUE(cuda.ok()) << cuda.status();
  EXPECT_THAT(cuda->compile_options, ElementsAre("--std=c++17", "--fmad=false"));
  const Result<Kernel> opencl = generate("tvm_opencl", "exact");
  ASSERT_TRUE(opencl.ok()) << opencl.status();
  EXPECT_THAT(opencl->source, HasSubstr("FP_CONTRACT OFF"));
  EXPECT_THAT(generate("tvm_opencl", "reassociate")->source, Not(HasSubstr("FP_CONTRACT OFF")));
}

// ptxas takes |x| > -1 for true, which it is not of nan.
TEST(BlockSourceTest, TheAssemblerDoesNotSeeWhatIsComparedWithNumbers) {
  const Expression expression = *ParseExpression(R"(
compared :=
  out_view<fp32>( y: (i) -> (i) ) o
  md_hom<100>( f, (++) ) o
  inp_view<fp32,fp64>( x: (i) -> (i), z: (i) -> (i) )
where f(x, z) -> y {
  let a = abs(x);
  y = (a > -1 ? 1 : 0) + (-2 <= x * x ? 2 : 0) + (a == a ? 4 : 0) + (x > a ? 8 : 0)
    + (z > -1 ? 16 : 0) + fp32(int64(a))
})");
  const auto source_for = [&](const SystemModel& model, const DeviceDescription& device) {
    const TuningParameters p = DefaultParameters(expression, model, device);
    const Result<Kernel> kernel = GenerateKernel(*Lower(expression, model, device, p), device);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    return kernel.ok() ? kernel->source : "";
  };
  const std::string cuda = source_for(CudaModel(), DeviceFor(CudaModel()));
  EXPECT_THAT(cuda,
              AllOf(HasSubstr("mdh_gt_f32(t_1, -1.0f)"), HasSubstr("mdh_ge_f32(t * t, -2.0f)"),
                    HasSubstr("mdh_eq_f32(t_1, t_1)"), HasSubstr("t > t_1"), HasSubstr("> -1.0")));
  EXPECT_THAT(cuda, HasSubstr("long long mdh_to_i64_f32(float a) {\n"
                              "  unsigned int x = __float_as_uint(a);\n"
                              "  asm(\"prmt.b32 %0, %0, 0, 0x3210;\" : \"+r\"(x));\n"
                              "  a = __uint_as_float(x);\n"));
  const std::string opencl = source_for(OpenClModel(), DeviceFor(OpenClModel()));
  EXPECT_THAT(opencl, AllOf(HasSubstr("> -1.0f"), Not(HasSubstr("mdh_gt_f32"))));
}

TEST(EntryNameTest, IsNoFunctionOfThePrelude) {
  EXPECT_EQ(EntryName("copy"), "mdh_copy");
  EXPECT_EQ(EntryName("min"), "mdh_min_");
  EXPECT_EQ(EntryName("clamp"), "mdh_clamp_");
}

}  // namespace
}  // namespace mdh::block_source_test
