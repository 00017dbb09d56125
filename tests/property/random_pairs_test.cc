// 1,000 random expressions with a random configuration each; kernel_campaign runs more.
#include "tests/property/random_pairs.h"

#include <gtest/gtest.h>

namespace mdh::random_pairs_test {
namespace {

TEST(RandomPairsTest, GeneratedCodeComputesWhatTheInterpreterComputes) {
  PairOptions options;
  options.pairs = 1010;
  const PairReport report =
      JudgeRandomPairs(options, [](const std::string& failure) { ADD_FAILURE() << failure; });
  EXPECT_GE(report.pairs, 1000);
  EXPECT_EQ(report.failures, 0);
}

}  // namespace
}  // namespace mdh::random_pairs_test
