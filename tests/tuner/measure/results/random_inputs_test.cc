#include "tuner/measure/results/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "gtest/gtest.h"

namespace mdh::random_inputs_test {
namespace {

template <typename T>
std::vector<T> Draw(InputDistribution distribution, ScalarType type, uint64_t seed = 1) {
  std::vector<T> values(10000);
  FillRandom(distribution, type,
             {reinterpret_cast<std::byte*>(values.data()), 10000, int64_t{sizeof(T)}}, 100, seed);
  return values;
}

TEST(RandomInputs, QuartersAreMultiplesOfAQuarterBetweenMinusTwoAndTwo) {
  std::set<float> met;
  for (const float value : Draw<float>(InputDistribution::kQuarters, ScalarType::kFloat32)) {
    EXPECT_EQ(value * 4, std::floor(value * 4));
    met.insert(value);
  }
  EXPECT_EQ(met.size(), 17u);
  EXPECT_EQ(*met.begin(), -2);
  EXPECT_EQ(*met.rbegin(), 2);
}

TEST(RandomInputs, FineValuesHaveMoreBitsThanNarrowerTypes) {
  int fine = 0;
  for (const float value : Draw<float>(InputDistribution::kFine, ScalarType::kFloat32)) {
    EXPECT_EQ(value * 4096, std::floor(value * 4096));
    EXPECT_LE(std::abs(value), 2);
    fine += value * 1024 != std::floor(value * 1024);
  }
  EXPECT_GT(fine, 7000);
  for (const double value : Draw<double>(InputDistribution::kFine, ScalarType::kFloat64)) {
    fine += static_cast<double>(static_cast<float>(value)) != value;
  }
  EXPECT_GT(fine, 11000);
}

TEST(RandomInputs, PositiveValuesStayInTheirInterval) {
  for (const double value : Draw<double>(InputDistribution::kPositive, ScalarType::kFloat64)) {
    EXPECT_GE(value, 0.25);
    EXPECT_LT(value, 2.25);
  }
}

TEST(RandomInputs, UnitsNeverVanishInAProduct) {
  for (const float value : Draw<float>(InputDistribution::kUnits, ScalarType::kFloat32)) {
    EXPECT_TRUE(std::abs(value) == 1 || std::abs(value) == 2 || std::abs(value) == 0.5);
  }
  for (const int32_t value : Draw<int32_t>(InputDistribution::kUnits, ScalarType::kInt32)) {
    EXPECT_NE(value % 2, 0);
  }
}

TEST(RandomInputs, BoolsAreZeroOrOneAndBothOccur) {
  for (const InputDistribution distribution : kAllDistributions) {
    int ones = 0;
    for (const uint8_t value : Draw<uint8_t>(distribution, ScalarType::kBool)) {
      EXPECT_LE(value, 1);
      ones += value;
    }
    EXPECT_GT(ones, 0);
    EXPECT_LT(ones, 10000);
  }
}

TEST(RandomInputs, EveryTypeAndDistributionFillsAllElementsAndOnlyThem) {
  for (const InputDistribution distribution : kAllDistributions) {
    for (const ScalarTypeInfo& info : AllScalarTypes()) {
      const ScalarType type = info.type;
      const size_t size = static_cast<size_t>(SizeBytes(type));
      std::vector<std::byte> bytes(64 * size + 8, std::byte{0xEE});
      FillRandom(distribution, type, {bytes.data(), 64, SizeBytes(type)}, 1, 7);
      for (size_t at = 64 * size; at < bytes.size(); ++at) EXPECT_EQ(bytes[at], std::byte{0xEE});
    }
  }
}

TEST(RandomInputs, TheSeedDecides) {
  EXPECT_EQ(Draw<float>(InputDistribution::kQuarters, ScalarType::kFloat32, 5),
            Draw<float>(InputDistribution::kQuarters, ScalarType::kFloat32, 5));
  EXPECT_NE(Draw<float>(InputDistribution::kQuarters, ScalarType::kFloat32, 5),
            Draw<float>(InputDistribution::kQuarters, ScalarType::kFloat32, 6));
}

TEST(RandomInputs, LargeBuffersAreTheSameEveryTimeAndNotPeriodic) {
  constexpr int64_t kCount = 3'000'000, kPiece = 1 << 20;
  std::vector<float> first(kCount), second(kCount);
  for (std::vector<float>* values : {&first, &second}) {
    FillRandom(InputDistribution::kPositive, ScalarType::kFloat32,
               {reinterpret_cast<std::byte*>(values->data()), kCount, 4}, 1, 5);
  }
  EXPECT_EQ(first, second);
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + 1000, first.begin() + kPiece));
}

TEST(RandomInputs, VeryLargeBuffersRepeatWhatWasDrawn) {
  constexpr int64_t kCount = kDrawnValues + 3'000'000;
  std::vector<uint8_t> values(kCount);
  EXPECT_TRUE(FillRandom(InputDistribution::kPositive, ScalarType::kUint8,
                         {reinterpret_cast<std::byte*>(values.data()), kCount, 1}, 1, 5));
  EXPECT_TRUE(std::equal(values.begin() + kDrawnValues, values.end(), values.begin()));
  // A field of records, which are further apart.
  std::vector<uint8_t> pairs(2 * kCount);
  EXPECT_TRUE(FillRandom(InputDistribution::kPositive, ScalarType::kUint8,
                         {reinterpret_cast<std::byte*>(pairs.data()), kCount, 2}, 1, 5));
  for (int64_t e = 0; e < kCount; e += 999'983) {
    EXPECT_EQ(pairs[2 * e], values[e]);
    EXPECT_EQ(pairs[2 * e + 1], 0);
  }
}

TEST(RandomInputs, DrawingIsGivenUpInTime) {
  std::vector<uint8_t> values(3'000'000);
  EXPECT_FALSE(FillRandom(InputDistribution::kPositive, ScalarType::kUint8,
                          {reinterpret_cast<std::byte*>(values.data()), 3'000'000, 1}, 1, 5,
                          /*give_up_ns=*/1));
}

}  // namespace
}  // namespace mdh::random_inputs_test
