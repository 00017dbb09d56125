// CUDA C++ through NVRTC, which needs no GPU: every scalar operation, and all golden units. NVRTC
// is looked for where toolkits are installed and in the folder MDH_NVRTC_DIR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "codegen/lower/units/unit_benchmark.h"
#include "codegen/print/c_block_unit.h"
#include "core/decomposition/constraints.h"
#include "core/device/unit_peaks.h"
#include "tests/codegen/block_program.h"
#include "tests/codegen/print/scalar_cases.h"
#include "tests/error_message.h"
#include "tests/source_path.h"
#include "tuner/device/cuda/nvrtc.h"

namespace mdh::nvrtc_compile_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class NvrtcCompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> folders = Nvrtc::ToolkitFolders("");
    if (const char* folder = std::getenv("MDH_NVRTC_DIR")) folders.insert(folders.begin(), folder);
    Result<Nvrtc> nvrtc = Nvrtc::Load(folders);
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_ = *std::move(nvrtc);
  }

  void ExpectCompiles(const std::string& source, const std::string& name) {
    const bool has_units = absl::StrContains(source, "wgmma");
    std::vector<std::string> options = options_;
    if (has_units) options.push_back("--gpu-architecture=sm_90a");
    if (absl::StrContains(source, "mdh_tensor_map")) options.push_back(kTensorMapsOption);
    for (const int architecture : {80, 90}) {
      const bool needs_90 = has_units || absl::StrContains(source, "__cluster_dims__") ||
                            absl::StrContains(source, "m16n8k4.row.col.f64");
      if (architecture < 90 && needs_90) continue;
      const auto compiled = nvrtc_->Compile(source, name, architecture, options);
      EXPECT_EQ(ErrorMessage(compiled), "no error") << name << " for sm_" << architecture;
    }
  }

  std::string Ptx(const std::string& source, int architecture) {
    const auto compiled =
        nvrtc_->Compile(source, "k.cu", architecture, options_, Nvrtc::Output::kPtx);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    return compiled.value_or("");
  }

  std::optional<Nvrtc> nvrtc_;
  const std::vector<std::string> options_ = {"--std=c++17", "--fmad=false"};
};

TEST_F(NvrtcCompileTest, AllScalarOperations) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    const Kernel kernel = ScalarKernel(CudaCxx(), info.type, 100);
    ExpectCompiles(kernel.source, std::string(info.name) + ".cu");
    if (!IsStorageOnly(info.type)) {
      ExpectCompiles(LiteralKernel(CudaCxx(), info.type).source, "literals.cu");
    }
    if (IsInteger(info.type)) {
      ExpectCompiles(TableKernel(CudaCxx(), info.type, 10).source, "table.cu");
    }
  }
}

TEST_F(NvrtcCompileTest, GoldenUnits) {
  int units = 0;
  const std::string folder = SourcePath("tests/codegen/golden");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cu" || entry.path().stem() == "scalar") continue;
    std::ifstream in(entry.path());
    std::stringstream source;
    source << in.rdbuf();
    ExpectCompiles(source.str(), entry.path().filename());
    ++units;
  }
  EXPECT_GE(units, 2);
}

LoopValue LoadAround(ScalarType type, int lanes, const Index& row, const Index& column) {
  LoadInside load{"x", {{row, 0, 4, 8}, {column, lanes == 1 ? 0 : 1, 8, 1}}, 0, std::nullopt};
  load.outside = ScalarValue::Zero(type);
  load.loads_always = true;
  return std::make_shared<const ValueNode>(ValueNode{{type, lanes}, std::move(load)});
}

Kernel KernelOf(ScalarType type, Block body) {
  Stage stage{"", std::move(body), {{1, 1, 1}, {32, 1, 1}}};
  stage.body.insert(stage.body.begin(), {HardwareIndex{"t", HardwareIndex::Kind::kThread, 0}});
  LoopProgram program;
  program.stages.push_back(std::move(stage));
  BlockUnitOptions unit{
      &CudaCxx(), "mdh_borders", "", {{"x", type, 32, false}, {"y", type, 1024, true}}};
  return PrintBlockKernel(program, unit);
}

