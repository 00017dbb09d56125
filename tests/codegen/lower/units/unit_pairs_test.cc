// Operands of one byte of two types, of which every pair has an instruction: executed thread by
// thread (unit_case.h), and by rules and as source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/backends/backends.h"
#include "codegen/choose/default_parameters.h"
#include "codegen/lower/units/unit_program.h"
#include "core/decomposition/unit_use.h"
#include "tests/codegen/lower/units/unit_case.h"
#include "tests/sanitized.h"

namespace mdh::unit_program_test {
namespace {

using ::testing::HasSubstr;

struct PairOfTypes {
  const char *a, *b, *sum;
  std::string name;  // of instructions
};
const PairOfTypes kPairsOfTypes[] = {
    {"int8", "int8", "int32", "s8"},
    {"int8", "uint8", "int32", "s8.u8"},
    {"uint8", "int8", "int32", "u8.s8"},
    {"uint8", "uint8", "int32", "u8"},
    {"fp8e4m3", "fp8e4m3", "fp32", "e4m3"},
    {"fp8e4m3", "fp8e5m2", "fp32", "e4m3.e5m2"},
    {"fp8e5m2", "fp8e4m3", "fp32", "e5m2.e4m3"},
    {"fp8e5m2", "fp8e5m2", "fp32", "e5m2"},
};

std::string ProductOf(const PairOfTypes& types, const std::string& sizes, const std::string& at_a,
                      const std::string& at_b) {
  return absl::Substitute(
      "e<T = $2 | $3> := out_view<T>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<$0,$1>( A: (i,j,k) -> ($4), B: (i,j,k) -> ($5) )\n"
      "where f(A, B) -> C { C = T(A) * T(B) }\n",
      types.a, types.b, types.sum, sizes, at_a, at_b);
}

UnitParameters WithTensors(UnitParameters unit) {
  unit.tensors = UnitOperands::kBoth;
  return unit;
}

std::vector<Case> PairCases() {
  std::vector<Case> cases;
  for (const PairOfTypes& types : kPairsOfTypes) {
    const auto add = [&](const std::string& name, const std::string& sizes, const std::string& at_a,
                         const std::string& at_b, UnitParameters unit,
                         CombineBlocks combine = CombineBlocks::kPartials) {
      cases.push_back({absl::StrCat(types.a, "_", types.b, "_", name),
                       ProductOf(types, sizes, at_a, at_b), unit, 1, combine});
    };
    add("warps", "I = 29, J = 19, K = 160", "i,k", "j,k",
        Warps(32, 24, {2, 1, 16, 32}, /*stages=*/2));
    add("packed", "I = 21, J = 19, K = 150", "k,i", "k,j",
        Warps(32, 24, {2, 1, 16, 32}, /*stages=*/2, /*parts=*/2, UnitOperands::kBoth));
    add("groups", "I = 70, J = 40, K = 200", "i,k", "j,k", {64, 48, 1, 3, 1});
    add("cluster", "I = 60, J = 32, K = 390", "i,k", "k,j", {64, 32, 1, 2, 2, UnitOperands::kB},
        kCluster);
    add("computed", "I = 21, J = 19, K = 150", "k,i", "k,j",
        {64, 32, 1, 3, 1, kNoOperand, UnitOperands::kBoth});
    add("tensors", "I = 70, J = 40, K = 208", "i,k", "j,k", WithTensors({64, 48, 1, 3, 1}));
  }
  return cases;
}

class UnitPairs : public ::testing::TestWithParam<Case> {};

TEST_P(UnitPairs, ComputeWhatTheInterpreterDoes) {
  if (!IsTried()) GTEST_SKIP() << kNotTried;
  ExpectWhatTheInterpreterComputes(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, UnitPairs, ::testing::ValuesIn(PairCases()),
                         [](const auto& one) { return one.param.name; });

TEST(UnitPairsTest, RulesTakeTheInstructionOfBothTypes) {
  constexpr std::array<std::pair<int, const char*>, 3> kUnits = {
      {{80, "mma.m16n8k32."}, {89, "mma.m16n8k32."}, {90, "wgmma.m64n"}}};
  for (const PairOfTypes& types : kPairsOfTypes) {
    const Expression e =
        *ParseExpression(ProductOf(types, "I = 1024, J = 1024, K = 1024", "i,k", "j,k"));
    const bool is_fp8 = types.sum == std::string("fp32");
    for (const auto& [capability, unit] : kUnits) {
      if (is_fp8 && capability < 89) continue;
      const DeviceDescription device = *DescribeCudaArchitecture(capability);
      const TuningParameters p = DefaultParameters(e, CudaModel(), device, PolicyOf(e));
      const Result<LowLevelExpression> low_level = Lower(e, CudaModel(), device, p);
      ASSERT_TRUE(low_level.ok()) << low_level.status();
      const std::optional<UnitUse> use = UnitUseOf(*low_level, device, {.clock_hz = 1e9});
      ASSERT_TRUE(use.has_value()) << types.name << " on " << capability;
      EXPECT_THAT(use->text, HasSubstr(unit));
      EXPECT_THAT(use->text, HasSubstr(absl::StrCat(".", types.name, ", tiles of")));
      const Result<Kernel> kernel = GenerateBlockKernel(*low_level, device);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      EXPECT_THAT(kernel->source, HasSubstr(AssemblyName(use->instruction)));
    }
  }
}

// Their own where an instruction takes both, or one that has all values of both.
TEST(UnitPairsTest, TypesOfOperands) {
  const auto held = [](const PairOfTypes& types,
                       NumericsPolicy numerics = NumericsPolicy::kReassociate) {
    const Expression e = *ParseExpression(ProductOf(types, "I = 64, J = 64, K = 64", "i,k", "j,k"));
    const Result<UnitPlan> plan = PlanUnit(e, numerics);
    if (!plan.ok()) return std::string(plan.status().message());
    return absl::StrCat(Name(plan->a.held), " ", Name(plan->b.held), " ", Name(plan->sum));
  };
  EXPECT_EQ(held({"int8", "uint8", "int32", ""}), "int8 uint8 int32");
  EXPECT_EQ(held({"uint8", "int8", "int32", ""}), "uint8 int8 int32");
  EXPECT_EQ(held({"uint8", "int8", "fp32", ""}), "fp16 fp16 fp32") << "no sums of bytes in fp32";
  EXPECT_EQ(held({"fp8e5m2", "fp8e4m3", "fp32", ""}), "fp16 fp16 fp32");
  EXPECT_EQ(held({"fp8e5m2", "fp8e4m3", "fp32", ""}, NumericsPolicy::kFp8), "fp8e5m2 fp8e4m3 fp32");
  EXPECT_EQ(held({"int8", "bf16", "fp32", ""}), "bf16 bf16 fp32");
}

// Both types are in the text of the program where they differ.
TEST(UnitPairsTest, AsText) {
  const auto text = [](const PairOfTypes& types) {
    const LowLevelExpression low_level = Lowered(
        {types.name, ProductOf(types, "I = 64, J = 16, K = 256", "i,k", "j,k"), {64, 16, 1, 2, 1}});
    return ToText(*BuildUnitProgram(low_level));
  };
  EXPECT_THAT(text(kPairsOfTypes[0]), HasSubstr(" += int8 a + 32 * b + 32"));
  EXPECT_THAT(text(kPairsOfTypes[2]), HasSubstr(" += uint8 by int8 a + 32 * b + 32"));
}

}  // namespace
}  // namespace mdh::unit_program_test
