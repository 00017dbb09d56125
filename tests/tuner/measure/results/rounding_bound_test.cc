// Sums in any order are right, and those that add or multiply in narrower types are not.
#include "tuner/measure/results/rounding_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tuner/measure/results/comparison.h"

namespace mdh::rounding_bound_test {
namespace {

constexpr int64_t kLong = 50'257;

Expression Sum(const char* type, const char* term, int64_t length = kLong) {
  const std::string text =
      std::string(
          "total< | N> := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,N>( f, (++, +) ) o "
          "inp_view<") +
      type + ">( x: (i,k) -> (i,k) ) where f(x) -> y { y = " + term + " }";
  const auto sum = ParseExpression(text, {{"N", std::to_string(length)}});
  EXPECT_TRUE(sum.ok()) << sum.status();
  return *sum;
}

std::vector<float> Drawn(InputDistribution distribution, int64_t count, uint64_t seed = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  FillRandom(distribution, ScalarType::kFloat32,
             {reinterpret_cast<std::byte*>(values.data()), count, 4}, 1, seed);
  return values;
}

// What is added of rows of `values`, and how.
struct Adder {
  std::function<double(double)> term = [](double x) { return x; };
  std::function<double(double)> round = [](double x) { return static_cast<float>(x); };
};

std::vector<float> RowSums(const std::vector<float>& values, const Adder& adder) {
  std::vector<float> sums;
  const size_t length = values.size() / 4;
  for (size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (size_t k = 0; k < length; ++k) {
      sum = adder.round(sum + adder.term(values[row * length + k]));
    }
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

bool IsRight(const Expression& sum, InputDistribution distribution, const std::vector<float>& exact,
             const std::vector<float>& got) {
  std::vector<std::byte> bytes(exact.size() * sizeof(float));
  std::memcpy(bytes.data(), exact.data(), bytes.size());
  const std::vector<double> distinct = DistinctValues(distribution, sum);
  const ReferenceBuffer reference =
      MakeReference(sum, 0, std::move(bytes), kDefaultTolerance, 1, distinct);
  return !FirstMismatch(reference, reinterpret_cast<const std::byte*>(got.data()), std::byte{0xFF});
}

double Exact(double x) { return x; }
double InHalf(double x) { return ScalarValue::Real(ScalarType::kFloat16, x).as_double(); }
double InBf16(double x) { return ScalarValue::Real(ScalarType::kBfloat16, x).as_double(); }
// As tensor cores read fp32: 10 bits of the fraction.
double InTf32(double x) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  return std::bit_cast<float>((bits + 0x1000) & ~uint32_t{0x1FFF});
}
double Exponential(double x) { return static_cast<float>(std::exp(x)); }

// exp of 17 values, added in the order of the elements, is off by more than the square root says.
TEST(RoundingBound, TermsThatAreOftenEqualAreRoundedAlike) {
  const Expression sum = Sum("fp32", "exp(x)");
  const std::vector<float> quarters = Drawn(InputDistribution::kQuarters, 4 * kLong);
  const std::vector<float> exact = RowSums(quarters, {Exponential, Exact});
  const std::vector<float> in_order = RowSums(quarters, {.term = Exponential});
  EXPECT_TRUE(IsRight(sum, InputDistribution::kQuarters, exact, in_order));
  EXPECT_FALSE(IsRight(sum, InputDistribution::kSigned, exact, in_order));
}

TEST(RoundingBound, FullMantissasInOrderAreWithinTheSquareRoot) {
  for (const auto distribution : {InputDistribution::kSigned, InputDistribution::kPositive}) {
    const std::vector<float> values = Drawn(distribution, 4 * kLong);
    for (const Adder& adder : {Adder(), Adder{.term = Exponential}}) {
      const std::vector<float> exact = RowSums(values, {adder.term, Exact});
      EXPECT_TRUE(IsRight(Sum("fp32", "x"), distribution, exact, RowSums(values, adder)));
    }
  }
}

TEST(RoundingBound, SumsInNarrowTypesAreWrong) {
  for (const int64_t length : {int64_t{256}, kLong}) {
    for (const auto distribution : {InputDistribution::kSigned, InputDistribution::kPositive}) {
      std::vector<float> halves = Drawn(distribution, 4 * length);
      for (float& x : halves) x = static_cast<float>(InHalf(x));
      const std::vector<float> exact = RowSums(halves, {.round = Exact});
      const Expression sum = Sum("fp16", "fp32(x)", length);
      EXPECT_TRUE(IsRight(sum, distribution, exact, RowSums(halves, Adder())));
      EXPECT_FALSE(IsRight(sum, distribution, exact, RowSums(halves, {.round = InHalf})));
    }
  }
}

TEST(RoundingBound, ProductsOfRoundedFactorsAreWrong) {
  const Expression product = *ParseExpression(
      "product := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,4096>( f, (++, +) ) o "
      "inp_view<fp32,fp32>( a: (i,k) -> (i,k), b: (i,k) -> (k) ) where f(a, b) -> y { y = a * b }");
  const std::vector<float> a = Drawn(InputDistribution::kSigned, 4 * 4096, 1);
  const std::vector<float> b = Drawn(InputDistribution::kSigned, 4096, 2);
  const auto products = [&](double (*of)(double)) {
    std::vector<float> all;
    for (size_t n = 0; n < a.size(); ++n) {
      all.push_back(static_cast<float>(of(a[n]) * of(b[n % 4096])));
    }
    return all;
  };
  const std::vector<float> exact = RowSums(products(Exact), {.round = Exact});
  const auto is_right = [&](double (*of)(double)) {
    return IsRight(product, InputDistribution::kSigned, exact, RowSums(products(of), Adder()));
  };
  EXPECT_TRUE(is_right(Exact));
  EXPECT_FALSE(is_right(InTf32));
  EXPECT_FALSE(is_right(InBf16));
}

TEST(RoundingBound, CountsWhatTermsComeFrom) {
  const auto bound = [](const Expression& e, InputDistribution distribution) {
    return RoundingBound(e, 0, DistinctValues(distribution, e));
  };
  const double root = 16 + 2 * std::sqrt(kLong);
  const auto is_tight = [&](const char* type, const char* term) {
    // Integers are drawn from 17 with signs.
    const auto drawn =
        std::string(type) == "int32" ? InputDistribution::kPositive : InputDistribution::kSigned;
    return bound(Sum(type, term), drawn) < root + 100;
  };
  EXPECT_TRUE(is_tight("fp32", "exp(x)"));
  EXPECT_TRUE(is_tight("fp32", "x > 0 ? x : 0.0"));
  EXPECT_TRUE(is_tight("fp32", "max(x, 0.0)"));
  EXPECT_FALSE(is_tight("fp32", "x > 0 ? 0.1 : 0.3"));
  EXPECT_FALSE(is_tight("fp32", "floor(x) * 0.1"));
  EXPECT_TRUE(is_tight("fp32", "x * fp32(k)"));
  EXPECT_TRUE(is_tight("int32", "exp(fp32(x))"));
  EXPECT_FALSE(is_tight("int32", "exp(fp32(x % 7))"));
  EXPECT_FALSE(is_tight("int32", "exp(fp32(x / 1000000000))"));
  EXPECT_FALSE(is_tight("int32", "exp(fp32(5 & x))"));
  EXPECT_FALSE(is_tight("fp32", "exp(fp32(int32(x * 4)))"));
  EXPECT_FALSE(is_tight("bf16", "exp(fp32(x))"));
  EXPECT_FALSE(is_tight("int8", "exp(fp32(x))"));
  // The same values again and again; halves times halves are many.
  EXPECT_FALSE(is_tight("fp16", "fp32(x) * fp32(x)"));
  const Expression outer = *ParseExpression(
      "outer := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,50257>( f, (++, +) ) o "
      "inp_view<bf16,bf16>( a: (i,k) -> (k), b: (i,k) -> (k) ) "
      "where f(a, b) -> (y: fp32) { y = fp32(a) * fp32(b) }");
  EXPECT_LT(bound(outer, InputDistribution::kSigned), root + 1000);
  // What is the same along the sum adds nothing; it is never more than the worst case.
  const Expression constant = *ParseExpression(
      "constant := out_view<fp32>( y: (i,k) -> (i) ) o md_hom<4,50257>( f, (++, +) ) o "
      "inp_view<fp32>( a: (i,k) -> (i) ) where f(a) -> y { y = 0.1 * a }");
  EXPECT_DOUBLE_EQ(bound(constant, InputDistribution::kSigned), root + kLong);
}

// One value and small integers, added 4096 times: the same remainder is rounded off again and
// again.
TEST(RoundingBound, IndicesBesideOneValueAreRoundedAlike) {
  for (const char* const index : {"j % 3", "j", "j / 5", "2 * j + i"}) {
    const Expression sum = *ParseExpression(
        std::string("sum := out_view<fp32>( y: (i,j) -> (i) ) o md_hom<4,4096>( f, (++, +) ) o "
                    "inp_view<fp32>( x: (i,j) -> (i) ) where f(x) -> y { y = x + fp32(") +
        index + ") }");
    EXPECT_GE(RoundingBound(sum, 0, DistinctValues(InputDistribution::kPositive, sum)), 4096);
  }
}

TEST(RoundingBound, ResultsHaveTheValuesOfTheirTerms) {
  const Expression exponentials = *ParseExpression(
      "e := out_view<fp32>( e: (i,k) -> (i,k) ) o md_hom<4,8>( f, (++, ++) ) o "
      "inp_view<fp32,fp32>( x: (i,k) -> (i,k), m: (i,k) -> (i) ) "
      "where f(x, m) -> e { e = exp(x - m) }");
  EXPECT_EQ(DistinctResults(exponentials, std::vector<double>{17, 1e6})[0], 17);
  EXPECT_EQ(DistinctResults(exponentials, std::vector<double>{1e6, 17})[0], 1e6);
}

}  // namespace
}  // namespace mdh::rounding_bound_test
