// 50 random expressions with a random configuration each, others in every run; kernel_campaign
// runs more.
#include "tests/property/random_pairs.h"

#include <gtest/gtest.h>

#include "tests/fresh_seed.h"

namespace mdh::random_pairs_test {
namespace {

TEST(RandomPairsTest, GeneratedCodeComputesWhatTheInterpreterComputes) {
  PairOptions options;
  options.pairs = 50;
  options.seed = FreshSeed();
  const PairReport report =
      JudgeRandomPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_GE(report.pairs, 45);
  EXPECT_EQ(report.failures, 0);
}

// Where there are none, kernels have tiles in memory.
TEST(RandomPairsTest, ProductsOnTileRegisters) {
  PairOptions options;
  options.pairs = 25;
  options.seed = FreshSeed();
  options.only_tiles = true;
  const PairReport report =
      JudgeRandomPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_GE(report.pairs, 20);
  EXPECT_EQ(report.failures, 0);
}

// Results that are equal to others, of which most configurations compute half.
TEST(RandomPairsTest, PairsOfRows) {
  PairOptions options;
  options.pairs = 40;
  options.seed = FreshSeed();
  options.only_pairs_of_rows = true;
  const PairReport report =
      JudgeRandomPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_GE(report.pairs, 36);
  EXPECT_EQ(report.failures, 0);
}

}  // namespace
}  // namespace mdh::random_pairs_test