TEST_F(NvrtcCompileTest, LoadsWithBordersOfAllTypes) {
  const Index t = Index::Variable("t");
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    Block body;
    for (int lanes = 1; lanes <= 16 / SizeBytes(info.type); lanes *= 2) {
      body.push_back({StoreElements{"y", t * lanes, LoadAround(info.type, lanes, t - 1, 0), 1}});
    }
    ExpectCompiles(KernelOf(info.type, std::move(body)).source, std::string(info.name) + ".cu");
  }
}

// Three neighbours of each of two points are four elements, in four sums of products.
TEST_F(NvrtcCompileTest, LoadsWithBordersAreThereOnceWithoutBranches) {
  const Index t = Index::Variable("t");
  Block body;
  for (int64_t point = 0; point < 2; ++point) {
    LoopValue sum = MakeLoad("x", 0, {ScalarType::kFloat32}, 1);
    for (int64_t tap = 0; tap < 3; ++tap) {
      const LoopValue weight = MakeLoad("x", Index(tap), {ScalarType::kFloat32}, 1);
      const LoopValue element =
          LoadAround(ScalarType::kFloat32, 1, t - Index(1), t * 2 + Index(point + tap - 1));
      sum = MakeOperation(
          ScalarOp::kAdd, ScalarType::kFloat32,
          {sum, MakeOperation(ScalarOp::kMul, ScalarType::kFloat32, {element, weight})});
    }
    body.push_back({StoreElements{"y", t * 2 + Index(point), sum, 1}});
  }
  const auto ptx = nvrtc_->Compile(KernelOf(ScalarType::kFloat32, std::move(body)).source, "k.cu",
                                   90, {"--std=c++17"}, Nvrtc::Output::kPtx);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  const auto count = [&](absl::string_view text) {
    return static_cast<std::vector<std::string>>(absl::StrSplit(*ptx, text)).size() - 1;
  };
  EXPECT_EQ(count("ld.global"), 4 + 3) << *ptx;
  EXPECT_GE(count("selp.b32"), 4);
  EXPECT_EQ(count("fma.rn"), 6);
  EXPECT_EQ(count("bra"), 0);
}

// Sixteen bytes are one instruction; nothing is read before the wait and the barrier.
TEST_F(NvrtcCompileTest, AsynchronousCopiesAreWaitedFor) {
  std::ifstream in(SourcePath("tests/codegen/golden/async_copies.cu"));
  std::stringstream source;
  source << in.rdbuf();
  const std::string ptx = Ptx(source.str(), 80);
  const size_t copy = ptx.find("cp.async.cg.shared.global"), commit = ptx.find("cp.async.commit");
  const size_t wait = ptx.find("cp.async.wait_group 1"), barrier = ptx.find("bar.sync");
  EXPECT_LT(copy, commit);
  EXPECT_LT(commit, wait);
  EXPECT_LT(wait, barrier);
  EXPECT_LT(barrier, ptx.find("ld.shared"));
}

// Sums stay in registers: the assembler has nothing to say of functions that make it wait for
// multiplications, and nothing is spilled.
TEST_F(NvrtcCompileTest, MatrixUnitsKeepSumsInRegisters) {
  for (const char* name : {"unit_matmul.cu", "unit_matmul_bf16x6.cu", "unit_matmul_fp8_halves.cu",
                           "unit_matmul_tensors.cu", "unit_matmul_producer.cu"}) {
    std::ifstream in(SourcePath("tests/codegen/golden/") + name);
    std::stringstream source;
    source << in.rdbuf();
    const auto report = nvrtc_->CompileWithReport(
        source.str(), name, 90, {"--std=c++17", "--gpu-architecture=sm_90a", kTensorMapsOption});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->log, HasSubstr("0 bytes spill stores")) << name;
    EXPECT_THAT(report->log, Not(HasSubstr("Potential Performance Loss"))) << name;
  }
}

// Who does not know of tensor maps would pass too few arguments.
TEST_F(NvrtcCompileTest, TensorMapsMustBePassed) {
  std::ifstream in(SourcePath("tests/codegen/golden/unit_matmul_tensors.cu"));
  std::stringstream source;
  source << in.rdbuf();
  EXPECT_THAT(ErrorMessage(nvrtc_->Compile(source.str(), "k.cu", 90,
                                           {"--std=c++17", "--gpu-architecture=sm_90a"})),
              HasSubstr("launches pass tensor maps: compile with -DMDH_TENSOR_MAPS"));
}

