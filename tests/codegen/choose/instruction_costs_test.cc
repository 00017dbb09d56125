// What the cost model of GPUs takes operations for.
#include "codegen/choose/counting/instruction_costs.h"

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

}  // namespace
}  // namespace mdh::instruction_costs_test
