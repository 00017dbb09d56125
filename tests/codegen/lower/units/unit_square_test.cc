// Contractions of one buffer with itself (Gram matrices) and rows at any pitch on matrix units,
// executed thread by thread: what is in shared memory, or packed, once for both operands.
#include "absl/strings/str_cat.h"
#include "core/decomposition/unit_plan.h"
#include "tests/codegen/lower/units/unit_case.h"
#include "tests/sanitized.h"

namespace mdh::unit_square_test {
namespace {

using unit_program_test::Case;
using unit_program_test::Computing;
using unit_program_test::ExpectWhatTheInterpreterComputes;
using unit_program_test::kNoOperand;
using unit_program_test::Lowered;
using unit_program_test::MatMul;
using unit_program_test::Warps;

constexpr auto kBoth = UnitOperands::kBoth;

// `access`: of x, at "i" for one operand and at "j" for the other.
std::string Gram(const std::string& type, int64_t i, int64_t k, bool is_across,
                 const std::string& sum = "fp32") {
  return absl::Substitute(
      "e<T = $0 | I = $1, K = $2> := out_view<$4>( y: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,I,K>( f, (++, ++, +) ) o inp_view<T>( x: (i,j,k) -> $3 )\n"
      "where f(a, b) -> (y: $4) { y = $4(a) * $4(b) }\n",
      type, i, k, is_across ? "(k,i), (k,j)" : "(i,k), (j,k)", sum);
}

UnitParameters ByTheEngine(UnitParameters unit, UnitProducer producer = UnitProducer::kNone) {
  unit.tensors = kBoth;
  unit.producer = producer;
  return unit;
}

class UnitSquares : public ::testing::TestWithParam<Case> {};

TEST_P(UnitSquares, AreWhatTheInterpreterComputes) {
  if (!IsTried()) GTEST_SKIP() << kNotTried;
  ExpectWhatTheInterpreterComputes(GetParam());
}

const Case kCases[] = {
    {"along", Gram("bf16", 64, 128, false), {64, 64, 1, 3, 1}},
    {"across", Gram("bf16", 64, 128, true), {64, 64, 1, 3, 1}},
    {"pairs", Gram("fp16", 39, 202, false), {64, 48, 1, 3, 2}},
    {"pairs_across", Gram("fp16", 38, 130, true), {128, 64, 2, 3, 2}},
    {"fours_across", Gram("fp16", 36, 130, true), {64, 48, 1, 4, 1}},
    {"singles", Gram("bf16", 29, 133, false), {64, 32, 1, 2, 3}},
    {"singles_across", Gram("bf16", 71, 67, true), {128, 80, 2, 3, 1}},
    {"three_groups", Gram("fp16", 21, 70, false), {192, 32, 3, 3, 1}},
    {"computed", Gram("bf16", 71, 133, true), {128, 96, 1, 3, 2, kNoOperand, kBoth}},
    {"computed_along", Gram("bf16", 21, 133, false), {64, 32, 1, 3, 2, kNoOperand, kBoth}},
    {"packed", Gram("bf16", 29, 133, false), {64, 32, 1, 3, 1, kBoth}},
    {"packed_tiles", Gram("bf16", 71, 67, true), {64, 64, 1, 3, 1, kBoth}},
    {"cluster", Gram("bf16", 30, 200, false), {64, 32, 1, 3, 2}, 1, unit_program_test::kCluster},
    {"engine", Gram("bf16", 64, 128, false), ByTheEngine({64, 64, 1, 3, 1})},
    {"engine_across", Gram("bf16", 56, 131, true),
     ByTheEngine({64, 64, 1, 2, 1}, UnitProducer::kWarp)},
    {"packed_for_the_engine", Gram("bf16", 71, 67, true),
     ByTheEngine({64, 64, 1, 3, 1, kBoth}, UnitProducer::kWarp)},
    {"bytes", Gram("int8", 30, 200, false, "int32"), {64, 32, 1, 3, 1}},
    {"doubles", Gram("fp64", 21, 37, false, "fp64"), Warps(32, 24, {2, 1, 16, 4}, /*stages=*/3)},
    {"halves_of_warps", Gram("fp16", 30, 150, false),
     Warps(32, 32, {2, 1, 16, 16}, /*stages=*/3, /*parts=*/2)},
    {"singles_of_products", MatMul("bf16", "fp32", "I = 35, J = 21, K = 133", "i,k", "j,k"),
     Computing(UnitOperands::kA, {64, 32, 1, 3, 2})},
    {"some_columns_of_sixty_four",
     MatMul("bf16", "fp32", "I = 40, J = 96, K = 70", "i,k", "k,j"),
     {64, 48, 1, 3, 1}},
    {"computed_columns_of_sixty_four",
     MatMul("fp16", "fp32", "I = 40, J = 89, K = 70", "i,k", "k,j"),
     Computing(UnitOperands::kB, {64, 80, 1, 3, 1})},
    {"packed_columns_of_sixty_four",
     MatMul("fp16", "fp32", "I = 40, J = 89, K = 70", "i,k", "k,j"),
     {64, 32, 1, 3, 1, kBoth}},
    {"some_columns_of_doubles", MatMul("fp64", "fp64", "I = 32, J = 48, K = 40", "i,k", "k,j"),
     Warps(32, 24, {2, 1, 16, 4}, /*stages=*/3)},
    {"some_columns_of_warps", MatMul("fp16", "fp32", "I = 32, J = 80, K = 100", "i,k", "k,j"),
     Warps(32, 40, {2, 1, 16, 16}, /*stages=*/3)},
    {"pairs_of_products",
     MatMul("bf16", "fp32", "I = 34, J = 22, K = 70", "k,i", "k,j"),
     {64, 64, 1, 3, 1}},
};

INSTANTIATE_TEST_SUITE_P(Cases, UnitSquares, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

UnitPlan PlanOf(const Case& c) {
  const LowLevelExpression low_level = Lowered(c);
  return CutForUnit(c.unit, c.combine, *PlanUnit(low_level.expression()));
}

// One tile has all rows of both operands; several have those of two parts, which are packed once.
TEST(UnitSquare, OperandsAreCopiedOnce) {
  const std::string gram = Gram("bf16", 71, 200, false);
  EXPECT_TRUE(PlanOf({"one", gram, {128, 80, 1, 3, 1}}).is_shared);
  EXPECT_FALSE(PlanOf({"two", gram, {64, 80, 1, 3, 1}}).is_shared);
  EXPECT_FALSE(PlanOf({"wide", gram, {64, 128, 1, 3, 1}}).is_shared);
  EXPECT_FALSE(PlanOf({"unlike", gram, {128, 80, 1, 3, 1, UnitOperands::kA}}).is_shared);
  const UnitPlan packed = PlanOf({"packed", gram, {64, 80, 1, 3, 1, kBoth}});
  EXPECT_TRUE(packed.is_packed_once);
  EXPECT_EQ(packed.packed_elements(false), 0);
  EXPECT_FALSE(PlanOf({"products",
                       MatMul("bf16", "fp32", "I = 71, J = 71, K = 200", "i,k", "j,k"),
                       {128, 80, 1, 3, 1}})
                   .is_shared);
}

}  // namespace
}  // namespace mdh::unit_square_test
