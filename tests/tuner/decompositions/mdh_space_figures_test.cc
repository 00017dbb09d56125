// The decompositions of Figures 20-23 are in the spaces of their models at their sizes.
#include <gtest/gtest.h>

#include "core/decomposition/low_level_expression.h"
#include "tests/core/decomposition/lowering_case.h"
#include "tests/source_path.h"
#include "tuner/decompositions/mdh_space.h"

namespace mdh::mdh_space_figures_test {
namespace {

struct Published {
  std::string file;
  int64_t i, j, k;
};

class MdhSpaceFigures : public ::testing::TestWithParam<Published> {};

TEST_P(MdhSpaceFigures, AreMembers) {
  const Published& figure = GetParam();
  const Expression expression = MatMul(figure.i, figure.j, figure.k);
  const auto p = ParseTuningParameters(
      ReadFile(absl::StrCat(SourcePath("tests/core/decomposition/figures/"), figure.file, ".txt")),
      expression);
  ASSERT_TRUE(p.ok()) << p.status();
  const auto model = SystemModelNamed(p->system_model);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto space = MdhSpace::Create(expression, *model, DeviceFor(*model));
  ASSERT_TRUE(space.ok()) << space.status();
  const auto configuration = space->Encode(*p);
  ASSERT_TRUE(configuration.has_value()) << space->WhyNot(*p);
  // Choices without effect may differ; what is cut and where it is kept may not.
  const TuningParameters decoded = space->Decode(*configuration);
  EXPECT_EQ(decoded.tile, p->tile);
  EXPECT_EQ(space->Encode(decoded), configuration);
  const auto low = Lower(expression, *model, DeviceFor(*model), decoded);
  EXPECT_TRUE(low.ok()) << low.status();
}

INSTANTIATE_TEST_SUITE_P(Figures, MdhSpaceFigures,
                         ::testing::Values(Published{"tvm_cuda", 16, 1000, 2048},
                                           Published{"tvm_opencl", 16, 1000, 2048},
                                           Published{"ppcg_cuda", 16, 1000, 1181},
                                           Published{"ppcg_cuda_resnet", 16, 1000, 2048},
                                           Published{"pluto_openmp", 16, 962, 1962},
                                           Published{"pluto_openmp_resnet", 16, 1000, 2048}),
                         [](const auto& info) { return info.param.file; });

}  // namespace
}  // namespace mdh::mdh_space_figures_test
