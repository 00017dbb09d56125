// HIP C++: kernels for all shipped expressions, printed, and checked by clang's front end for HIP,
// which needs neither ROCm nor a GPU; and what they have in common with those in CUDA C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/choose/block_candidates.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/generate_kernel.h"
#include "codegen/lower/nest_program.h"
#include "codegen/program/loop_program_text.h"
#include "tests/codegen/block_program.h"
#include "tests/codegen/hip_devices.h"
#include "tests/codegen/print/scalar_cases.h"
#include "tests/core/decomposition/lowering_case.h"
#include "tests/server/temporary_directory.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"

namespace mdh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const SystemModel& Hip() {
  static const auto& model = *new SystemModel(TuningModel(DeviceKind::kHip));
  return model;
}

std::vector<std::string> ShippedNames() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("client/expressions"))) {
    if (entry.path().extension() == ".mdh") names.insert(entry.path().filename());
  }
  return {names.begin(), names.end()};
}

// With the configuration of rules, and those that tuning would try first.
std::vector<Kernel> KernelsFor(const Expression& expression, const DeviceDescription& device) {
  std::vector<TuningParameters> all = {DefaultParameters(expression, Hip(), device)};
  for (const BlockCandidate& candidate :
       BlockCandidates(expression, Hip(), device, {.count = 2, .evaluations = 20})) {
    if (candidate.parameters != all[0]) all.push_back(candidate.parameters);
  }
  std::vector<Kernel> kernels;
  for (const TuningParameters& parameters : all) {
    const auto low = Lower(expression, Hip(), device, parameters);
    EXPECT_TRUE(low.ok()) << low.status() << ToText(parameters);
    if (!low.ok()) continue;
    const Result<Kernel> kernel = GenerateKernel(*low, device);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    if (kernel.ok()) kernels.push_back(*kernel);
  }
  return kernels;
}

// One unit with all kernels, each in a namespace of its own: starting the compiler takes longer
// than what it does with a kernel.
class HipUnit {
 public:
  void Add(const Kernel& kernel) {
    const std::string number = absl::StrCat("_unit", count_++);
    absl::StrAppend(&text_, "namespace kernel", number, " {\n",
                    absl::StrReplaceAll(kernel.source, {{kernel.entry, kernel.entry + number}}),
                    "}\n");
  }

  // What clang has against it. `how`: how far it compiles.
  std::string Errors(const std::string& isa, const char* how) const {
    const TemporaryDirectory directory;
    std::ofstream(directory.File("unit.hip")) << text_;
    const std::string log = directory.File("log");
    const std::string command = absl::StrCat(
        "clang -x hip --offload-arch=", isa, " -nogpuinc -nogpulib --cuda-device-only -std=c++17 ",
        "-w ", how, " -I ", SourcePath(), "/tests/codegen/hip ", directory.File("unit.hip"), " >",
        log, " 2>&1");
    const int code = std::system(command.c_str());
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    return code == 0 ? text.str() : absl::StrCat("clang failed\n", text.str());
  }

 private:
  int count_ = 0;
  std::string text_ = "#include <hip/hip_runtime.h>\n";
};

bool HasClang() { return std::system("clang --version >/dev/null 2>&1") == 0; }

TEST(HipSourceTest, ShippedExpressionsCompileForWavesOf64And32) {
  if (!HasClang()) GTEST_SKIP() << "there is no clang";
  for (const DeviceDescription& device : {Mi250(), Rx6800()}) {
    HipUnit unit;
    for (const std::string& name : ShippedNames()) {
      for (const Kernel& kernel : KernelsFor(Shipped(name), device)) {
        EXPECT_EQ(kernel.language, Language::kHipCxx);
        for (const char* of_cuda : {"asm volatile", "_sync(", "cp.async", "__stcs", "prmt"}) {
          EXPECT_THAT(kernel.source, Not(HasSubstr(of_cuda))) << name;
        }
        unit.Add(kernel);
      }
    }
    EXPECT_EQ(unit.Errors(device.isa, "-fsyntax-only"), "");
  }
}

TEST(HipSourceTest, ScalarOperationsCompile) {
  if (!HasClang()) GTEST_SKIP() << "there is no clang";
  HipUnit unit;
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    unit.Add(ScalarKernel(HipCxx(), info.type, 100));
  }
  unit.Add(BlockKernel(HipCxx(), {.shuffles = true}, true));
  EXPECT_EQ(unit.Errors("gfx90a", "-O1 -S -o /dev/null"), "");
}

