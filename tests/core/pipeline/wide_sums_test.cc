// Halves that are combined as they are computed.
#include "core/pipeline/wide_sums.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/text/parser.h"
#include "core/text/printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::wide_sums_test {
namespace {

Expression Sum(const std::string& value, const std::string& type = "bf16",
               const std::string& combine = "+") {
  return *ParseExpression(absl::Substitute(
      "e := out_view<$1>( y: (i,k) -> (i) ) o md_hom<4,8>( f, (++, $2) ) o inp_view<$1,$1>( "
      "a: (i,k) -> (i,k), b: (i,k) -> (k) ) where f(a, b) -> y { $0 }",
      value, type, combine));
}

// The operations of f, with their types.
std::string Operations(const ScalarFunction& f) {
  std::string text;
  for (const ScalarInstruction& one : f.instructions()) {
    if (one.op == ScalarOp::kParameter || one.op == ScalarOp::kConstant) continue;
    absl::StrAppend(&text, text.empty() ? "" : " ", Info(one.op).name, ":", Info(one.type).name);
  }
  return text;
}

std::string Widened(const std::string& value) {
  const ScalarFunction f = WithWideResults(Sum(value).function());
  EXPECT_EQ(f.results()[0].type, ScalarType::kFloat32);
  return Operations(f);
}

TEST(WideSums, TheLastOperationIsNotRounded) {
  EXPECT_EQ(Widened("y = a * b"), "cast:fp32 cast:fp32 *:fp32");
  EXPECT_EQ(Widened("y = a"), "cast:fp32");
  EXPECT_EQ(Widened("y = 2"), "cast:fp32");
  // What is not the last one is.
  EXPECT_EQ(Widened("y = (a * b) + b"), "*:bf16 cast:fp32 cast:fp32 +:fp32");
  EXPECT_EQ(Widened("let t = a * b; y = t + t"), "*:bf16 cast:fp32 +:fp32");
}

TEST(WideSums, WhatIsOnlyChosenIsNotRoundedEither) {
  EXPECT_EQ(Widened("y = a < b ? a * b : 2"),
            "<:bool cast:fp32 cast:fp32 *:fp32 cast:fp32 ?::fp32");
  EXPECT_EQ(Widened("y = -max(a * b, a)"), "cast:fp32 cast:fp32 *:fp32 max:fp32 -:fp32");
  // These may be far away for another operand.
  EXPECT_EQ(Widened("y = floor(a * b)"), "*:bf16 cast:fp32 floor:fp32");
  // Used for something else, too.
  EXPECT_EQ(Widened("let t = a * b; y = t < b ? t : a"),
            "*:bf16 <:bool cast:fp32 cast:fp32 ?::fp32");
}

TEST(WideSums, ConversionsToHalvesAreLeftOut) {
  EXPECT_EQ(Widened("y = bf16(fp32(a) * fp32(b))"), "cast:fp32 cast:fp32 *:fp32");
}

TEST(WideSums, PoliciesThatKeepTheOrderKeepTypes) {
  const Expression sum = Sum("y = a * b");
  EXPECT_TRUE(HasWideSums(sum, NumericsPolicy::kReassociate));
  EXPECT_FALSE(HasWideSums(sum, NumericsPolicy::kExactOrder));
  EXPECT_FALSE(HasWideSums(sum, NumericsPolicy::kFixedTree));
  EXPECT_FALSE(HasWideSums(Sum("y = a * b", "fp32"), NumericsPolicy::kReassociate));
  const Expression wide = WithWideSums(sum, NumericsPolicy::kReassociate);
  EXPECT_EQ(wide.reduction().function().results()[0].type, ScalarType::kFloat32);
  EXPECT_TRUE(wide.finishes_results());
  const Expression prefix = WithWideSums(Sum("y = a", "fp16", "+"), NumericsPolicy::kTf32);
  EXPECT_EQ(prefix.function().results()[0].type, ScalarType::kFloat32);
}

TEST(WideSums, PointsThatAreNotCombinedAreRoundedAsTheyAre) {
  const Expression map = *ParseExpression(
      "e := out_view<bf16>( y: (i) -> (i) ) o md_hom<4>( f, (++) ) o inp_view<bf16>( a: (i) -> (i) "
      ") where f(a) -> y { y = a * a }");
  EXPECT_FALSE(HasWideSums(map, NumericsPolicy::kReassociate));
}

}  // namespace
}  // namespace mdh::wide_sums_test
