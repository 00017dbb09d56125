#include "codegen/bounds/certain_work.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/bounds/pipeline_work.h"
#include "core/pipeline/split_contraction.h"
#include "core/text/pipeline_parser.h"
#include "core/text/printer.h"
#include "tests/codegen/bounds/counting_interpreter.h"
#include "tests/fresh_seed.h"
#include "tests/random_expression.h"
#include "tests/shipped_expression.h"

namespace mdh::certain_work_test {
namespace {

Expression Parsed(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

// y = value for fp32 inputs x, reduced over k by the operator.
Expression OfValue(const std::string& value, const std::string& combine = "++") {
  return Parsed("e<| I = 8, K = 100> := out_view<fp32>( y: (i,k) -> (" +
                std::string(combine == "++" ? "i,k" : "i") + ") ) o md_hom<I,K>( f, (++, " +
                combine + ") ) o inp_view<fp32,fp32>( a: (i,k) -> (i,k), b: (i,k) -> (k) ) " +
                "where f(a, b) -> y { y = " + value + " }");
}

ArithmeticWork Vector(const Expression& expression) {
  return CertainWorkOf(expression).of(RealKind::kSingle);
}

TEST(CertainWork, AProductIsAContraction) {
  const CertainWork work =
      CertainWorkOf(Shipped("matmul.mdh", {{"I", "10"}, {"J", "20"}, {"K", "30"}}));
  EXPECT_EQ(work.contraction, (ArithmeticWork{.multiplications = 6000, .additions = 6000 - 200}));
  EXPECT_EQ(work.of(RealKind::kSingle), ArithmeticWork());
  EXPECT_EQ(work.read_bytes, 4 * (10 * 30 + 30 * 20));
  EXPECT_EQ(work.written_bytes, 4 * 10 * 20);
}

TEST(CertainWork, EqualResultsCountOnce) {
  const Expression gram = Parsed(R"(
    e := out_view<fp32>( y: (i,j,k) -> (i,j) ) o md_hom<8,8,100>( f, (++, ++, +) ) o
      inp_view<fp32>( x: (i,j,k) -> (i,k), (i,j,k) -> (j,k) ) where f(a, b) -> y { y = a * b })");
  EXPECT_EQ(CertainWorkOf(gram).contraction,
            (ArithmeticWork{.multiplications = 36 * 100, .additions = 36 * 99}));
}

TEST(CertainWork, OperationsCountOnceForEqualElements) {
  EXPECT_EQ(Vector(OfValue("a * (b + 1)")),
            (ArithmeticWork{.multiplications = 800, .additions = 100}));
  EXPECT_EQ(Vector(OfValue("a * exp(b)", "max")),
            (ArithmeticWork{.multiplications = 800, .others = 800 - 8, .special = 100}));
}

TEST(CertainWork, WindowsOverlap) {
  const Expression windows = Parsed(R"(
    e<| P = 10, R = 4> := out_view<fp32>( y: (p,r) -> (p) ) o md_hom<P,R>( f, (++, max) ) o
      inp_view<fp32>( a: (p,r) -> (p+r) ) where f(a) -> y { y = exp(a) })");
  // 13 elements; of those the 10 that one r sees are certain.
  EXPECT_EQ(Vector(windows).special, 10);
  EXPECT_EQ(Vector(windows).others, 10 * 3);
}

TEST(CertainWork, WhatMayNotBeAskedForIsNotCertain) {
  EXPECT_EQ(Vector(OfValue("a > b ? a * b : b")), ArithmeticWork());
  EXPECT_EQ(Vector(OfValue("(a * b > 1 && a + b > 2) ? a : b")), ArithmeticWork());
  EXPECT_EQ(Vector(OfValue("a * b > 1 ? a : b")).multiplications, 800);
  // Neutral elements need not be added.
  EXPECT_EQ(Vector(OfValue("a > b ? a : 0", "+")), ArithmeticWork());
}

TEST(CertainWork, ResultsByKeyAreOneOperationForEachElementAtMost) {
  const Expression histogram = Shipped("gen_histo.mdh", {{"E", "1048576"}, {"B", "4096"}});
  EXPECT_LE(CertainWorkOf(histogram).operations(), 1 << 20);
}

TEST(CertainWork, WhatIsOutsideOfABufferIsNoWork) {
  const Expression padded = Parsed(R"(
    e<| I = 100> := out_view<fp32>( y: (i) -> (i) ) o md_hom<I>( f, (++) ) o
      inp_view<fp32>( a[98] else 0: (i) -> (i - 2), (i) -> (i + 3) )
    where f(l, r) -> y { y = l * r })");
  EXPECT_EQ(Vector(padded).multiplications, 98 - 3 - 2);
}

TEST(CertainWork, InputsOfTheStoreFunctionHaveBoundariesToo) {
  const auto padded = [](const std::string& boundary) {
    return Vector(
        Parsed(absl::StrCat("e<| I = 100> := out_view<fp32>( y: (i) -> (i) ) o md_hom<I>( f, (++), "
                            "store s<fp32>( bias[97] else ",
                            boundary,
                            ": (i) -> (i) ) ) o inp_view<fp32>( a: (i) -> (i) ) "
                            "where f(a) -> r { r = a }, s(r, bias) -> y { y = sqrt(bias) + r }")));
  };
  // Elements that a clamped index reaches again have one root; so has a constant none.
  EXPECT_EQ(padded("clamp").special, 97);
  EXPECT_EQ(padded("0").special, 97);
  EXPECT_LE(padded("clamp").additions, 100);
}

TEST(CertainWork, AnEmptyComputationDoesNothing) {
  EXPECT_EQ(
      CertainWorkOf(Shipped("matmul.mdh", {{"I", "10"}, {"J", "0"}, {"K", "30"}})).operations(), 0);
}

// ---- Regrouped products ----

TEST(CertainWork, ProductsOfThreeCountAsTheBestOrderOfSumsDoes) {
  // In two steps 3 * 7 * 11 + 3 * 11 * 2 multiplications, or 7 * 11 * 2 + 3 * 7 * 2.
  const Expression chain = Parsed(R"(
    chain<| I = 3, J = 7, K = 11, L = 2> :=
      out_view<fp32>( y: (i,j,k,l) -> (i,l) ) o md_hom<I,J,K,L>( f, (++, +, +, ++) ) o
      inp_view<fp32,fp32,fp32>( a: (i,j,k,l) -> (i,j), b: (i,j,k,l) -> (j,k), c: (i,j,k,l) -> (k,l) )
    where f(a, b, c) -> y { y = a * b * c })");
  const ArithmeticWork of_chain =
      CertainWorkOf(chain).of(RealKind::kSingle) + CertainWorkOf(chain).contraction;
  EXPECT_LE(of_chain.multiplications, 7 * 11 * 2 + 3 * 7 * 2);
  EXPECT_GE(of_chain.multiplications, 7 * 11 * 2);
  EXPECT_LE(of_chain.additions, 7 * 10 * 2 + 3 * 6 * 2);
  const Expression mttkrp = Shipped("mttkrp.mdh");
  const double points = static_cast<double>(mttkrp.points());
  EXPECT_EQ(CertainWorkOf(mttkrp).contraction.multiplications, points);
}

double Multiplications(const Expression& e) {
  const CertainWork work = CertainWorkOf(e);
  double sum = work.contraction.multiplications;
  for (const RealKind kind : kRealKinds) sum += work.of(kind).multiplications;
  return sum;
}

TEST(CertainWork, QuotientsInSumsAreNoMultiplications) {
  const auto summed = [](const std::string& value) {
    return Multiplications(Parsed(absl::StrCat(R"(
    e<| I = 31, J = 3> := out_view<fp32>( y: (i,j) -> (j) ) o md_hom<I,J>( f, (+, ++) ) o
      inp_view<fp32,fp32,fp32>( a: (i,j) -> (i), b: (i,j) -> (i), c: (i,j) -> (i) )
    where f(a, b, c) -> y { y = )",
                                               value, " }")));
  };
  EXPECT_EQ(summed("a / b"), 0);
  EXPECT_EQ(summed("a * b / c"), 0);
  EXPECT_GE(summed("a * b * c"), 31);
}

TEST(CertainWork, NoSplitOfASumHasLess) {
  const Expression whole = Shipped("mttkrp.mdh", {{"I", "5"}, {"J", "7"}, {"K", "9"}, {"L", "3"}});
  const Result<Pipeline> split = SplitContraction(Pipeline::Of(whole), 0);
  ASSERT_TRUE(split.ok()) << split.status();
  double sum = 0;
  for (const PipelineStep& step : split->steps()) sum += Multiplications(step.expression);
  EXPECT_LE(Multiplications(whole), sum);
}

// ---- Random expressions ----

TEST(CertainWork, IsNeverMoreThanTheMostCarefulProgramDoes) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  RandomExpressionOptions options;
  options.max_points = 100;
  options.exact = false;
  int with_certain = 0, with_counted = 0;
  for (int n = 0; n < 100; ++n) {
    const Expression e = RandomExpression(rng, options);
    const CertainWork counted = CountWork(e, RandomInputs(rng, e));
    const CertainWork certain = CertainWorkOf(e);
    for (const RealKind kind : kRealKinds) {
      ArithmeticWork work = certain.of(kind);
      if (kind == certain.contracted) work = work + certain.contraction;
      const ArithmeticWork& done = counted.of(kind);
      EXPECT_LE(work.multiplications, done.multiplications) << ToText(e);
      EXPECT_LE(work.additions, done.additions) << ToText(e);
      EXPECT_LE(work.others, done.others) << ToText(e);
      EXPECT_LE(work.special, done.special) << ToText(e);
    }
    with_certain += certain.operations() > 0 ? 1 : 0;
    with_counted += counted.operations() > 0 ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  // It is not sound by counting nothing.
  EXPECT_GT(with_certain, 0.25 * with_counted);
}

// ---- Pipelines ----

ComputationWork OfPipeline(const std::string& text) {
  Result<Pipeline> pipeline = ParsePipeline(text);
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  return WorkOfComputation(*pipeline);
}

double Operations(const ComputationWork& work) {
  double sum = 0;
  for (const StepWork& step : work.steps) sum += step.work.operations();
  return sum;
}

const std::string kProduct = R"(
  product<| I, J, K> := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, (++, ++, +) ) o
    inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
  where f(A, B) -> C { C = A * B })";
const std::string kRoot = R"(
  root<| I, J> := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
    inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = sqrt(x) })";
