#include "tuner/measure/results/comparison.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/text/parser.h"
#include "gtest/gtest.h"
#include "tests/tuner/hand_written.h"

namespace mdh::comparison_test {
namespace {

constexpr std::byte kPoison{0xFF};

template <typename T>
std::vector<std::byte> Bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
ReferenceBuffer Reference(const std::vector<T>& values, ScalarType type) {
  return MakeReference(AddExpression(static_cast<int64_t>(values.size()), type), 0, Bytes(values));
}

template <typename T>
std::optional<Mismatch> Compare(const std::vector<T>& reference, const std::vector<T>& got,
                                ScalarType type) {
  return FirstMismatch(Reference(reference, type), Bytes(got).data(), kPoison);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Comparison, EqualBytesPass) {
  EXPECT_EQ(Compare<float>({1, 2, 3}, {1, 2, 3}, ScalarType::kFloat32), std::nullopt);
  EXPECT_EQ(Compare<int32_t>({1, 2, 3}, {1, 2, 3}, ScalarType::kInt32), std::nullopt);
}

TEST(Comparison, IntegersMustBeEqual) {
  const auto mismatch = Compare<int32_t>({1, 2, 3}, {1, 2, 4}, ScalarType::kInt32);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_EQ(mismatch->element, 2);
  EXPECT_EQ(mismatch->expected, "3");
  EXPECT_EQ(mismatch->got, "4");
}

TEST(Comparison, BoolsMustBeZeroOrOneAsExpected) {
  EXPECT_TRUE(Compare<uint8_t>({1, 0}, {1, 1}, ScalarType::kBool).has_value());
  EXPECT_TRUE(Compare<uint8_t>({1, 0}, {3, 0}, ScalarType::kBool).has_value());
  EXPECT_EQ(Compare<uint8_t>({1, 0}, {1, 0}, ScalarType::kBool), std::nullopt);
}

TEST(Comparison, FloatingPointMayDifferByRounding) {
  EXPECT_EQ(Compare<float>({1.0f}, {1.000001f}, ScalarType::kFloat32), std::nullopt);
  EXPECT_TRUE(Compare<float>({1.0f}, {1.0001f}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<double>({1.0}, {1.000001}, ScalarType::kFloat64).has_value());
  EXPECT_EQ(Compare<float>({0.0f, 1.0f}, {-0.0f, 1.0f}, ScalarType::kFloat32), std::nullopt);
}

// Summed up in fp32, a result is rounded to fp16 once, however many values it has.
TEST(Comparison, ResultsOfANarrowerTypeAreRoundedOnce) {
  const Expression sums = *ParseExpression(
      "m := out_view<fp16>( y: (i,k) -> (i) ) o md_hom<2,4096>( f, (++, +) ) o "
      "inp_view<fp16>( x: (i,k) -> (i,k) ) where f(x) -> (y: fp32) { y = fp32(x) }");
  const auto bytes = [](double a, double b) {
    std::vector<std::byte> all(4);
    ScalarValue::Real(ScalarType::kFloat16, a).Store(all.data());
    ScalarValue::Real(ScalarType::kFloat16, b).Store(all.data() + 2);
    return all;
  };
  const ReferenceBuffer reference = MakeReference(sums, 0, bytes(1, 1));
  EXPECT_EQ(FirstMismatch(reference, bytes(1, 1 + 0x1p-10).data(), kPoison), std::nullopt);
  EXPECT_TRUE(FirstMismatch(reference, bytes(1, 1.01).data(), kPoison).has_value());
}

TEST(Comparison, AValueNearZeroIsJudgedByTheBuffersScale) {
  EXPECT_EQ(Compare<float>({1e-9f, 100.0f}, {1e-6f, 100.0f}, ScalarType::kFloat32), std::nullopt);
  EXPECT_TRUE(Compare<float>({1e-9f, 1e-9f}, {1e-6f, 1e-9f}, ScalarType::kFloat32).has_value());
}

TEST(Comparison, NanPassesOnlyWhereItIsExpectedAmongNumbers) {
  EXPECT_EQ(Compare<float>({1, kNan}, {1, kNan}, ScalarType::kFloat32), std::nullopt);
  EXPECT_EQ(Compare<double>({1, kNan}, {1, kNan}, ScalarType::kFloat64), std::nullopt);
  EXPECT_TRUE(Compare<float>({1, kNan}, {1, 2}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<float>({1, kNan}, {kNan, kNan}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<float>({1, 2}, {1, kNan}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<float>({1}, {kNan}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<float>({kNan}, {kNan}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Reference<float>({1, kNan}, ScalarType::kFloat32).contains_nan);
}

TEST(Comparison, InfinityPassesOnlyWhereItIsExpected) {
  EXPECT_EQ(Compare<float>({1, kInf}, {1, kInf}, ScalarType::kFloat32), std::nullopt);
  EXPECT_TRUE(Compare<float>({1, kInf}, {1, -kInf}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<float>({1, 2}, {1, kInf}, ScalarType::kFloat32).has_value());
  EXPECT_TRUE(Compare<float>({1, kInf}, {1, 3e38f}, ScalarType::kFloat32).has_value());
}

// Sums that are rounded to the largest number, or just beyond it.
TEST(Comparison, WhatIsJustTooLargeMayBeInfinity) {
  const auto halves = [](double a, double b) {
    std::vector<std::byte> all(4);
    ScalarValue::Real(ScalarType::kFloat16, a).Store(all.data());
    ScalarValue::Real(ScalarType::kFloat16, b).Store(all.data() + 2);
    return all;
  };
  const Expression sum = AddExpression(2, ScalarType::kFloat16);
  const ReferenceBuffer finite = MakeReference(sum, 0, halves(1, 65504));
  const ReferenceBuffer infinite = MakeReference(sum, 0, halves(1, kInf));
  EXPECT_EQ(FirstMismatch(finite, halves(1, kInf).data(), kPoison), std::nullopt);
  EXPECT_EQ(FirstMismatch(infinite, halves(1, 65504).data(), kPoison), std::nullopt);
  EXPECT_TRUE(FirstMismatch(finite, halves(1, -kInf).data(), kPoison).has_value());
  EXPECT_TRUE(FirstMismatch(infinite, halves(1, -65504).data(), kPoison).has_value());
  EXPECT_TRUE(FirstMismatch(infinite, halves(1, 60000).data(), kPoison).has_value());
  EXPECT_TRUE(FirstMismatch(finite, halves(kInf, 65504).data(), kPoison).has_value());
}

TEST(Comparison, ConstantResultsAreRecognized) {
  EXPECT_TRUE(IsConstant(Reference<float>({2, 2, 2}, ScalarType::kFloat32)));
  EXPECT_FALSE(IsConstant(Reference<float>({2, 2, 3}, ScalarType::kFloat32)));
  EXPECT_TRUE(IsConstant(Reference<float>({0}, ScalarType::kFloat32)));
  EXPECT_FALSE(IsConstant(Reference<float>({2}, ScalarType::kFloat32)));
}

// out[2i] = a[i] in a buffer of 2n elements: every other element is not reached.
Expression EveryOther(int64_t n, bool keeps = false, std::vector<int64_t> strides = {}) {
  const ScalarType type = ScalarType::kInt32;
  ScalarFunction f = *ScalarFunction::Create("f", {{"x", type}}, {{"z", type}},
                                             {{ScalarOp::kParameter, type, {}, 0}}, {0});
  ExpressionSpec spec{"every_other",
                      {{"i", n}},
                      {{"a", type, {}, {{{{{1}, 0}}}}}},
                      {{"out", type, {2 * n}, {{{{{2}, 0}}}}, true}},
                      std::move(f),
                      {CombineOperator::Concat()}};
  spec.outputs[0].keeps_unreached = keeps;
  spec.outputs[0].given_strides = std::move(strides);
  return *Expression::Create(std::move(spec));
}

TEST(Comparison, UnreachedElementsAreZero) {
  const ReferenceBuffer reference = MakeReference(EveryOther(2), 0, Bytes<int32_t>({5, 0, 6, 0}));
  EXPECT_TRUE(reference.is_right_itself());
  const auto compare = [&](const std::vector<int32_t>& got) {
    return FirstMismatch(reference, Bytes(got).data(), std::byte{0xFF});
  };
  EXPECT_EQ(compare({5, 0, 6, 0}), std::nullopt);
  EXPECT_EQ(compare({5, -1, 6, 0})->element, 1);  // not written
  EXPECT_EQ(compare({5, -1, 6, 0})->expected, "0, as no index function reaches it");
  EXPECT_EQ(compare({5, 7, 6, 0})->element, 1);
  EXPECT_EQ(compare({5, 0, 7, 0})->element, 2);
}

TEST(Comparison, KeptElementsAreAsTheyWere) {
  const ReferenceBuffer reference =
      MakeReference(EveryOther(2, /*keeps=*/true), 0, Bytes<int32_t>({5, 0, 6, 0}));
  EXPECT_FALSE(reference.is_right_itself());
  const auto compare = [&](const std::vector<int32_t>& got) {
    return FirstMismatch(reference, Bytes(got).data(), std::byte{0xFF});
  };
  EXPECT_EQ(compare({5, -1, 6, -1}), std::nullopt);
  EXPECT_EQ(compare({5, 0, 6, -1})->element, 1);
  EXPECT_EQ(compare({5, 0, 6, -1})->expected, "what was there");
  EXPECT_EQ(compare({4, -1, 6, -1})->element, 0);
}

TEST(Comparison, MemoryBetweenElementsIsAsItWas) {
  const ReferenceBuffer reference =
      MakeReference(EveryOther(2, false, {2}), 0, Bytes<int32_t>({5, 0, 0, 0, 6, 0, 0}));
  const auto compare = [&](const std::vector<int32_t>& got) {
    return FirstMismatch(reference, Bytes(got).data(), std::byte{0xFF});
  };
  EXPECT_EQ(compare({5, -1, 0, -1, 6, -1, 0}), std::nullopt);
  EXPECT_EQ(compare({5, 0, 0, -1, 6, -1, 0})->element, 1);
  EXPECT_EQ(compare({5, -1, -1, -1, 6, -1, 0})->element, 2);
}

TEST(Comparison, OneElementAgainstAValue) {
  const ReferenceBuffer reference = Reference<float>({1, 2}, ScalarType::kFloat32);
  EXPECT_EQ(ElementMismatch(reference, 1, 0, ScalarValue::Real(ScalarType::kFloat32, 2)),
            std::nullopt);
  EXPECT_EQ(ElementMismatch(reference, 1, 0, ScalarValue::Real(ScalarType::kFloat32, 3))->element,
            1);
}

// Large buffers are compared in pieces, by several threads.
template <typename T>
void ExpectFirstMismatchOfLargeBuffer(ScalarType type, T close, T wrong) {
  std::vector<T> values(3'500'000, T{1});
  values[0] = T{2};
  const ReferenceBuffer reference = Reference(values, type);
  std::vector<T> got = values;
  got[5] = close;
  EXPECT_EQ(FirstMismatch(reference, Bytes(got).data(), kPoison), std::nullopt);
  for (const int64_t element : {int64_t{3'499'999}, int64_t{2'097'152}, int64_t{2'000'000}}) {
    got[static_cast<size_t>(element)] = wrong;
    const auto mismatch = FirstMismatch(reference, Bytes(got).data(), kPoison);
    ASSERT_TRUE(mismatch.has_value());
    EXPECT_EQ(mismatch->element, element);
  }
}

TEST(Comparison, FindsTheFirstMismatchOfLargeBuffers) {
  ExpectFirstMismatchOfLargeBuffer<float>(ScalarType::kFloat32, 1.000001f, 1.1f);
  ExpectFirstMismatchOfLargeBuffer<float>(ScalarType::kFloat32, 1, kNan);
  ExpectFirstMismatchOfLargeBuffer<double>(ScalarType::kFloat64, 1 + 1e-15, kInf);
  ExpectFirstMismatchOfLargeBuffer<int32_t>(ScalarType::kInt32, 1, 3);
}

TEST(Comparison, LargeBuffersMayHoldInfinities) {
  std::vector<float> values(2'500'000, 1);
  values[2'400'000] = kInf;
  const ReferenceBuffer reference = Reference(values, ScalarType::kFloat32);
  EXPECT_TRUE(ContainsNonFinite(reference));
  EXPECT_FALSE(reference.contains_nan);
  values[7] = 1.000001f;
  EXPECT_EQ(FirstMismatch(reference, Bytes(values).data(), kPoison), std::nullopt);
  values[2'400'000] = -kInf;
  EXPECT_EQ(FirstMismatch(reference, Bytes(values).data(), kPoison)->element, 2'400'000);
}

TEST(Comparison, OfASampledReferenceOnlySamplesAreCompared) {
  const Expression add = AddExpression(4);
  const auto real = [](double value) { return ScalarValue::Real(ScalarType::kFloat32, value); };
  const ReferenceBuffer reference =
      MakeSampledReference(add, 0, {{1, 0, real(2)}, {3, 0, real(4)}});
  EXPECT_EQ(reference.check, ResultCheck::kSamples);
  EXPECT_FALSE(reference.is_right_itself());
  EXPECT_FALSE(IsConstant(reference));
  EXPECT_FLOAT_EQ(static_cast<float>(reference.fields[0].rms), std::sqrt(10.0f));
  const auto compare = [&](const std::vector<float>& got) {
    return FirstMismatch(reference, Bytes(got).data(), kPoison);
  };
  EXPECT_EQ(compare({7, 2, kNan, 4}), std::nullopt);
  ASSERT_TRUE(compare({1, 2, 3, kNan}).has_value());
  EXPECT_EQ(compare({1, 2, 3, 5})->element, 3);
  EXPECT_EQ(compare({1, 2, 3, 5})->expected, "4");
}

// Of element 1 alone.
auto NearbyOfOne(const std::vector<ScalarValue>& values) {
  return [values](int64_t element, int field) {
    EXPECT_EQ(field, 0);
    return element == 1 ? values : std::vector<ScalarValue>();
  };
}

TEST(Comparison, WhatIsNearbyExplainsWhatItDiffersAllAddedUp) {
  const auto real = [](double value) { return ScalarValue::Real(ScalarType::kFloat32, value); };
  const auto nearby = NearbyOfOne({real(3), real(4.5)});  // of 4
  ReferenceBuffer whole = Reference<float>({4, 4, 5}, ScalarType::kFloat32);
  ReferenceBuffer samples =
      MakeSampledReference(AddExpression(3), 0, {{0, 0, real(4)}, {1, 0, real(4)}});
  for (ReferenceBuffer* const reference : {&whole, &samples}) {
    const auto compare = [&](const std::vector<float>& got) {
      return FirstMismatch(*reference, Bytes(got).data(), kPoison);
    };
    EXPECT_TRUE(compare({4, 5.4F, 5}).has_value());
    reference->nearby = nearby;
    EXPECT_EQ(compare({4, 5.4F, 5}), std::nullopt);
    EXPECT_EQ(compare({4, 2.6F, 5}), std::nullopt);
    EXPECT_TRUE(compare({4, 5.6F, 5}).has_value());
    EXPECT_TRUE(compare({4, kNan, 5}).has_value());
    ASSERT_TRUE(compare({5.4F, 4, 5}).has_value());
    EXPECT_EQ(compare({5.4F, 4, 5})->element, 0);
  }
  EXPECT_EQ(ElementMismatch(whole, 1, 0, real(5)), std::nullopt);
  EXPECT_TRUE(ElementMismatch(whole, 0, 0, real(5)).has_value());
}

TEST(Comparison, OfIntegersOnlyWhatIsNearbyIsRightToo) {
  const auto integer = [](int64_t value) {
    return ScalarValue::Integer(ScalarType::kInt32, value);
  };
  ReferenceBuffer reference = Reference<int32_t>({1, -1}, ScalarType::kInt32);
  reference.nearby = NearbyOfOne({integer(3), integer(-1)});
  EXPECT_EQ(FirstMismatch(reference, Bytes<int32_t>({1, 3}).data(), kPoison), std::nullopt);
  EXPECT_TRUE(FirstMismatch(reference, Bytes<int32_t>({1, 2}).data(), kPoison).has_value());
  EXPECT_TRUE(FirstMismatch(reference, Bytes<int32_t>({3, -1}).data(), kPoison).has_value());
}

TEST(Comparison, SamplesOfBoolsAndIntegersMustBeEqual) {
  const Expression any = AddExpression(2, ScalarType::kBool);
  const ReferenceBuffer bools = MakeSampledReference(any, 0, {{1, 0, ScalarValue::Bool(true)}});
  EXPECT_EQ(FirstMismatch(bools, Bytes<uint8_t>({9, 1}).data(), kPoison), std::nullopt);
  EXPECT_TRUE(FirstMismatch(bools, Bytes<uint8_t>({9, 2}).data(), kPoison).has_value());
  const Expression sum = AddExpression(2, ScalarType::kInt32);
  const ReferenceBuffer ints =
      MakeSampledReference(sum, 0, {{0, 0, ScalarValue::Integer(ScalarType::kInt32, 5)}});
  EXPECT_EQ(FirstMismatch(ints, Bytes<int32_t>({5, 0}).data(), kPoison), std::nullopt);
  EXPECT_TRUE(FirstMismatch(ints, Bytes<int32_t>({6, 0}).data(), kPoison).has_value());
}

TEST(Comparison, WithoutSamplesNothingIsCompared) {
  const ReferenceBuffer reference = MakeSampledReference(AddExpression(2), 0, {});
  EXPECT_EQ(reference.check, ResultCheck::kNothing);
  EXPECT_EQ(FirstMismatch(reference, Bytes<float>({kNan, 1}).data(), kPoison), std::nullopt);
  EXPECT_FALSE(IsConstant(reference));
}

}  // namespace
}  // namespace mdh::comparison_test