// Nothing but multiplications: all of them are there, nothing waits, and nothing is spilled.
TEST_F(NvrtcCompileTest, UnitBenchmarks) {
  for (const int architecture : {80, 90}) {
    const DeviceDescription device = *DescribeCudaArchitecture(architecture);
    for (const MatrixInstruction& instruction : FastestInstructions(device)) {
      const UnitBenchmark benchmark = BuildUnitBenchmark(instruction, device, 64);
      EXPECT_GT(benchmark.operations, 1e9) << instruction.name;
      BlockUnitOptions print{&DialectOf(device), "mdh_peak", "", {}};
      print.arguments = {{"out", ScalarType::kFloat32, 64, true}};
      const Kernel kernel = PrintBlockKernel(benchmark.program, print);
      EXPECT_THAT(kernel.source, HasSubstr(AssemblyName(instruction)));
      std::vector<std::string> options = {"--std=c++17"};
      const bool is_of_groups = instruction.unit == MatrixUnit::kWarpGroup;
      if (is_of_groups) options.push_back("--gpu-architecture=sm_90a");
      const auto report =
          nvrtc_->CompileWithReport(kernel.source, instruction.name, architecture, options);
      ASSERT_TRUE(report.ok()) << instruction.name << ": " << report.status();
      EXPECT_THAT(report->log, HasSubstr("0 bytes spill stores")) << instruction.name;
      EXPECT_THAT(report->log, Not(HasSubstr("Potential Performance Loss"))) << instruction.name;
    }
  }
}

// Every row of the table that code is generated for, with all pairs of types.
TEST_F(NvrtcCompileTest, AllInstructionsOfUnits) {
  std::set<std::string> compiled;
  for (const int architecture : {80, 89, 90}) {
    const DeviceDescription device = *DescribeCudaArchitecture(architecture);
    for (const MatrixInstruction& row : MatrixInstructions()) {
      if (row.is_planned || !HasInstruction(row, device)) continue;
      const MatrixInstruction instruction = HasN(row, 64) ? WithN(row, 64) : row;
      const UnitBenchmark benchmark = BuildUnitBenchmark(instruction, device, 64);
      BlockUnitOptions print{&DialectOf(device), "mdh_peak", "", {}};
      print.arguments = {{"out", ScalarType::kFloat32, 64, true}};
      const Kernel kernel = PrintBlockKernel(benchmark.program, print);
      EXPECT_THAT(kernel.source, HasSubstr(AssemblyName(instruction)));
      std::vector<std::string> options = {"--std=c++17"};
      if (instruction.unit == MatrixUnit::kWarpGroup) {
        options.push_back("--gpu-architecture=sm_90a");
      }
      const auto binary = nvrtc_->Compile(kernel.source, instruction.name, architecture, options);
      EXPECT_EQ(ErrorMessage(binary), "no error") << instruction.name << ", " << architecture;
      compiled.insert(instruction.name);
    }
  }
  for (const char* name : {"mma.m16n8k32.s8.u8", "mma.m16n8k32.u8.s8", "wgmma.m64n64k32.s8.u8",
                           "wgmma.m64n64k32.u8.s8", "wgmma.m64n64k32.e5m2.e4m3"}) {
    EXPECT_TRUE(compiled.contains(name)) << name;
  }
}

// The code of every function in PTX, by name.
std::map<std::string, std::string> FunctionsOf(const std::string& ptx) {
  std::map<std::string, std::string> functions;
  std::vector<std::string> parts = absl::StrSplit(ptx, ".visible .entry ");
  for (size_t n = 1; n < parts.size(); ++n) {
    functions[parts[n].substr(0, parts[n].find('('))] = parts[n];
  }
  return functions;
}

size_t FirstAccess(const std::string& function) {
  return std::min(function.find("ld.global"), function.find("st.global"));
}

