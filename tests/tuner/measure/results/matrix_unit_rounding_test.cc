// What matrix units make of contractions, and what the judge says to it: sums that are cut off
// pass, operands that are rounded to fewer bits than they have do not.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"
#include "tuner/measure/results/comparison.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/measure/results/random_inputs.h"

namespace mdh::matrix_unit_rounding_test {
namespace {

constexpr int64_t kSide = 8;

// C[i,j] of side x side results.
Expression Product(ScalarType type, ScalarType combined, int64_t depth, int64_t side = kSide) {
  const absl::string_view in = Name(type), out = Name(combined);
  Result<Expression> expression = ParseExpression(
      absl::StrCat("c := out_view<", out, ">( C: (i,j,k) -> (i,j) ) o md_hom<", side, ",", side,
                   ",", depth, ">( f, (++, ++, +) ) o inp_view<", in, ",", in,
                   ">( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> (C: ", out,
                   ") { C = ", out, "(A) * ", out, "(B) }"));
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

std::vector<double> Drawn(InputDistribution distribution, ScalarType type, int64_t count,
                          uint64_t seed) {
  std::vector<std::byte> bytes(count * SizeBytes(type));
  FillRandom(distribution, type, {bytes.data(), count, SizeBytes(type)}, 100, seed);
  std::vector<double> values;
  for (int64_t n = 0; n < count; ++n) {
    values.push_back(ScalarValue::Load(type, bytes.data() + n * SizeBytes(type)).as_double());
  }
  return values;
}

// To so many bits of fraction, to nearest.
double Rounded(double value, int bits) {
  if (value == 0) return 0;
  const double unit = std::ldexp(1.0, std::ilogb(value) - bits);
  return std::nearbyint(value / unit) * unit;
}

// An fp32 with its last bits cut off.
float CutOff(double value) {
  auto single = static_cast<float>(value);
  if (std::abs(static_cast<double>(single)) > std::abs(value)) {
    single = std::nextafter(single, 0.0F);
  }
  return single;
}

struct Operands {
  std::vector<double> a, b;
};

// Results as `sum` adds up the products of row i and column j.
template <typename Sum>
std::vector<std::byte> Results(const Operands& operands, int64_t depth, ScalarType type,
                               const Sum& sum) {
  std::vector<std::byte> bytes(kSide * kSide * SizeBytes(type));
  for (int64_t i = 0; i < kSide; ++i) {
    for (int64_t j = 0; j < kSide; ++j) {
      const double value = sum(&operands.a[i * depth], &operands.b[j * depth]);
      ScalarValue::Real(type, value).Store(bytes.data() + (i * kSide + j) * SizeBytes(type));
    }
  }
  return bytes;
}

bool Passes(const Expression& expression, const std::vector<std::byte>& expected,
            const std::vector<std::byte>& got,
            NumericsPolicy numerics = NumericsPolicy::kReassociate) {
  const ReferenceBuffer reference =
      MakeReference(expression, 0, expected, kDefaultTolerance, 1, {}, numerics);
  return !FirstMismatch(reference, got.data(), std::byte{0xA5});
}

std::vector<std::byte> Expected(const Operands& operands, int64_t depth, ScalarType type) {
  return Results(operands, depth, type, [=](const double* a, const double* b) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += a[k] * b[k];
    return sum;
  });
}

// Operands of type `type` of which those of A are fine, multiplied with so many bits of fraction.
bool PassesWithBits(ScalarType type, ScalarType combined, int64_t depth, int bits) {
  const Operands operands = {Drawn(InputDistribution::kFine, type, kSide * depth, 1),
                             Drawn(InputDistribution::kQuarters, type, kSide * depth, 2)};
  const std::vector<std::byte> got =
      Results(operands, depth, combined, [=](const double* a, const double* b) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += Rounded(a[k], bits) * Rounded(b[k], bits);
        return sum;
      });
  return Passes(Product(type, combined, depth), Expected(operands, depth, combined), got);
}

TEST(MatrixUnitRounding, OperandsKeepTheirBits) {
  using enum ScalarType;
  for (const int64_t depth : {16, 256, 4096}) {
    EXPECT_TRUE(PassesWithBits(kFloat32, kFloat32, depth, 23)) << depth;
    EXPECT_FALSE(PassesWithBits(kFloat32, kFloat32, depth, 10)) << depth << ", tf32";
    EXPECT_FALSE(PassesWithBits(kFloat32, kFloat32, depth, 7)) << depth << ", bf16";
    EXPECT_TRUE(PassesWithBits(kFloat64, kFloat64, depth, 52)) << depth;
    EXPECT_FALSE(PassesWithBits(kFloat64, kFloat64, depth, 23)) << depth << ", fp32";
    EXPECT_TRUE(PassesWithBits(kFloat16, kFloat32, depth, 10)) << depth;
    EXPECT_FALSE(PassesWithBits(kFloat16, kFloat32, depth, 7)) << depth << ", bf16";
  }
}

// Eight products at a time are added to what there is, and cut off to an fp32.
bool PassesCutOff(InputDistribution distribution, int64_t depth) {
  const Operands operands = {Drawn(distribution, ScalarType::kBfloat16, kSide * depth, 3),
                             Drawn(distribution, ScalarType::kBfloat16, kSide * depth, 4)};
  const std::vector<std::byte> got =
      Results(operands, depth, ScalarType::kFloat32, [=](const double* a, const double* b) {
        float sum = 0;
        for (int64_t k = 0; k < depth; k += kLeastTruncated) {
          double part = 0;
          for (int64_t n = k; n < k + kLeastTruncated; ++n) part += a[n] * b[n];
          sum = CutOff(sum + part);
        }
        return static_cast<double>(sum);
      });
  return Passes(Product(ScalarType::kBfloat16, ScalarType::kFloat32, depth),
                Expected(operands, depth, ScalarType::kFloat32), got);
}

TEST(MatrixUnitRounding, SumsMayBeCutOff) {
  for (const int64_t depth : {64, 4096, 32768}) {
    EXPECT_TRUE(PassesCutOff(InputDistribution::kPositive, depth)) << depth;
    EXPECT_TRUE(PassesCutOff(InputDistribution::kSparse, depth)) << depth;
    EXPECT_TRUE(PassesCutOff(InputDistribution::kQuarters, depth)) << depth;
  }
}

// ---- Products of fp32 (Products of core/expression/numerics.h) ----

std::vector<double> PartsOf(double value, int count) {
  constexpr int kBits = 7;  // of the fraction of bf16
  std::vector<double> parts;
  for (int part = 0; part < count; ++part) {
    parts.push_back(Rounded(value, kBits));
    value -= parts.back();
  }
  return parts;
}

// Whether products that unit and policy make pass as those of `judged`; without number `left_out`.
bool PassesProducts(NumericsPolicy made, NumericsPolicy judged, int64_t depth, int left_out = -1) {
  using enum ScalarType;
  const Operands operands = {Drawn(InputDistribution::kSigned, kFloat32, kSide * depth, 8),
                             Drawn(InputDistribution::kSigned, kFloat32, kSide * depth, 9)};
  const Products products = ProductsOf(made);
  const auto product = [&](double a, double b) {
    if (products == Products::kTf32) return Rounded(a, 10) * Rounded(b, 10);
    const std::vector<double> of_a = PartsOf(a, mdh::PartsOf(products)),
                              of_b = PartsOf(b, mdh::PartsOf(products));
    double sum = 0;
    int number = 0;
    for (const ProductOfParts& one : ProductsOfParts(products)) {
      if (number++ != left_out) sum += of_a[one.a] * of_b[one.b];
    }
    return sum;
  };
  const std::vector<std::byte> got =
      Results(operands, depth, kFloat32, [&](const double* a, const double* b) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += product(a[k], b[k]);
        return sum;
      });
  return Passes(Product(kFloat32, kFloat32, depth), Expected(operands, depth, kFloat32), got,
                judged);
}

