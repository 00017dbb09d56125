// Units of kernel functions for devices with blocks of threads: golden files, launches, and values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/print/c_block_unit.h"
#include "codegen/print/c_dialect.h"
#include "tests/codegen/block_program.h"
#include "tests/codegen/golden_file.h"
#include "tests/codegen/print/scalar_cases.h"
#include "tests/device/hand_written_kernels.h"
#include "tests/device/kernel_run.h"

namespace mdh::block_unit_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BlockUnitTest, OpenCl) {
  const Kernel kernel = BlockKernel(OpenClC(), {}, false);
  ExpectGoldenFile("tiles.cl", kernel.source);
  EXPECT_EQ(kernel.language, Language::kOpenClC);
  EXPECT_EQ(kernel.scratch_bytes, 128);
  EXPECT_FALSE(kernel.launches[1].starts_early);
}

TEST(BlockUnitTest, CudaWithShuffles) {
  const Kernel kernel = BlockKernel(CudaCxx(), {.shuffles = true}, false);
  ExpectGoldenFile("tiles.cu", kernel.source);
  ExpectGoldenFile("tiles_header.txt", kernel.header);
  ASSERT_EQ(kernel.launches.size(), 2u);
  EXPECT_EQ(kernel.launches[0].function, "mdh_tiles_0");
  EXPECT_EQ(kernel.launches[0].geometry, (LaunchGeometry{{2, 2, 1}, {16, 2, 1}}));
  EXPECT_EQ(kernel.launches[0].dynamic_shared_bytes, 0);
}

TEST(BlockUnitTest, WideIndicesAndDynamicSharedMemory) {
  const Kernel kernel = BlockKernel(CudaCxx(), {.shared_elements = 12 * 1024}, true);
  ExpectGoldenFile("tiles_wide.cu", kernel.source);
  EXPECT_EQ(kernel.launches[0].dynamic_shared_bytes, 4 * (12 * 1024 + 64 * 5 + 4 * 32));
  EXPECT_EQ(kernel.launches[1].dynamic_shared_bytes, 0);
  // OpenCL has no limit of its own for arrays that a kernel declares.
  const Kernel opencl = BlockKernel(OpenClC(), {.shared_elements = 12 * 1024}, true);
  EXPECT_EQ(opencl.launches[0].dynamic_shared_bytes, 0);
  EXPECT_THAT(opencl.source, HasSubstr("__local float x_shr[12288]"));
  EXPECT_THAT(opencl.source, HasSubstr("const long i_blk = get_group_id(0);"));
}

// NVIDIA's compiler leaves out what is stored at places that it computes from a constant outside of
// the array.
TEST(BlockUnitTest, ConstantsOutsideOfPrivateArraysAreBehindAMask) {
  const Index block = Index::Variable("block_x");
  const auto own = [](const Index& place) {
    return MakeLoad("own", place, {ScalarType::kFloat32, 1}, 1);
  };
  Stage stage{"One.", {}};
  stage.launch = {{4, 1, 1}, {32, 1, 1}};
  stage.body = {{HardwareIndex{"block_x", HardwareIndex::Kind::kBlock, 0}},
                {DeclareArray{"own", ScalarType::kFloat32, 20, MemorySpace::kPrivate}},
                {StoreElements{"own", block * -10 + Index(30), own(block + Index(16)), 1}},
                {StoreElements{"y", block * -10 + Index(30), own(block * 5 - Index(1)), 1}}};
  LoopProgram program;
  program.stages.push_back(std::move(stage));
  for (const CDialect& dialect : {CudaCxx(), OpenClC()}) {
    const Kernel kernel = PrintBlockKernel(
        program, {&dialect, "mdh_one", "", {{"y", ScalarType::kFloat32, 31, true}}});
    EXPECT_THAT(kernel.source, HasSubstr("own[(block_x * (-10) + 30) & 31] = own[block_x + 16];"));
    EXPECT_THAT(kernel.source, HasSubstr("y[block_x * (-10) + 30] = own[(block_x * 5 - 1) & 31];"));
  }
}

// How the function of every stage begins, up to the first declaration of a value.
std::vector<std::string> FirstLines(const Kernel& kernel) {
  std::vector<std::string> lines;
  for (const KernelLaunch& launch : kernel.launches) {
    const size_t head = kernel.source.find(launch.function + "(");
    const size_t begin = kernel.source.find("{\n", head) + 2;
    lines.push_back(kernel.source.substr(begin, kernel.source.find("  float", begin) - begin));
  }
  return lines;
}

