// Single sums of products of many factors, which are planned as pipelines.
#include "core/pipeline/plan/planned_expression.h"

#include <string>
#include <variant>

#include "absl/strings/substitute.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/pipeline/plan/search_plan.h"
#include "core/text/computation_text.h"
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::planned_expression_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct ChainOptions {
  std::string type = "fp32", sum = "fp32", f = "a * b * c", combine = "+";
  int64_t inner = 0;  // points of both reduced dimensions; 0: as the kept ones
};

// A chain of three matrices.
Expression Chain(int64_t size, const ChainOptions& options = {}) {
  return *ParseExpression(absl::Substitute(
      "chain := out_view<$1>( y: (i,j,k,l) -> (i,l) ) o md_hom<$0,$4,$4,$0>( f, (++, $3, $3, ++) ) "
      "o inp_view<$1,$1,$1>( a: (i,j,k,l) -> (i,j), b: (i,j,k,l) -> (j,k), c: (i,j,k,l) -> (k,l) ) "
      "where f(a, b, c) -> (y: $5) { y = $2 }",
      size, options.type, options.f, options.combine, options.inner > 0 ? options.inner : size,
      options.sum));
}

bool IsPlanned(const Expression& expression, NumericsPolicy policy) {
  return std::holds_alternative<Pipeline>(AsPlanned(expression, policy));
}

TEST(PlannedExpression, SumsOfProductsPayToBeSplitWhereTheyAreLarge) {
  EXPECT_TRUE(PaysToSplit(Chain(64)));
  EXPECT_TRUE(PaysToSplit(Chain(64, {.f = "3 * (a - 1) * b * c"})));
  // A step waits for the one before.
  EXPECT_FALSE(PaysToSplit(Chain(16)));
  // These are no sums of products.
  EXPECT_FALSE(PaysToSplit(Chain(64, {.f = "a * b + c"})));
  EXPECT_FALSE(PaysToSplit(Chain(64, {.combine = "max"})));
  // One order of two factors at a time costs more than all at once.
  EXPECT_FALSE(PaysToSplit(*ParseExpression(
      "s := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<4096,4096>( f, (++, ++) ) o "
      "inp_view<fp32,fp32,fp32>( a: (i,j) -> (i,j), b: (i,j) -> (i,j), c: (i,j) -> (i,j) ) "
      "where f(a, b, c) -> y { y = a * b * c }")));
}

TEST(PlannedExpression, ProductsThatATileSharesDoNotPayToBeSplit) {
  const auto product = [](const std::string& b) {
    return *ParseExpression(absl::Substitute(
        "p := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<512,512,512>( f, (++, ++, +) ) o "
        "inp_view<fp32,fp32,fp32>( a: (i,j,k) -> (i,k), b: (i,j,k) -> ($0), c: (i,j,k) -> (k,j) ) "
        "where f(a, b, c) -> y { y = a * b * c }",
        b));
  };
  EXPECT_FALSE(PaysToSplit(product("k")));
  EXPECT_FALSE(PaysToSplit(product("k,j")));
  EXPECT_TRUE(PaysToSplit(product("i,j")));
}

TEST(PlannedExpression, ThePolicyLeavesSumsBeReordered) {
  EXPECT_TRUE(IsPlanned(Chain(64), NumericsPolicy::kReassociate));
  EXPECT_TRUE(IsPlanned(Chain(64), NumericsPolicy::kTf32));
  EXPECT_FALSE(IsPlanned(Chain(64), NumericsPolicy::kExactOrder));
  EXPECT_FALSE(IsPlanned(Chain(64), NumericsPolicy::kFixedTree));
  // They wrap, in any order.
  EXPECT_TRUE(IsPlanned(Chain(64, {.type = "int32", .sum = "int32"}), NumericsPolicy::kExactOrder));
  EXPECT_FALSE(IsPlanned(Chain(16), NumericsPolicy::kReassociate));
}

TEST(PlannedExpression, ItIsAPipelineWithTheSameDigestThatItsTextKeeps) {
  const Expression chain = Chain(64);
  const Computation planned = AsPlanned(chain, NumericsPolicy::kReassociate);
  ASSERT_TRUE(std::holds_alternative<Pipeline>(planned));
  EXPECT_EQ(CanonicalForm(std::get<Pipeline>(planned)), CanonicalForm(chain));
  const std::string text = ToText(planned);
  const Result<Computation> printed = ParsePrinted(text);
  ASSERT_TRUE(printed.ok()) << printed.status();
  ASSERT_TRUE(std::holds_alternative<Pipeline>(*printed));
  EXPECT_EQ(ToText(*printed), text);
  // What people write is the expression that it is.
  EXPECT_TRUE(std::holds_alternative<Expression>(*ParseComputation(text)));
  const Result<Computation> expression = ParsePrinted(ToText(chain));
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_TRUE(std::holds_alternative<Expression>(*expression));
  EXPECT_FALSE(ParsePrinted("nothing").ok());
  // A pipeline stays what it is.
  EXPECT_EQ(ToText(AsPlanned(planned, NumericsPolicy::kExactOrder)), text);
}

TEST(PlannedExpression, AsItStandsItIsSearchedUnlessThatIsHopeless) {
  const SearchPlan close = PlanSearch(Pipeline::Of(Chain(64)));
  ASSERT_THAT(close.partitions, SizeIs(2));
  EXPECT_TRUE(close.partitions[1].is_unfused());
  // With little time what may take its place is searched first.
  const SearchPlan shorter = PlanSearch(Pipeline::Of(Chain(64)), {.most_steps = 1});
  ASSERT_THAT(shorter.steps, SizeIs(1));
  EXPECT_EQ(shorter.left_out, 1);
  EXPECT_EQ(shorter.steps[0].expression.rank(), 3);
  const SearchPlan hopeless = PlanSearch(Pipeline::Of(Chain(512)));
  ASSERT_THAT(hopeless.partitions, SizeIs(1));
  EXPECT_FALSE(hopeless.partitions[0].is_unfused());
  // Steps have sums as operands, for which matrix units are none.
  const auto partitions = [](const std::string& type, const std::string& f) {
    const Expression chain = Chain(2048, {.type = type, .f = f, .inner = 6});
    return PlanSearch(Pipeline::Of(chain)).partitions.size();
  };
  EXPECT_EQ(partitions("fp32", "a * b * c"), 1);
  EXPECT_EQ(partitions("fp16", "fp32(a) * fp32(b) * fp32(c)"), 2);
  // A search of one nest would take long, and two products cost somewhat less.
  const SearchPlan scaled = PlanSearch(Pipeline::Of(Chain(8192, {.inner = 2})));
  ASSERT_THAT(scaled.partitions, SizeIs(2));
  EXPECT_TRUE(scaled.partitions[1].is_unfused());
  for (const SearchedStep& step : scaled.steps) EXPECT_THAT(step.partitions, ElementsAre(0));
  // Where the policy leaves no other way there is this one.
  const SearchPlan exact =
      PlanSearch(Pipeline::Of(Chain(512)), {.plan = {.may_reassociate = false}});
  ASSERT_THAT(exact.partitions, SizeIs(1));
  EXPECT_TRUE(exact.partitions[0].is_unfused());
}

}  // namespace
}  // namespace mdh::planned_expression_test
