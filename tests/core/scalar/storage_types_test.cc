// Types that exist in memory only - fp16, bf16, fp8e4m3, fp8e5m2: all patterns of bits, and what
// lies between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/scalar/scalar_function.h"
#include "core/scalar/scalar_value.h"

namespace mdh::storage_types_test {
namespace {

// A format by its definition.
struct Format {
  ScalarType type;
  int exponent_bits, fraction_bits;
  bool has_infinities;

  int bits() const { return exponent_bits + fraction_bits; }  // but the sign
  uint32_t sign() const { return uint32_t{1} << bits(); }
  // Those of numbers that are not negative.
  uint32_t finite() const {
    return has_infinities ? ((uint32_t{1} << exponent_bits) - 1) << fraction_bits : sign() - 1;
  }
};
constexpr Format kFormats[] = {{ScalarType::kFloat16, 5, 10, true},
                               {ScalarType::kBfloat16, 8, 7, true},
                               {ScalarType::kFloat8E4m3, 4, 3, false},
                               {ScalarType::kFloat8E5m2, 5, 2, true}};

double Decoded(const Format& format, uint32_t bits) {
  const int exponent =
      static_cast<int>(bits >> format.fraction_bits & ((1u << format.exponent_bits) - 1));
  const int fraction = static_cast<int>(bits & ((1u << format.fraction_bits) - 1));
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double sign = bits & format.sign() ? -1 : 1;
  const uint32_t magnitude = bits & (format.sign() - 1);
  if (magnitude >= format.finite()) {
    return format.has_infinities && magnitude == format.finite()
               ? sign * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  }
  const double significand = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
  return sign *
         std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - format.fraction_bits);
}

uint32_t Bits(const ScalarValue& value) {
  uint32_t bits = 0;
  value.Store(&bits);
  return bits;
}

double Real(ScalarType type, double value) { return ScalarValue::Real(type, value).as_double(); }

TEST(StorageTypesTest, EveryPatternIsReadByTheDefinitionAndWrittenBack) {
  for (const Format& format : kFormats) {
    for (uint32_t pattern = 0; pattern < 2 * format.sign(); ++pattern) {
      const double expected = Decoded(format, pattern);
      const ScalarValue value = ScalarValue::Load(format.type, &pattern);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value.as_double())) << pattern;
        ASSERT_TRUE(std::isnan(Decoded(format, Bits(value)))) << pattern;
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint64_t>(value.as_double()), std::bit_cast<uint64_t>(expected))
          << pattern;
      ASSERT_EQ(Bits(value), pattern);
    }
  }
}

// Between two neighbours the nearer one counts, and in the middle the one with an even pattern.
TEST(StorageTypesTest, NumbersBetweenTwoPatternsAreRoundedToTheNearest) {
  for (const Format& format : kFormats) {
    for (uint32_t low = 0; low + 1 < format.finite(); ++low) {
      const uint32_t high = low + 1, even = low % 2 == 0 ? low : high;
      const double middle = (Decoded(format, low) + Decoded(format, high)) / 2;
      const auto bits = [&](double value) { return Bits(ScalarValue::Real(format.type, value)); };
      // fp32 holds the middle, and numbers next to it, of all but the smallest bf16.
      ASSERT_EQ(bits(middle), even) << low;
      const auto single = static_cast<float>(middle);
      if (single != middle) continue;
      ASSERT_EQ(bits(std::nextafterf(single, 0)), low) << low;
      ASSERT_EQ(bits(std::nextafterf(single, INFINITY)), high) << low;
      ASSERT_EQ(bits(-middle), even | format.sign()) << low;
    }
  }
}