TEST(MatrixUnitRounding, ProductsAreAsCloseAsThePolicySays) {
  using enum NumericsPolicy;
  for (const int64_t depth : {16, 256, 4096}) {
    EXPECT_TRUE(PassesProducts(kTf32, kTf32, depth)) << depth;
    EXPECT_FALSE(PassesProducts(kTf32, kBf16x3, depth)) << depth;
    EXPECT_FALSE(PassesProducts(kTf32, kReassociate, depth)) << depth;
    EXPECT_TRUE(PassesProducts(kBf16x3, kBf16x3, depth)) << depth;
    EXPECT_TRUE(PassesProducts(kBf16x3, kTf32, depth)) << depth;
    EXPECT_TRUE(PassesProducts(kBf16x6, kBf16x6, depth)) << depth;
    EXPECT_TRUE(PassesProducts(kBf16x6, kReassociate, depth)) << depth;
    for (const int one : {0, 1}) {
      EXPECT_FALSE(PassesProducts(kBf16x3, kBf16x3, depth, one)) << depth << " without " << one;
    }
  }
  // A part of the first kind is worth as much as the bound at greater depths.
  for (const int one : {3, 4}) {
    EXPECT_FALSE(PassesProducts(kBf16x6, kBf16x6, 256, one)) << "without " << one;
  }
}

// One product that is left out is not taken for it.
TEST(MatrixUnitRounding, NothingIsLeftOut) {
  const int64_t depth = 4096;
  const Operands operands = {
      Drawn(InputDistribution::kQuarters, ScalarType::kBfloat16, kSide * depth, 5),
      Drawn(InputDistribution::kQuarters, ScalarType::kBfloat16, kSide * depth, 6)};
  const std::vector<std::byte> got =
      Results(operands, depth, ScalarType::kFloat32, [=](const double* a, const double* b) {
        double sum = 0;
        for (int64_t k = 1; k < depth; ++k) sum += a[k] * b[k];
        return sum;
      });
  EXPECT_FALSE(Passes(Product(ScalarType::kBfloat16, ScalarType::kFloat32, depth),
                      Expected(operands, depth, ScalarType::kFloat32), got));
}

// ---- Sums of fp8 ----

