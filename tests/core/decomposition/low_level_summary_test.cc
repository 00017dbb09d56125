#include "core/decomposition/low_level_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"

namespace mdh::low_level_summary_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A matrix product of these sizes with these tiles.
LowLevelExpression MatMul(const std::string& sizes, const std::string& tiles) {
  const Expression expression = *ParseExpression(
      absl::StrCat("matmul :=\n  out_view<fp32>( C: (i,j,k) -> (i,j) ) o\n  md_hom<", sizes,
                   ">( f, (++, ++, +) ) o\n"
                   "  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
                   "where f(a, b) -> c { c = a * b }"));
  DeviceDescription device;
  device.simd_bytes = 32;
  device.cores = 2;
  Result<LowLevelExpression> low =
      Lower(expression, OpenMpSimdRegistersModel(), device,
            *ParseTuningParameters(absl::StrCat(
                "model=OpenMP+SIMD+RM; tile=", tiles,
                "; order=1,0,2|2,1,0|0,1,2|1,0,2|0,1,2|0,1,2; "
                "inputs=in_place:0,1:-1|in_place:0,1:-1; accumulate=registers; chains=one; "
                "compiler=gcc")));
  EXPECT_TRUE(low.ok()) << low.status();
  return *std::move(low);
}

TEST(LowLevelSummaryTest, HasWhatIsCut) {
  const LowLevelExpression low =
      MatMul("100,64,30", "48,64,30|48,32,30|12,32,10|6,16,2|1,8,1|1,1,1");
  EXPECT_EQ(ShortForm(low),
            "COR i 3 | MM j 2 | L2 i 4 k 3 | L1 j 2 i 2 k 5 | RM i 6 j 2 k 2 | SIMD j 8");
  const std::string table = TableOfCuts(low);
  EXPECT_THAT(table, HasSubstr("\n3 | (1,2)  COR,1"));
  EXPECT_THAT(table, Not(HasSubstr("\n1 ")));
  const std::string whole = DescribeDecomposition(low);
  EXPECT_THAT(whole, HasSubstr("\n  COR i 3 | MM j 2 | "));
  EXPECT_THAT(whole, HasSubstr(table));
  EXPECT_THAT(whole, HasSubstr("MM main memory"));
}

TEST(LowLevelSummaryTest, WhatIsNotCutIsOnePart) {
  const LowLevelExpression low = MatMul("1,1,1", "1,1,1|1,1,1|1,1,1|1,1,1|1,1,1|1,1,1");
  EXPECT_EQ(ShortForm(low), "one part");
  EXPECT_EQ(TableOfCuts(low), "");
  EXPECT_EQ(DescribeDecomposition(low), "Parts, outermost layer first:\n  one part\n\n");
}

TEST(LowLevelSummaryTest, EveryNameOfEveryModelIsSpelledOut) {
  for (const SystemModel& model :
       {OpenMpModel(), OpenMpL3Model(), OpenMpL3SimdModel(), OpenMpSimdRegistersModel(),
        CudaModel(), CudaWarpModel(), OpenClModel(), MultiGpuModel()}) {
    const std::string legend = TableLegend(model, 1'000'000);
    for (const AsmLayer& layer : model.layers) {
      EXPECT_THAT(legend, HasSubstr(layer.name + " ")) << "without a meaning";
    }
    for (const std::string& region : model.memory_regions()) {
      EXPECT_THAT(legend, HasSubstr(region + " ")) << "without a meaning";
    }
  }
}

}  // namespace
}  // namespace mdh::low_level_summary_test