const std::string kCorner = R"(
  corner<| I, J> := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
    inp_view<fp32>( x[9, 9]: (i,j) -> (i,j) ) where f(x) -> y { y = x * 0.5 })";

TEST(PipelineWork, StepsAddUpAndTemporariesAreNotMoved) {
  const ComputationWork work = OfPipeline(
      "p := pipeline(a, b) -> y {\n"
      "c = product<| 9, 9, 5>(a, b);\n"
      "y = root<| 9, 9>(c) }\n" +
      kProduct + kRoot);
  EXPECT_EQ(work.read_bytes, 4 * 2 * 45);
  EXPECT_EQ(work.written_bytes, 4 * 81);
  EXPECT_EQ(Operations(work), 81 * 5 + 81 * 4 + 81);
}

TEST(PipelineWork, ElementsThatNobodyNeedsAreNotCertain) {
  const ComputationWork work = OfPipeline(
      "p := pipeline(a, b) -> y {\n"
      "c = product<| 9, 9, 5>(a, b);\n"
      "y = corner<| 3, 3>(c) }\n" +
      kProduct + kCorner);
  EXPECT_EQ(Operations(work), 9);
  EXPECT_EQ(work.read_bytes, 0);
}

TEST(PipelineWork, ProductsOfProductsMayBeMultipliedInAnotherOrder) {
  const ComputationWork work = OfPipeline(
      "p := pipeline(a, b, d) -> y {\n"
      "c = product<| 2, 2, 9>(a, b);\n"
      "y = product<| 2, 9, 2>(c, d) }\n" +
      kProduct);
  EXPECT_EQ(Operations(work), 0);
  EXPECT_EQ(work.read_bytes, 4 * 18 * 3);
}