// The compiler keeps memory behind the wait, and does not take what another stage writes for
// constant.
TEST_F(NvrtcCompileTest, StagesThatStartEarlyWaitBeforeTheyTouchMemory) {
  const Kernel kernel = BlockKernel(CudaCxx(), {.shuffles = true}, false);
  const auto functions = FunctionsOf(Ptx(kernel.source, 90));
  ASSERT_THAT(functions, SizeIs(2));
  const std::string &first = functions.at("mdh_tiles_0"), &second = functions.at("mdh_tiles_1");
  EXPECT_LT(first.find("griddepcontrol.launch_dependents"), FirstAccess(first));
  EXPECT_LT(second.find("griddepcontrol.wait"), FirstAccess(second));
  EXPECT_THAT(second, HasSubstr("ld.global.f32"));  // of the partial sums
  EXPECT_THAT(second, Not(HasSubstr("ld.global.nc.f32")));
  EXPECT_THAT(second, HasSubstr("ld.global.nc.u32"));  // of an input
  EXPECT_THAT(Ptx(kernel.source, 80), Not(HasSubstr("griddepcontrol")));
}

std::string GoldenSource(const std::string& name) {
  std::ifstream in(SourcePath("tests/codegen/golden/") + name);
  std::stringstream source;
  source << in.rdbuf();
  return source.str();
}

// Inputs are read while the outputs become zero; four neighbours are added at once where the device
// can, and nothing comes back.
TEST_F(NvrtcCompileTest, AdditionsWaitForZeroAndReadsDoNot) {
  const std::string source = GoldenSource("atomics_matmul.cu");
  const std::string second = FunctionsOf(Ptx(source, 90)).at("mdh_matmul_1");
  const size_t wait = second.find("griddepcontrol.wait");
  EXPECT_LT(FirstAccess(second), wait);
  const std::string before = second.substr(0, wait);
  EXPECT_THAT(before, Not(HasSubstr("red.global")));
  EXPECT_THAT(before, Not(HasSubstr("atom.global")));
  EXPECT_THAT(second, HasSubstr("red.global.add.v4.f32"));
  EXPECT_THAT(second, Not(HasSubstr("st.global")));
  const std::string older = FunctionsOf(Ptx(source, 80)).at("mdh_matmul_1");
  EXPECT_THAT(older, Not(HasSubstr(".v4.f32 [")));
  EXPECT_THAT(older, HasSubstr(".global.add.f32"));
}

// The first stage waits before it reads what may not be written yet, and does not take it for
// constant.
TEST_F(NvrtcCompileTest, CallsThatBeginEarlyWaitBeforeTheyRead) {
  const auto functions = FunctionsOf(Ptx(GoldenSource("early_matmul.cu"), 90));
  const std::string& only = functions.at("mdh_matmul_0");
  const size_t wait = only.find("griddepcontrol.wait");
  EXPECT_LT(wait, FirstAccess(only));
  EXPECT_LT(wait, only.find("griddepcontrol.launch_dependents"));
  EXPECT_THAT(only, HasSubstr("ld.global"));
  EXPECT_THAT(only, Not(HasSubstr("ld.global.nc")));
}

// Compilers find memory that a function does not write even where no pointer to it says so, as here
// where all other pointers are restrict; ptxas moves loads of it (ld.global.nc) over the wait.
TEST_F(NvrtcCompileTest, StagesThatWaitDoNotTakeForConstantWhatOthersWrote) {
  LoopProgram program;
  program.scratch = {{"partial", ScalarType::kFloat32, 32, /*per_thread=*/false}};
  const auto sum = [](const char* to, const char* from, const char* other) {
    Stage stage{"Sums", {}, {{4, 1, 1}, {8, 1, 1}}};
    const LoopValueType real = {ScalarType::kFloat32, 1};
    Block body;
    body.push_back({StoreElements{to, Var("i"), MakeLoad(from, Var("i"), real, 1), 1}});
    body.push_back({StoreElements{"d", Var("i"), MakeLoad(other, Var("i"), real, 1), 1}});
    stage.body.push_back({ShareLoop{"i", 32, Shared(std::move(body))}});
    return stage;
  };
  program.stages = {sum("partial", "a", "b"), sum("c", "partial", "a")};
  const auto buffer = [](const char* name, bool is_output) {
    return KernelArgument{name, ScalarType::kFloat32, 32, is_output};
  };
  BlockUnitOptions options{
      &CudaCxx(),
      "mdh_sums",
      "Sums.",
      {buffer("a", false), buffer("b", false), buffer("c", true), buffer("d", true)}};
  options.early_launches = EarlyLaunches::kCalls;
  const auto functions = FunctionsOf(Ptx(PrintBlockKernel(program, options).source, 90));
  EXPECT_THAT(functions.at("mdh_sums_0"), Not(HasSubstr("ld.global.nc")));
  const std::string& second = functions.at("mdh_sums_1");
  const size_t constant = second.find("ld.global.nc"), any = second.find("ld.global.f32");
  EXPECT_NE(any, std::string::npos) << "of the partial sums\n" << second;
  EXPECT_EQ(second.find("ld.global.nc", constant + 1), std::string::npos) << "of the input alone";
}