// As Hopper is known to do it: of up to 33 aligned numbers what lies 13 bits behind the leading one
// of the largest is cut off; `together` products are summed up so before fp32 takes over.
float SumOfFp8(const double* a, const double* b, int64_t depth, int64_t together) {
  constexpr int64_t kAtOnce = 32;
  float total = 0;
  double sum = 0;
  for (int64_t k = 0; k < depth; k += kAtOnce) {
    double largest = std::abs(sum);
    for (int64_t n = k; n < k + kAtOnce; ++n) largest = std::max(largest, std::abs(a[n] * b[n]));
    const double unit = largest == 0 ? 1 : std::ldexp(1.0, std::ilogb(largest) - 13);
    double aligned = std::trunc(sum / unit);
    for (int64_t n = k; n < k + kAtOnce; ++n) aligned += std::trunc(a[n] * b[n] / unit);
    sum = aligned * unit;
    if ((k + kAtOnce) % together == 0) total += static_cast<float>(std::exchange(sum, 0));
  }
  return total + static_cast<float>(sum);
}

TEST(MatrixUnitRounding, SumsOfFp8PassIfTheyArePromotedAndAskedFor) {
  for (const InputDistribution distribution :
       {InputDistribution::kPositive, InputDistribution::kSigned}) {
    constexpr int64_t kDepth = 8192;
    const Operands operands{Drawn(distribution, ScalarType::kFloat8E4m3, kSide * kDepth, 7),
                            Drawn(distribution, ScalarType::kFloat8E4m3, kSide * kDepth, 8)};
    const Expression e = Product(ScalarType::kFloat8E4m3, ScalarType::kFloat32, kDepth);
    const std::vector<std::byte> expected = Expected(operands, kDepth, ScalarType::kFloat32);
    const auto passes = [&](int64_t together, NumericsPolicy numerics) {
      return Passes(e, expected,
                    Results(operands, kDepth, ScalarType::kFloat32,
                            [=](const double* a, const double* b) {
                              return SumOfFp8(a, b, kDepth, together);
                            }),
                    numerics);
    };
    EXPECT_TRUE(passes(kKeptProducts, NumericsPolicy::kFp8));
    if (distribution == InputDistribution::kPositive) {
      EXPECT_FALSE(passes(kKeptProducts, NumericsPolicy::kReassociate));
      EXPECT_FALSE(passes(kDepth, NumericsPolicy::kFp8)) << "sums are never promoted";
    }
  }
}

// ---- Peaks ----

TEST(MatrixUnitPeaks, BoundWhatIsPlausible) {
  const DeviceDescription h100 = *DescribeCudaArchitecture(90);
  // As microbenchmarks of vector units find them.
  const MachinePeaks peaks = {.fp32_flops_per_s = 6.5e13,
                              .fp64_flops_per_s = 3.3e13,
                              .memory_bytes_per_s = 3e12,
                              .copy_bytes_per_s = 3e12};
  const auto rate_is_right = [&](ScalarType type, ScalarType combined, double flops_per_s,
                                 NumericsPolicy numerics = NumericsPolicy::kReassociate) {
    const Expression e = Product(type, combined, 4096, 4096);
    const double ns = CertainOperations(e) / flops_per_s * 1e9;
    const bool is_possible = !WhyImpossible(e, ns, h100, peaks, numerics);
    const bool is_plausible = !WhyImplausible(e, ns, CacheState::kWarm, h100, peaks, numerics);
    return is_possible && is_plausible;
  };
  using enum ScalarType;
  EXPECT_TRUE(rate_is_right(kFloat64, kFloat64, 5.1e13));  // 1.55 times the vector units' peak
  EXPECT_FALSE(rate_is_right(kFloat64, kFloat64, 7e13));
  EXPECT_TRUE(rate_is_right(kBfloat16, kFloat32, 9e14));
  EXPECT_FALSE(rate_is_right(kBfloat16, kFloat32, 1.2e15));
  EXPECT_FALSE(rate_is_right(kFloat32, kFloat32, 3e14));  // tf32 was not asked for
  EXPECT_TRUE(rate_is_right(kFloat32, kFloat32, 4e14, NumericsPolicy::kTf32));
  EXPECT_FALSE(rate_is_right(kFloat32, kFloat32, 6e14, NumericsPolicy::kTf32));
  EXPECT_TRUE(rate_is_right(kFloat32, kFloat32, 3e14, NumericsPolicy::kBf16x3));
  EXPECT_TRUE(rate_is_right(kFloat32, kFloat32, 1.5e14, NumericsPolicy::kBf16x6));
  EXPECT_FALSE(rate_is_right(kFloat32, kFloat32, 3e14, NumericsPolicy::kBf16x6));
  EXPECT_FALSE(rate_is_right(kFloat8E4m3, kFloat32, 1.5e15)) << "it has units for halves";
  EXPECT_TRUE(rate_is_right(kFloat8E4m3, kFloat32, 1.5e15, NumericsPolicy::kFp8));
  EXPECT_FALSE(rate_is_right(kFloat8E4m3, kFloat32, 2.5e15, NumericsPolicy::kFp8));
}

}  // namespace
}  // namespace mdh::matrix_unit_rounding_test
