// Sets of positions, beside the same ones as lists.
#include "tuner/space/diagram/domains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mdh::domains_test {
namespace {

using ::testing::ElementsAreArray;

constexpr uint32_t kSize = 12;

std::vector<uint32_t> Listed(uint32_t bits) {
  std::vector<uint32_t> positions;
  for (uint32_t position = 0; position < kSize; ++position) {
    if ((bits >> position & 1) != 0) positions.push_back(position);
  }
  return positions;
}

std::vector<uint32_t> Listed(const Domain& domain) {
  std::vector<uint32_t> positions;
  for (uint64_t n = 0; n < domain.count(); ++n) positions.push_back(domain.At(0, n));
  return positions;
}

uint32_t NearestOf(const std::vector<uint32_t>& positions, uint32_t first, uint32_t last,
                   uint32_t wanted) {
  uint32_t nearest = kSize;
  for (const uint32_t position : positions) {
    if (position < first || position > last) continue;
    const auto distance = [wanted](uint32_t at) { return at < wanted ? wanted - at : at - wanted; };
    if (nearest == kSize || distance(position) < distance(nearest)) nearest = position;
  }
  return nearest;
}

TEST(Domain, IsASetOfPositions) {
  for (uint32_t bits = 0; bits < (1U << kSize); bits += 1 + bits % 5) {
    const std::vector<uint32_t> positions = Listed(bits);
    const Domain domain(kSize, positions);
    ASSERT_THAT(Listed(domain), ElementsAreArray(positions));
    EXPECT_EQ(domain.empty(), bits == 0);
    EXPECT_EQ(domain.is_all(), positions.size() == kSize);
    EXPECT_THAT(Listed(domain.Complement()), ElementsAreArray(Listed(~bits)));
    EXPECT_TRUE(domain.Complement().Complement() == domain);
    EXPECT_TRUE(domain.Intersected(Domain(kSize)) == domain);
    EXPECT_TRUE(domain.Intersected(domain.Complement()).empty());
    for (uint32_t first = 0; first < kSize; ++first) {
      for (uint32_t last = first; last < kSize; ++last) {
        const auto count = std::ranges::count_if(
            positions, [&](uint32_t at) { return first <= at && at <= last; });
        ASSERT_EQ(domain.CountIn(first, last), static_cast<uint64_t>(count));
        if (count == 0) continue;
        const uint32_t wanted = bits % kSize;
        ASSERT_EQ(domain.Nearest(first, last, wanted), NearestOf(positions, first, last, wanted));
        EXPECT_EQ(domain.At(first, 0), NearestOf(positions, first, last, first));
      }
    }
  }
}

TEST(Domain, IntersectsSetsOfAnyForm) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t a = random() % (1U << kSize), b = random() % (1U << kSize);
    const Domain both = Domain(kSize, Listed(a)).Intersected(Domain(kSize, Listed(b)));
    ASSERT_THAT(Listed(both), ElementsAreArray(Listed(a & b)));
    EXPECT_TRUE(both == Domain(kSize, Listed(a & b)));
    EXPECT_EQ(both == Domain(kSize, Listed(a)), a == (a & b));
  }
}

TEST(Domains, KeepTheSetOfEachLevel) {
  std::mt19937 random(1);
  const Domains all(std::vector<uint32_t>(5, kSize));
  Domains domains = all;
  std::vector<uint32_t> expected(5, (1U << kSize) - 1);
  for (int round = 0; round < 200; ++round) {
    const size_t level = random() % expected.size();
    expected[level] = round % 2 == 0 ? 1U << random() % kSize : random() % (1U << kSize);
    domains.Set(level, Domain(kSize, Listed(expected[level])));
    for (size_t n = 0; n < expected.size(); ++n) {
      ASSERT_THAT(Listed(domains[n]), ElementsAreArray(Listed(expected[n])));
    }
  }
  EXPECT_FALSE(domains == all);
  for (size_t n = 0; n < expected.size(); ++n) domains.Set(n, Domain(kSize));
  EXPECT_TRUE(domains == all);
}

TEST(Domains, TakeEightBytesForARun) {
  Domains domains(std::vector<uint32_t>(60, 1000));
  for (size_t level = 0; level < 60; ++level) domains.Set(level, Domain(1000, PositionRun{3, 4}));
  EXPECT_EQ(domains.bytes(), sizeof(Domains) + 60 * 8);
  domains.Set(1, Domain(1000, std::vector<uint32_t>{3, 5}));
  EXPECT_LE(domains.bytes(), sizeof(Domains) + 60 * 8 + 128);
}

}  // namespace
}  // namespace mdh::domains_test
