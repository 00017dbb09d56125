// The kernels that compute references of large problems.
#include "tuner/measure/plain_kernel.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/decomposition/nest_shape.h"
#include "tests/shipped_expression.h"
#include "tests/source_path.h"

namespace mdh::plain_kernel_test {
namespace {

TEST(PlainKernel, IsThereForEveryShippedExpression) {
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const std::string folder = SourcePath("client/expressions");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".mdh") continue;
    const Result<TuningParameters> parameters =
        PlainParameters(Shipped(entry.path().filename()), device, NumericsPolicy::kReassociate);
    EXPECT_TRUE(parameters.ok()) << entry.path() << ": " << parameters.status();
  }
}

// A block has 64 threads at most along z, into which all dimensions after the second are folded.
TEST(PlainKernel, ThreadsRunAlongTheLastDimensionsOfManyDimensionalResults) {
  const Expression capsule = Shipped("mcc_capsule.mdh");
  const DeviceDescription device = *DescribeCudaArchitecture(90);
  const Result<TuningParameters> parameters =
      PlainParameters(capsule, device, NumericsPolicy::kReassociate);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const SystemModel model = CudaModel();
  const NestShape shape(capsule, model, *parameters);
  EXPECT_EQ(shape.Block(), (std::array<int64_t, 3>{4, 4, 8}));
  EXPECT_EQ(shape.Grid()[0], 112);  // of p; q along y
  EXPECT_EQ(shape.Grid()[1], 112);
}

}  // namespace
}  // namespace mdh::plain_kernel_test