// The same limits and features under another name: only words differ.
TEST(HipSourceTest, LoopProgramsAreThoseOfCuda) {
  const DeviceDescription hip = Rx6800();
  DeviceDescription cuda = hip;
  cuda.kind = DeviceKind::kCuda;
  for (const std::string& name : ShippedNames()) {
    const Expression expression = Shipped(name);
    const TuningParameters for_hip = DefaultParameters(expression, Hip(), hip);
    TuningParameters for_cuda = for_hip;
    for_cuda.system_model = CudaModel().name;
    EXPECT_EQ(for_cuda, DefaultParameters(expression, CudaModel(), cuda)) << name;
    const auto low_hip = Lower(expression, Hip(), hip, for_hip);
    const auto low_cuda = Lower(expression, CudaModel(), cuda, for_cuda);
    ASSERT_TRUE(low_hip.ok() && low_cuda.ok()) << low_hip.status() << low_cuda.status();
    EXPECT_EQ(ToText(*BuildNestProgram(*low_hip, hip)), ToText(*BuildNestProgram(*low_cuda, cuda)))
        << name;
  }
}

// 64 threads of a wave share a reduction.
constexpr char kWave[] =
    "model=HIP; parts=4,1,1|1,1,1|1,4,64|16,1,1|1,16,1; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; "
    "assign=(1,1)(1,2)(1,3)|(2,1)(2,2)(2,3)|(3,3)(3,2)(3,1)|(4,1)(4,2)(4,3)|(5,1)(5,2)(5,3); "
    "inputs=in_place:0,1:-1|in_place:0,1:-1; results=0,0,0|0,0,0|0,0,2|2,2,2|2,2,2";

TEST(HipSourceTest, WavesShuffleOverAllOfTheirThreads) {
  const Expression matmul = MatMul(64, 64, 64);
  const TuningParameters parameters = *ParseTuningParameters(kWave, matmul);
  const auto low = Lower(matmul, Hip(), Mi250(), parameters);
  ASSERT_TRUE(low.ok()) << low.status();
  const std::string source = GenerateKernel(*low, Mi250())->source;
  for (const char* distance : {"32", "16", "8", "4", "2", "1"}) {
    EXPECT_THAT(source, HasSubstr(absl::StrCat(", ", distance, ", 64)")));
  }
  EXPECT_THAT(source, HasSubstr("__shfl_down("));
  EXPECT_THAT(std::string(Validate(matmul, Hip(), Rx6800(), parameters).message()),
              HasSubstr("64 parts are no power of two <= 32, the warp size"));
}

TEST(HipSourceTest, CallersAreToldHowToLaunchIt) {
  const Expression matmul = MatMul(16, 64, 1024);
  const auto low = Lower(matmul, Hip(), Mi250(), DefaultParameters(matmul, Hip(), Mi250()));
  ASSERT_TRUE(low.ok()) << low.status();
  const Kernel kernel = *GenerateKernel(*low, Mi250());
  EXPECT_THAT(kernel.source, HasSubstr("#include <hip/hip_runtime.h>\n"));
  EXPECT_THAT(kernel.source, HasSubstr("extern \"C\" __global__ void __launch_bounds__("));
  EXPECT_THAT(kernel.header, HasSubstr("How to launch mdh_matmul, HIP C++.\n"));
  EXPECT_THAT(kernel.header, HasSubstr("grid of ("));
  EXPECT_EQ(kernel.launches.size(), static_cast<size_t>(kernel.stages));
  EXPECT_THAT(kernel.compile_options, ElementsAre("-std=c++17", "-ffp-contract=fast"));
}

// What the devices lack is refused by name.
TEST(HipSourceTest, WhatDevicesLackIsAnObstacle) {
  const Expression matmul = MatMul(16, 64, 1024);
  const auto error = [&](const auto& change) {
    TuningParameters parameters = DefaultParameters(matmul, Hip(), Mi250());
    change(parameters);
    return std::string(Validate(matmul, Hip(), Mi250(), parameters).message());
  };
  EXPECT_THAT(error([](auto& p) { p.resident_blocks = 2; }),
              HasSubstr("compilers for devices of kind HIP cannot be told"));
  EXPECT_THAT(error([](auto& p) { p.early_launches = EarlyLaunches::kCalls; }),
              HasSubstr("launches on devices of kind HIP never begin early"));
}

}  // namespace
}  // namespace mdh