// From then on loads of what was written before are not those of constant memory.
constexpr char kWait[] =
    "  mdh_wait_for_stages();\n  scratch = (char*)mdh_written_by_others(scratch);\n";

Kernel KernelOfStages(const CDialect& dialect, int stages,
                      EarlyLaunches early = EarlyLaunches::kStages) {
  LoopProgram program;
  program.scratch.push_back({"sums", ScalarType::kFloat32, 4, false});
  const LoopValue sum = MakeLoad("sums", Var("i"), {ScalarType::kFloat32}, 1);
  for (int n = 0; n < stages; ++n) {
    Stage& stage = program.stages.emplace_back(Stage{"Sums", {}, {{1, 1, 1}, {4, 1, 1}}});
    stage.body.push_back({HardwareIndex{"i", HardwareIndex::Kind::kThread, 0}});
    stage.body.push_back({StoreElements{n + 1 < stages ? "sums" : "y", Var("i"), sum, 1}});
  }
  BlockUnitOptions options{&dialect, "mdh_s", "", {}};
  options.arguments = {{"x", ScalarType::kFloat32, 4, false}, {"y", ScalarType::kFloat32, 4, true}};
  options.early_launches = early;
  return PrintBlockKernel(program, options);
}

TEST(BlockUnitTest, StagesOfCudaOverlap) {
  const std::string admit = "  mdh_admit_next_stage();\n", wait = kWait;
  const Kernel kernel = KernelOfStages(CudaCxx(), 3);
  EXPECT_THAT(FirstLines(kernel), ElementsAre(admit, admit + wait, wait));
  EXPECT_FALSE(kernel.launches[0].starts_early);
  EXPECT_TRUE(kernel.launches[1].starts_early);
  EXPECT_TRUE(kernel.launches[2].starts_early);
  // What the stage before may still write is not taken for constant.
  EXPECT_THAT(kernel.source, HasSubstr("mdh_s_0(const float* __restrict__ x, float* __restrict__ y,"
                                       " char* __restrict__ scratch)"));
  EXPECT_THAT(kernel.source, HasSubstr("mdh_s_1(const float* __restrict__ x, float* __restrict__ y,"
                                       " char* scratch)"));
  EXPECT_THAT(kernel.header, HasSubstr("may start early"));
}

// The first stage waits before it admits the next one, which may read inputs at once, and takes
// nothing for constant; the last one admits the first one of the next call.
TEST(BlockUnitTest, CallsOfCudaOverlap) {
  const std::string admit = "  mdh_admit_next_stage();\n", wait = kWait;
  const Kernel kernel = KernelOfStages(CudaCxx(), 2, EarlyLaunches::kCalls);
  EXPECT_THAT(FirstLines(kernel), ElementsAre(wait + admit, admit + wait));
  for (const KernelLaunch& launch : kernel.launches) EXPECT_TRUE(launch.starts_early);
  EXPECT_THAT(kernel.source,
              HasSubstr("mdh_s_0(const float* x, float* __restrict__ y, char* scratch)"));
  EXPECT_THAT(kernel.source, HasSubstr("mdh_s_1(const float* __restrict__ x, float* __restrict__ y,"
                                       " char* scratch)"));
  const Kernel alone = KernelOfStages(CudaCxx(), 1, EarlyLaunches::kCalls);
  EXPECT_THAT(FirstLines(alone), ElementsAre(wait + admit));
  EXPECT_THAT(alone.header, HasSubstr("may start early"));
}

