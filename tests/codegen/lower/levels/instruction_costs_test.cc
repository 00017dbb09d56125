// What the cost model of GPUs takes operations for.
#include "codegen/lower/levels/instruction_costs.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "core/text/parser.h"

namespace mdh::instruction_costs_test {
namespace {

struct Counted {
  double instructions = 0;
  bool branches = false;
  friend bool operator==(const Counted&, const Counted&) = default;
};

// Of a function of two elements.
Counted Count(const std::string& function, const std::string& type = "fp32") {
  const Result<Expression> expression = ParseExpression(absl::Substitute(
      "e<| I = 8> := out_view<$1>( y: (i) -> (i) ) o md_hom<I>( f, (++) ) o\n"
      "inp_view<$1,$1>( a: (i) -> (i), b: (i) -> (i) ) where f(a, b) -> y { y = $0 }\n",
      function, type));
  EXPECT_TRUE(expression.ok()) << expression.status();
  Counted counted;
  for (const ScalarInstruction& instruction : expression->function().instructions()) {
    counted.instructions += InstructionsOf(instruction);
    counted.branches |= Branches(instruction);
  }
  return counted;
}

TEST(InstructionCostsTest, ElementsAndConstantsAreFree) {
  EXPECT_EQ(Count("a"), (Counted{0, false}));
  EXPECT_EQ(Count("a + b"), (Counted{1, false}));
  EXPECT_EQ(Count("a * 2 + b"), (Counted{2, false}));
  EXPECT_EQ(Count("max(a, b)"), (Counted{1, false}));
}

TEST(InstructionCostsTest, FunctionsOfTheHardwareHaveOthersAroundThem) {
  for (const char* function : {"exp(a)", "exp2(a)", "log(a)", "log2(a)", "tanh(a)"}) {
    EXPECT_EQ(Count(function), (Counted{8, false})) << function;
  }
  EXPECT_EQ(Count("erf(a)"), (Counted{24, false}));
}

TEST(InstructionCostsTest, SomeHaveABranchForSmallOrLargeOperands) {
  for (const char* function : {"a / b", "sqrt(a)", "rsqrt(a)"}) {
    EXPECT_EQ(Count(function), (Counted{8, true})) << function;
  }
  for (const char* function : {"sin(a)", "cos(a)", "pow(a, b)", "atan2(a, b)"}) {
    EXPECT_EQ(Count(function), (Counted{24, true})) << function;
  }
  EXPECT_TRUE(Count("a % b").branches);
}

TEST(InstructionCostsTest, IntegersHaveNoBranches) {
  EXPECT_EQ(Count("a / b", "int32"), (Counted{1, false}));
  EXPECT_EQ(Count("a % b", "int32"), (Counted{1, false}));
}

TEST(InstructionCostsTest, CombiningCountsWhatUsersWrite) {
  const auto combine = [](const std::string& type, const std::string& operators,
                          const std::string& more = "") {
    const Result<Expression> expression = ParseExpression(absl::Substitute(
        "e<| I = 8, K = 8> := out_view<$0>( y: (i,k) -> (i) ) o md_hom<I,K>( f, (++, $1) ) o\n"
        "inp_view<$0>( a: (i,k) -> (i,k) ) where f(a) -> y { y = a }$2\n",
        type, operators, more));
    EXPECT_TRUE(expression.ok()) << expression.status();
    return CombineInstructions(*expression);
  };
  EXPECT_EQ(combine("fp32", "+"), 1);
  EXPECT_EQ(combine("fp64", "max"), 1);
  const std::string log_of_sum = ", c(a, b) -> r { r = log(exp(a) + exp(b)) }";
  EXPECT_EQ(combine("fp32", "c", log_of_sum), 3 * 8 + 1);
  EXPECT_EQ(combine("fp64", "c", log_of_sum), 3 * 24 + 1);
}

TEST(InstructionCostsTest, AsManyOwnersAsDivideTheResults) {
  EXPECT_EQ(OwnersOf(16, 24), 16);
  EXPECT_EQ(OwnersOf(16, 21), 16);
  EXPECT_EQ(OwnersOf(28, 24), 14);
  EXPECT_EQ(OwnersOf(13, 12), 1);
  EXPECT_EQ(OwnersOf(1, 256), 1);
}

// One thread that adds 80 numbers is faster than seven steps with barriers, but not if each
// addition takes as long as a logarithm.
TEST(InstructionCostsTest, TreesForWhatTakesLong) {
  EXPECT_FALSE(TreeIsShorter(80, 1, 1, 1));
  EXPECT_TRUE(TreeIsShorter(80, 1, 1, 25));
  EXPECT_TRUE(TreeIsShorter(1024, 1, 1, 1));
  EXPECT_FALSE(TreeIsShorter(32, 32, 1, 25));
}

}  // namespace
}  // namespace mdh::instruction_costs_test