// Every fp16 and every bf16, which go far beyond them, by a search for the nearest number.
TEST(StorageTypesTest, NumbersOfLongerTypesBecomeTheNearestNumber) {
  for (const Format& format : {kFormats[2], kFormats[3]}) {
    std::vector<double> numbers;
    for (uint32_t n = 0; n < format.finite(); ++n) numbers.push_back(Decoded(format, n));
    for (const Format& from : {kFormats[0], kFormats[1]}) {
      for (uint32_t pattern = 0; pattern < 2 * from.sign(); ++pattern) {
        const double value = Decoded(from, pattern);
        const double found = Real(format.type, value);
        if (std::isnan(value) || (std::isinf(value) && format.has_infinities)) {
          ASSERT_TRUE(std::isnan(value) ? std::isnan(found) : found == value) << value;
          continue;
        }
        const double magnitude = std::min(std::abs(value), numbers.back());
        size_t best = 0;
        for (size_t other = 0; other < numbers.size(); ++other) {
          const double was = std::abs(numbers[best] - magnitude);
          const double is = std::abs(numbers[other] - magnitude);
          if (is < was || (is == was && other % 2 == 0)) best = other;
        }
        ASSERT_EQ(found, std::copysign(numbers[best], value)) << value;
        ASSERT_EQ(std::signbit(found), std::signbit(value)) << value;
      }
    }
  }
}

TEST(StorageTypesTest, WhatIsTooLargeBecomesInfiniteOrTheLargestNumber) {
  EXPECT_EQ(Real(ScalarType::kFloat16, 65504), 65504);
  EXPECT_EQ(Real(ScalarType::kFloat16, 65519), 65504);
  EXPECT_EQ(Real(ScalarType::kFloat16, 65520), INFINITY);
  EXPECT_EQ(Real(ScalarType::kFloat16, -1e10), -INFINITY);
  EXPECT_EQ(Real(ScalarType::kBfloat16, 3.4e38), INFINITY);
  EXPECT_EQ(Real(ScalarType::kFloat16, 1e-9), 0);
  EXPECT_TRUE(std::signbit(Real(ScalarType::kFloat16, -1e-9)));
  EXPECT_EQ(Real(ScalarType::kFloat8E4m3, 1e10), 448);
  EXPECT_EQ(Real(ScalarType::kFloat8E4m3, -INFINITY), -448);
  EXPECT_EQ(Real(ScalarType::kFloat8E5m2, 1e10), 57344);
  EXPECT_EQ(Real(ScalarType::kFloat8E5m2, -1e300), -INFINITY) << "infinite in fp32 already";
  EXPECT_EQ(Real(ScalarType::kFloat8E5m2, INFINITY), INFINITY);
}

TEST(StorageTypesTest, PropertiesFollowFromTheFormat) {
  EXPECT_EQ(LargestFinite(ScalarType::kFloat64), std::numeric_limits<double>::max());
  EXPECT_EQ(LargestFinite(ScalarType::kFloat32), double{std::numeric_limits<float>::max()});
  EXPECT_EQ(SmallestNormal(ScalarType::kFloat32), double{std::numeric_limits<float>::min()});
  EXPECT_EQ(Epsilon(ScalarType::kFloat64), std::numeric_limits<double>::epsilon());
  EXPECT_EQ(LargestFinite(ScalarType::kFloat8E4m3), 448);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(WithoutInfinity(ScalarType::kFloat16, -kInfinity), -65520);
  EXPECT_EQ(WithoutInfinity(ScalarType::kFloat16, 7), 7);
  EXPECT_EQ(WithoutInfinity(ScalarType::kFloat32, kInfinity), 0x1.ffffffp127);
  EXPECT_EQ(LargestFinite(ScalarType::kFloat8E5m2), 57344);
  EXPECT_EQ(SmallestNormal(ScalarType::kFloat8E4m3), 0x1p-6);
  EXPECT_EQ(Epsilon(ScalarType::kFloat8E5m2), 0.25);
}

