// 500 random pairs of expression and configuration; kernel_campaign runs more.
#include "tests/property/random_pairs.h"

#include <gtest/gtest.h>

namespace mdh {
namespace {

TEST(RandomPairsTest, GeneratedCodeComputesWhatTheInterpreterComputes) {
  PairOptions options;
  options.pairs = 520;
  const PairReport report =
      JudgeRandomPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_GE(report.pairs, 500);
  EXPECT_EQ(report.failures, 0);
}

}  // namespace
}  // namespace mdh