TEST(PipelineWork, AProductAndASumMayBecomeOneContraction) {
  const ComputationWork work = OfPipeline(
      "p := pipeline(a, b) -> y {\n"
      "c = times<| 9, 9>(a, b);\n"
      "y = total<| 9, 9>(c) }\n" +
      std::string(R"(
  times<| I, J> := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
    inp_view<fp32,fp32>( a: (i,j) -> (i,j), b: (i,j) -> (j) ) where f(a, b) -> y { y = a * b }
  total<| I, J> := out_view<fp32>( y: (i,j) -> (i) ) o md_hom<I,J>( f, (++, +) ) o
    inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x })"));
  EXPECT_EQ(Operations(work), 0);
}

TEST(PipelineWork, StepsThatReadTheSameMayShareOperations) {
  const ComputationWork work = OfPipeline(
      "p := pipeline(a) -> (y, z) {\n"
      "y = root<| 9, 9>(a);\n"
      "z = root<| 9, 9>(a) }\n" +
      kRoot);
  EXPECT_EQ(Operations(work), 81);
  EXPECT_EQ(work.read_bytes, 4 * 81);
  EXPECT_EQ(work.written_bytes, 2 * 4 * 81);
}

TEST(PipelineWork, APipelineOfOneStepIsItsExpression) {
  const Expression product = Shipped("matmul.mdh");
  const ComputationWork one = WorkOfComputation(product),
                        all = WorkOfComputation(Pipeline::Of(product));
  EXPECT_EQ(Operations(one), Operations(all));
  EXPECT_EQ(one.read_bytes, all.read_bytes);
  EXPECT_EQ(one.written_bytes, all.written_bytes);
}

}  // namespace
}  // namespace mdh::certain_work_test