TEST(StorageTypesTest, NumbersBeyondTheLargestAreKnown) {
  EXPECT_FALSE(ScalarValue::IsTooLarge(ScalarType::kFloat16, 65519));
  EXPECT_TRUE(ScalarValue::IsTooLarge(ScalarType::kFloat16, -65520));
  EXPECT_FALSE(ScalarValue::IsTooLarge(ScalarType::kFloat16, INFINITY));
  EXPECT_FALSE(ScalarValue::IsTooLarge(ScalarType::kFloat8E4m3, 464));
  EXPECT_TRUE(ScalarValue::IsTooLarge(ScalarType::kFloat8E4m3, 465));
  EXPECT_TRUE(ScalarValue::IsTooLarge(ScalarType::kFloat8E4m3, -INFINITY));
  EXPECT_TRUE(ScalarValue::IsTooLarge(ScalarType::kFloat8E5m2, 61440));
  EXPECT_FALSE(ScalarValue::IsTooLarge(ScalarType::kFloat64, 1e308));
  EXPECT_FALSE(ScalarValue::IsTooLarge(ScalarType::kFloat8E4m3, NAN));
}

TEST(StorageTypesTest, OperationsRoundAfterComputingInSinglePrecision) {
  const auto add = [](ScalarType type, double a, double b) {
    return Apply(ScalarOp::kAdd, type, {ScalarValue::Real(type, a), ScalarValue::Real(type, b)})
        .as_double();
  };
  EXPECT_EQ(add(ScalarType::kFloat16, 2048, 1), 2048);
  EXPECT_EQ(add(ScalarType::kFloat16, 2048, 3), 2052);
  EXPECT_EQ(add(ScalarType::kBfloat16, 256, 1), 256);
  EXPECT_EQ(add(ScalarType::kFloat16, 65504, 65504), INFINITY);
  EXPECT_EQ(add(ScalarType::kFloat8E4m3, 16, 1), 16);
  EXPECT_EQ(add(ScalarType::kFloat8E4m3, 16, 3), 20);
  EXPECT_EQ(add(ScalarType::kFloat8E4m3, 448, 448), 448);
  EXPECT_EQ(add(ScalarType::kFloat8E5m2, -57344, -57344), -57344);
  const ScalarValue third = Apply(
      ScalarOp::kDiv, ScalarType::kFloat16,
      {ScalarValue::Real(ScalarType::kFloat16, 1), ScalarValue::Real(ScalarType::kFloat16, 3)});
  EXPECT_EQ(third.as_double(), 0.333251953125);
}

TEST(StorageTypesTest, ConversionsSaturateAndRound) {
  const auto cast = [](ScalarType to, const ScalarValue& value) {
    return Apply(ScalarOp::kCast, to, {value});
  };
  EXPECT_EQ(cast(ScalarType::kInt8, ScalarValue::Real(ScalarType::kFloat16, 300)),
            ScalarValue::Integer(ScalarType::kInt8, 127));
  EXPECT_EQ(cast(ScalarType::kInt32, ScalarValue::Real(ScalarType::kFloat16, NAN)),
            ScalarValue::Integer(ScalarType::kInt32, 0));
  EXPECT_EQ(cast(ScalarType::kFloat16, ScalarValue::Integer(ScalarType::kInt32, 2049)),
            ScalarValue::Real(ScalarType::kFloat16, 2048));
  EXPECT_EQ(cast(ScalarType::kFloat16, ScalarValue::Integer(ScalarType::kInt64, 100000)),
            ScalarValue::Real(ScalarType::kFloat16, INFINITY));
  EXPECT_EQ(cast(ScalarType::kFloat8E4m3, ScalarValue::Integer(ScalarType::kInt64, -100000)),
            ScalarValue::Real(ScalarType::kFloat8E4m3, -448));
  EXPECT_EQ(cast(ScalarType::kFloat8E4m3, ScalarValue::Real(ScalarType::kFloat8E5m2, INFINITY)),
            ScalarValue::Real(ScalarType::kFloat8E4m3, 448));
  EXPECT_EQ(cast(ScalarType::kBool, ScalarValue::Real(ScalarType::kBfloat16, 0.5)),
            ScalarValue::Bool(true));
}

}  // namespace
}  // namespace mdh::storage_types_test
