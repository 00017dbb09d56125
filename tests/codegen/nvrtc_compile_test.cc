// CUDA C++ through NVRTC, which needs no GPU: every scalar operation, and all golden units. NVRTC
// is looked for where toolkits are installed and in the folder MDH_NVRTC_DIR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/codegen/block_program.h"
#include "tests/codegen/scalar_cases.h"
#include "tests/error_message.h"
#include "tuner/device/nvrtc.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;

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
    for (const int architecture : {80, 90}) {
      const auto compiled = nvrtc_->Compile(source, name, architecture, options_);
      EXPECT_EQ(ErrorMessage(compiled), "no error") << name << " for sm_" << architecture;
    }
  }

  std::optional<Nvrtc> nvrtc_;
  const std::vector<std::string> options_ = {"--std=c++17", "--fmad=false"};
};

TEST_F(NvrtcCompileTest, AllScalarOperations) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    const Kernel kernel = ScalarKernel(CudaCxx(), info.type, 100);
    ExpectCompiles(kernel.source, std::string(info.name) + ".cu");
    if (!IsHalf(info.type)) {
      ExpectCompiles(LiteralKernel(CudaCxx(), info.type).source, "literals.cu");
    }
    if (IsInteger(info.type)) {
      ExpectCompiles(TableKernel(CudaCxx(), info.type, 10).source, "table.cu");
    }
  }
}

TEST_F(NvrtcCompileTest, GoldenUnits) {
  int units = 0;
  const std::string folder = std::string(MDH_SOURCE_DIR) + "/tests/codegen/golden";
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
    const auto compiled = nvrtc_->Compile(PrintBlockKernel(program, options).source, "copy.cu", 80,
                                          options_, Nvrtc::Output::kPtx);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    return compiled.value_or("");
  };
  EXPECT_THAT(ptx(ScalarType::kFloat32, 4), HasSubstr("ld.global.nc.v4."));
  EXPECT_THAT(ptx(ScalarType::kFloat16, 8), HasSubstr("ld.global.nc.v4."));
  EXPECT_THAT(ptx(ScalarType::kUint8, 16), HasSubstr("ld.global.nc.v4."));
  EXPECT_THAT(ptx(ScalarType::kFloat64, 4), HasSubstr("ld.global.nc.v2."));
}

}  // namespace
}  // namespace mdh