// Other blocks are read between the two barriers.
TEST_F(NvrtcCompileTest, ClustersWaitForEachOther) {
  const std::string ptx = Ptx(GoldenSource("cluster_matmul.cu"), 90);
  const size_t shown = ptx.find("barrier.cluster.wait"), read = ptx.find("mapa.u64");
  const size_t end = ptx.find("barrier.cluster.arrive", shown);
  EXPECT_LT(shown, read);
  EXPECT_LT(read, end);
  EXPECT_THAT(ptx, HasSubstr(".reqnctapercluster 4, 1, 1"));
}

// Results are in memory before the block is counted, and read behind another fence.
TEST_F(NvrtcCompileTest, LastBlocksReadWhatOthersWrote) {
  const std::string dot = FunctionsOf(Ptx(GoldenSource("last_block_dot.cu"), 90)).at("mdh_dot_1");
  const size_t stored = dot.find("st.global"), wait = dot.find("griddepcontrol.wait");
  const size_t fence = dot.find("membar.gl"), counted = dot.find("atom.");
  const size_t second = dot.find("membar.gl", counted), read = dot.find("ld.global.f32", counted);
  EXPECT_LT(stored, fence);
  EXPECT_LT(wait, counted);
  EXPECT_LT(fence, counted);
  EXPECT_LT(counted, second);
  EXPECT_LT(second, read);
}

TEST_F(NvrtcCompileTest, AtomicAdditionsOfAllTypes) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (!HasAtomicAdd(*DescribeCudaArchitecture(80), info.type)) continue;
    for (const int lanes : {1, 2, 4}) {
      LoopProgram program;
      Stage stage{"Add", {}, {{4, 1, 1}, {32, 1, 1}}};
      Block body;
      body.push_back({AddElements{"y", Var("i") * lanes,
                                  MakeLoad("x", Var("i") * lanes, {info.type, lanes}, 1)}});
      stage.body.push_back({ShareLoop{"i", 100, Shared(std::move(body))}});
      program.stages.push_back(std::move(stage));
      const BlockUnitOptions options{&CudaCxx(),
                                     "mdh_sums",
                                     "Sums.",
                                     {{"x", info.type, 400, false}, {"y", info.type, 400, true}}};
      ExpectCompiles(PrintBlockKernel(program, options).source, std::string(info.name) + ".cu");
    }
  }
}

// Lanes that are moved as one vector become one instruction, for types of which CUDA has no such
// vector too.
TEST_F(NvrtcCompileTest, VectorsAreMovedAtOnce) {
  const auto ptx = [&](ScalarType type, int lanes) {
    LoopProgram program;
    Stage stage{"Copy", {}, {{4, 1, 1}, {32, 1, 1}}};
    Block body;
    body.push_back({StoreElements{"y", Var("i") * lanes,
                                  MakeLoad("x", Var("i") * lanes, {type, lanes}, 1), 1}});
    stage.body.push_back({ShareLoop{"i", 100, Shared(std::move(body))}});
    program.stages.push_back(std::move(stage));
    BlockUnitOptions options{&CudaCxx(),
                             "mdh_copy",
                             "Copy.",
                             {{"x", type, 100 * lanes, false}, {"y", type, 100 * lanes, true}}};
    options.wide_indices = false;
    return Ptx(PrintBlockKernel(program, options).source, 80);
  };
  EXPECT_THAT(ptx(ScalarType::kFloat32, 4), HasSubstr("ld.global.nc.v4."));
  EXPECT_THAT(ptx(ScalarType::kFloat16, 8), HasSubstr("ld.global.nc.v4."));
  EXPECT_THAT(ptx(ScalarType::kUint8, 16), HasSubstr("ld.global.nc.v4."));
  EXPECT_THAT(ptx(ScalarType::kFloat64, 4), HasSubstr("ld.global.nc.v2."));
}

}  // namespace
}  // namespace mdh::nvrtc_compile_test
