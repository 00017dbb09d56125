#include "server/records/translate_parameters.h"

#include <gtest/gtest.h>

#include "core/text/parser.h"
#include "tests/nvidia_under_opencl.h"

namespace mdh::translate_parameters_test {
namespace {

constexpr char kMatMul[] = R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<128,64,32>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(a, b) -> c { c = a * b }
)";

class TranslateParametersTest : public ::testing::Test {
 protected:
  TranslateParametersTest() : opencl_(cuda_) {
    opencl_.kind = DeviceKind::kOpenCl;
    opencl_.isa = "OpenCL 3.0 CUDA";
    opencl_.features = FeaturesOf(opencl_);
    parameters_.system_model = "CUDA";
    parameters_.tile = {{32, 32, 32}, {32, 32, 8}, {4, 4, 8}, {4, 4, 8}, {1, 1, 1}};
    parameters_.phase.order = NestedOrder({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}});
    parameters_.inputs.resize(2);
  }

  const DeviceDescription cuda_ = *DescribeCudaArchitecture(90);
  DeviceDescription opencl_;
  TuningParameters parameters_;
};

TEST_F(TranslateParametersTest, TheSameTilesAreValidForBoth) {
  const Expression matmul = *ParseExpression(kMatMul);
  ASSERT_TRUE(Validate(matmul, CudaModel(), cuda_, parameters_).ok())
      << Validate(matmul, CudaModel(), cuda_, parameters_);
  const std::optional<TuningParameters> translated =
      TranslateParameters(parameters_, CudaModel(), OpenClModel(), opencl_);
  ASSERT_TRUE(translated.has_value());
  EXPECT_EQ(translated->system_model, "OpenCL");
  EXPECT_EQ(translated->tile, parameters_.tile);
  EXPECT_EQ(translated->phase, parameters_.phase);
  const Status valid = Validate(matmul, OpenClModel(), opencl_, *translated);
  EXPECT_TRUE(valid.ok()) << valid;
  EXPECT_EQ(TranslateParameters(*translated, OpenClModel(), CudaModel(), cuda_), parameters_);
}

TEST_F(TranslateParametersTest, MeansThatTheDeviceLacksAreLeftOut) {
  parameters_.resident_blocks = 2;
  parameters_.early_launches = EarlyLaunches::kCalls;
  parameters_.combine_blocks = CombineBlocks::kCluster;
  parameters_.inputs[0].copy_mode = CopyMode::kAsynchronous;
  parameters_.inputs[0].copy_stages = 4;
  parameters_.inputs[0].copy_width = 4;
  const auto translated = TranslateParameters(parameters_, CudaModel(), OpenClModel(), opencl_);
  ASSERT_TRUE(translated.has_value());
  EXPECT_EQ(translated->resident_blocks, 0);
  EXPECT_EQ(translated->combine_blocks, CombineBlocks::kPartials);
  EXPECT_EQ(translated->early_launches, EarlyLaunches::kStages);
  EXPECT_EQ(translated->inputs[0].copy_mode, CopyMode::kThroughRegisters);
  EXPECT_EQ(translated->inputs[0].copy_stages, 2);
  EXPECT_EQ(translated->inputs[0].copy_width, 4);
  // A GPU that has them keeps them.
  EXPECT_EQ(TranslateParameters(parameters_, CudaModel(), CudaModel(), cuda_), parameters_);
}

// Those of NVIDIA's compiler for OpenCL are kept there, and left out elsewhere.
TEST_F(TranslateParametersTest, AtomicsAndAsynchronousCopiesNeedADeviceOfNvidias) {
  parameters_.combine_blocks = CombineBlocks::kAtomics;
  parameters_.inputs[0].copy_mode = CopyMode::kAsynchronous;
  const auto elsewhere = TranslateParameters(parameters_, CudaModel(), OpenClModel(), opencl_);
  ASSERT_TRUE(elsewhere.has_value());
  EXPECT_EQ(elsewhere->combine_blocks, CombineBlocks::kPartials);
  EXPECT_EQ(elsewhere->inputs[0].copy_mode, CopyMode::kThroughRegisters);
  const auto kept =
      TranslateParameters(parameters_, CudaModel(), OpenClModel(), NvidiaUnderOpenCl());
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->combine_blocks, CombineBlocks::kAtomics);
  EXPECT_EQ(kept->inputs[0].copy_mode, CopyMode::kAsynchronous);
}

TEST_F(TranslateParametersTest, OtherLayersHaveNoTranslation) {
  EXPECT_FALSE(TranslateParameters(parameters_, CudaWarpModel(), OpenClModel(), opencl_));
  EXPECT_FALSE(TranslateParameters(parameters_, CudaModel(), OpenMpSimdRegistersModel(), {}));
}

}  // namespace
}  // namespace mdh::translate_parameters_test