// All blocks together bring every line of the inputs, and none of outputs, before they wait; those
// of further stages have been waited for.
TEST(BlockUnitTest, CallsOfCudaPrefetchInputs) {
  LoopProgram program;
  const LoopValue x = MakeLoad("x", Var("i"), {ScalarType::kFloat32}, 1);
  Stage& stage = program.stages.emplace_back(Stage{"Copies", {}, {{2, 1, 1}, {4, 1, 1}}});
  stage.body.push_back({HardwareIndex{"i", HardwareIndex::Kind::kThread, 0}});
  stage.body.push_back({StoreElements{"y", Var("i"), x, 1}});
  BlockUnitOptions options{&CudaCxx(), "mdh_c", "", {}};
  options.arguments = {{"x", ScalarType::kFloat32, 33, false},
                       {"z", ScalarType::kFloat64, 161, false},
                       {"y", ScalarType::kFloat32, 33, true}};
  options.early_launches = EarlyLaunches::kPrefetches;
  const Kernel kernel = PrintBlockKernel(program, options);
  EXPECT_THAT(kernel.source,
              HasSubstr("  {\n"
                        "    const long long block = blockIdx.x;\n"
                        "    const long long thread = threadIdx.x;\n"
                        "    for (long long line = thread; line < 1; line += 4) {\n"
                        "      mdh_prefetch((const char*)x + (block * 1 + line) * 128);\n"
                        "    }\n"
                        "    for (long long line = thread; line < 6; line += 4) {\n"
                        "      if (block * 6 + line < 11) mdh_prefetch((const char*)z + (block * 6 "
                        "+ line) * 128);\n"
                        "    }\n"
                        "  }\n"
                        "  mdh_wait_for_stages();\n"));
  EXPECT_THAT(kernel.source, HasSubstr("prefetch.global.L2"));
  EXPECT_TRUE(kernel.launches[0].starts_early);
  options.dialect = &HipCxx();
  EXPECT_THAT(PrintBlockKernel(program, options).source, Not(HasSubstr("prefetch")));
  EXPECT_THAT(KernelOfStages(CudaCxx(), 2, EarlyLaunches::kPrefetches).source,
              HasSubstr("mdh_prefetch((const char*)x"));
}

TEST(BlockUnitTest, LaunchesAreKeptFromBeginningEarly) {
  const Kernel kernel = KernelOfStages(CudaCxx(), 3, EarlyLaunches::kNone);
  EXPECT_THAT(kernel.source, Not(HasSubstr("mdh_wait")));
  EXPECT_THAT(kernel.source, Not(HasSubstr("mdh_admit")));
  EXPECT_THAT(kernel.source, HasSubstr("mdh_s_1(const float* __restrict__ x, float* __restrict__ y,"
                                       " char* __restrict__ scratch)"));
  EXPECT_THAT(kernel.header, Not(HasSubstr("early")));
  for (const KernelLaunch& launch : kernel.launches) EXPECT_FALSE(launch.starts_early);
}

// A stage that says where it needs the others waits there, once it has read its input.
TEST(BlockUnitTest, AStageWaitsWhereItSays) {
  const auto kernel = [](const CDialect& dialect) {
    const LoopValue x = MakeLoad("x", Var("i"), {ScalarType::kFloat32}, 1);
    const HardwareIndex i{"i", HardwareIndex::Kind::kThread, 0};
    LoopProgram program;
    for (const char* name : {"Zero", "Use"}) {
      program.stages.push_back({name, {{i}}, {{1, 1, 1}, {4, 1, 1}}});
    }
    const LoopValue zero = MakeLiteral(ScalarValue::Zero(ScalarType::kFloat32));
    program.stages[0].body.push_back({StoreElements{"y", Var("i"), zero, 1}});
    Block& use = program.stages[1].body;
    use.push_back({DeclareValue{"v", x}});
    use.push_back({AwaitStages{}});
    use.push_back({StoreElements{"y", Var("i"), MakeNamed("v", {ScalarType::kFloat32}), 1}});
    return PrintBlockKernel(
        program, {&dialect,
                  "mdh_s",
                  "",
                  {{"x", ScalarType::kFloat32, 4, false}, {"y", ScalarType::kFloat32, 4, true}}});
  };
  const Kernel cuda = kernel(CudaCxx());
  EXPECT_TRUE(cuda.launches[1].starts_early);
  EXPECT_THAT(cuda.source, HasSubstr("{\n"
                                     "  const long long i = threadIdx.x;\n"
                                     "  const float v = x[i];\n"
                                     "  mdh_wait_for_stages();\n"
                                     "  y[i] = v;\n"));
  EXPECT_THAT(FirstLines(cuda)[0], HasSubstr("mdh_admit_next_stage();"));
  EXPECT_THAT(kernel(OpenClC()).source, Not(HasSubstr("stages")));
}

