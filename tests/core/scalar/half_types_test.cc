// fp16 and bf16: all 65,536 patterns of bits, and what lies between them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/scalar/scalar_function.h"
#include "core/scalar/scalar_value.h"

namespace mdh::half_types_test {
namespace {

// The value of a pattern by the definition of the format.
double Decoded(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
}

struct HalfType {
  ScalarType type;
  int exponent_bits;
};
constexpr HalfType kHalfTypes[] = {{ScalarType::kFloat16, 5}, {ScalarType::kBfloat16, 8}};

uint16_t Bits(const ScalarValue& value) {
  uint16_t bits = 0;
  value.Store(&bits);
  return bits;
}

TEST(HalfTypesTest, EveryPatternIsReadByTheDefinitionAndWrittenBack) {
  for (const auto& [type, exponent_bits] : kHalfTypes) {
    for (int pattern = 0; pattern < 65536; ++pattern) {
      const auto bits = static_cast<uint16_t>(pattern);
      const double expected = Decoded(bits, exponent_bits);
      const ScalarValue value = ScalarValue::Load(type, &bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value.as_double())) << pattern;
        ASSERT_TRUE(std::isnan(Decoded(Bits(value), exponent_bits))) << pattern;
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint64_t>(value.as_double()), std::bit_cast<uint64_t>(expected))
          << pattern;
      ASSERT_EQ(Bits(value), bits);
    }
  }
}

// Between two neighbours the nearer one counts, and in the middle the one with an even pattern.
TEST(HalfTypesTest, NumbersBetweenTwoPatternsAreRoundedToTheNearest) {
  for (const auto& [type, exponent_bits] : kHalfTypes) {
    const int infinity = ((1 << exponent_bits) - 1) << (15 - exponent_bits);
    for (int pattern = 0; pattern + 1 < infinity; ++pattern) {
      const auto low = static_cast<uint16_t>(pattern), high = static_cast<uint16_t>(pattern + 1);
      const double a = Decoded(low, exponent_bits), b = Decoded(high, exponent_bits);
      const double middle = (a + b) / 2;
      const uint16_t even = pattern % 2 == 0 ? low : high;
      // fp32 holds the middle, and numbers next to it, of all but the smallest bf16.
      ASSERT_EQ(Bits(ScalarValue::Real(type, middle)), even) << pattern;
      const auto single = static_cast<float>(middle);
      if (single != middle) continue;
      ASSERT_EQ(Bits(ScalarValue::Real(type, std::nextafterf(single, 0))), low) << pattern;
      ASSERT_EQ(Bits(ScalarValue::Real(type, std::nextafterf(single, INFINITY))), high) << pattern;
      ASSERT_EQ(Bits(ScalarValue::Real(type, -middle)), even | 0x8000) << pattern;
    }
  }
}

TEST(HalfTypesTest, WhatIsTooLargeBecomesInfinite) {
  const auto real = [](ScalarType type, double value) {
    return ScalarValue::Real(type, value).as_double();
  };
  EXPECT_EQ(real(ScalarType::kFloat16, 65504), 65504);
  EXPECT_EQ(real(ScalarType::kFloat16, 65519), 65504);
  EXPECT_EQ(real(ScalarType::kFloat16, 65520), INFINITY);
  EXPECT_EQ(real(ScalarType::kFloat16, -1e10), -INFINITY);
  EXPECT_EQ(real(ScalarType::kBfloat16, 3.4e38), INFINITY);
  EXPECT_EQ(real(ScalarType::kFloat16, 1e-9), 0);
  EXPECT_TRUE(std::signbit(real(ScalarType::kFloat16, -1e-9)));
}

TEST(HalfTypesTest, OperationsRoundAfterComputingInSinglePrecision) {
  const auto add = [](ScalarType type, double a, double b) {
    return Apply(ScalarOp::kAdd, type, {ScalarValue::Real(type, a), ScalarValue::Real(type, b)})
        .as_double();
  };
  EXPECT_EQ(add(ScalarType::kFloat16, 2048, 1), 2048);
  EXPECT_EQ(add(ScalarType::kFloat16, 2048, 3), 2052);
  EXPECT_EQ(add(ScalarType::kBfloat16, 256, 1), 256);
  EXPECT_EQ(add(ScalarType::kFloat16, 65504, 65504), INFINITY);
  const ScalarValue third = Apply(
      ScalarOp::kDiv, ScalarType::kFloat16,
      {ScalarValue::Real(ScalarType::kFloat16, 1), ScalarValue::Real(ScalarType::kFloat16, 3)});
  EXPECT_EQ(third.as_double(), 0.333251953125);
}

TEST(HalfTypesTest, ConversionsSaturateAndRound) {
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
  EXPECT_EQ(cast(ScalarType::kBool, ScalarValue::Real(ScalarType::kBfloat16, 0.5)),
            ScalarValue::Bool(true));
}

}  // namespace
}  // namespace mdh::half_types_test
