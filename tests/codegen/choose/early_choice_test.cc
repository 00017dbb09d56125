// Which calls begin early by rules: short ones, of few bytes with what they read brought to the
// cache.
#include "codegen/choose/counting/early_choice.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/choose/default_parameters.h"
#include "core/text/parser.h"

namespace mdh::early_choice_test {
namespace {

const DeviceDescription kDevice = *DescribeCudaArchitecture(90);

Expression RowSums(int64_t i, int64_t k) {
  return *ParseExpression(absl::Substitute(
      "sums<| I = $0, K = $1> := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o\n"
      "inp_view<fp32>( x: (i,k) -> (i,k) )\n"
      "where f(x) -> y { y = x }\n",
      i, k));
}

TEST(EarlyChoiceTest, DependsOnCyclesAndBytes) {
  const Expression few = RowSums(512, 1024), many = RowSums(513, 1024);  // of 2 MiB, and of more
  ASSERT_TRUE(HasFewInputBytes(few));
  ASSERT_FALSE(HasFewInputBytes(many));
  const struct {
    const Expression& expression;
    CombineBlocks combine;
    double cycles;
    EarlyLaunches early;
  } cases[] = {
      {few, CombineBlocks::kPartials, 2e3, EarlyLaunches::kPrefetches},
      {few, CombineBlocks::kPartials, 2e4, EarlyLaunches::kPrefetches},
      {few, CombineBlocks::kPartials, 1e5, EarlyLaunches::kStages},
      {few, CombineBlocks::kAtomics, 1e5, EarlyLaunches::kCalls},
      {many, CombineBlocks::kPartials, 2e3, EarlyLaunches::kCalls},
      {many, CombineBlocks::kPartials, 2e4, EarlyLaunches::kStages},
      {many, CombineBlocks::kAtomics, 1e5, EarlyLaunches::kCalls},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(EarlyByCounting(c.expression, kDevice, c.combine, c.cycles), c.early) << c.cycles;
  }
  const DeviceDescription older = *DescribeCudaArchitecture(80);
  EXPECT_EQ(EarlyByCounting(few, older, CombineBlocks::kAtomics, 1), EarlyLaunches::kStages);
}

TEST(EarlyChoiceTest, RulesTakeIt) {
  const auto early_of = [](const Expression& e) {
    return DefaultParameters(e, CudaModel(), kDevice).early_launches;
  };
  EXPECT_EQ(early_of(RowSums(100, 500)), EarlyLaunches::kPrefetches);
  EXPECT_EQ(early_of(RowSums(20000, 3000)), EarlyLaunches::kStages);
}

}  // namespace
}  // namespace mdh::early_choice_test