TEST(BlockUnitTest, AStageAloneAndStagesOfOpenClDoNotOverlap) {
  for (const Kernel& kernel : {KernelOfStages(CudaCxx(), 1), KernelOfStages(OpenClC(), 3)}) {
    EXPECT_THAT(FirstLines(kernel)[0], Not(HasSubstr("stage")));
    EXPECT_THAT(kernel.source, Not(HasSubstr("mdh_wait")));
    EXPECT_THAT(kernel.source, Not(HasSubstr("mdh_admit")));
    EXPECT_THAT(kernel.header, Not(HasSubstr("early")));
    for (const KernelLaunch& launch : kernel.launches) EXPECT_FALSE(launch.starts_early);
  }
}

TEST(BlockUnitTest, NumbersOfThreadsInThreeDimensions) {
  LoopProgram program;
  Block body;
  body.push_back({StoreElements{"y", Var("i"), MakeIndexValue(Var("i"), 1, 0), 1}});
  Stage stage{"Numbers", {}, {{2, 1, 3}, {4, 2, 2}}};
  stage.body.push_back({ShareLoop{"i", 1000, Shared(std::move(body))}});
  program.stages.push_back(stage);
  BlockUnitOptions options{&CudaCxx(), "mdh_n", "", {{"y", ScalarType::kInt64, 1000, true}}};
  EXPECT_THAT(PrintBlockKernel(program, options).source,
              HasSubstr("const long long thread = ((long long)blockIdx.z * 2 + blockIdx.x) * 16 + "
                        "((threadIdx.z * 2 + threadIdx.y) * 4 + threadIdx.x);\n"
                        "  const long long threads = 96;\n"));
}

TEST(BlockUnitTest, PragmasOnlyWhereTheyAreNeeded) {
  const auto source = [](ScalarType type) { return ScalarKernel(OpenClC(), type, 1).source; };
  EXPECT_THAT(source(ScalarType::kFloat64), HasSubstr("cl_khr_fp64"));
  EXPECT_THAT(source(ScalarType::kFloat64), HasSubstr("FP_CONTRACT OFF"));
  // "double" in a comment is no use of it.
  const std::string tiles = BlockKernel(OpenClC(), {}, false).source;
  EXPECT_THAT(tiles, HasSubstr("// Sums of rows, by tiles; the double of"));
  EXPECT_THAT(tiles, Not(HasSubstr("cl_khr_fp64")));
  EXPECT_THAT(tiles, Not(HasSubstr("FP_CONTRACT")));
}

struct Point {
  uint16_t w;
  int32_t id;
};

template <typename T>
BufferBytes Bytes(const std::vector<T>& values) {
  BufferBytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void ExpectRightTiles(ComputeDevice& device, const Kernel& kernel) {
  std::vector<float> x(8 * 128), transposed(8 * 128), y(8);
  std::vector<Point> points(8);
  std::vector<int32_t> ids(8);
  const uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};
  for (int i = 0; i < 8; ++i) {
    points[i] = {halves[i], 100 * i};
    for (int j = 0; j < 128; ++j) {
      x[i * 128 + j] = transposed[j * 8 + i] = static_cast<float>(i * j % 17);
      y[i] += x[i * 128 + j];
    }
  }
  for (int i = 0; i < 8; ++i) {
    y[i] += static_cast<float>(std::max(i - 3, 0) + 1);
    ids[i] = i + (i == 0 ? -7 : points[i - 1].id);
  }
  const auto outputs = RunKernelOnce(device, kernel, {Bytes(x), Bytes(points)});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], Bytes(transposed));
  EXPECT_EQ((*outputs)[1], Bytes(y));
  EXPECT_EQ((*outputs)[2], Bytes(ids));
}

TEST(BlockUnitTest, OpenClComputesTheRightValues) {
  const auto device = FirstDevice(false);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  for (const bool wide : {false, true}) {
    ExpectRightTiles(**device, BlockKernel(OpenClC(), {}, wide));
  }
}

TEST(BlockUnitTest, CudaComputesTheRightValues) {
  const auto device = FirstDevice(true);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  for (const bool wide : {false, true}) {
    ExpectRightTiles(**device, BlockKernel(CudaCxx(), {.shuffles = true}, wide));
    ExpectRightTiles(**device, BlockKernel(CudaCxx(), {.shared_elements = 12 * 1024}, wide));
  }
}

}  // namespace
}  // namespace mdh::block_unit_test
