#include "tuner/run/design_search.h"

#include <gtest/gtest.h>

#include <set>

#include "core/text/parser.h"

namespace mdh::design_search_test {
namespace {

constexpr char kMatMul[] = R"(
matmul :=
  out_view<fp32>( C: (i,j,k) -> (i,j) ) o
  md_hom<512,512,512>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )
where f(A, B) -> C { C = A * B }
)";

class DesignSearchTest : public ::testing::Test {
 protected:
  // What a device might take that has a mind of its own: large blocks take much longer than the
  // model says, and so does reading A where it is.
  double Measured(const BlockCandidate& candidate) const {
    double cost = candidate.cost.total;
    if (candidate.cost.threads >= 256) cost *= 1.6;
    if (candidate.design.copies[0] == BlockDesign::Copy::kNone) cost *= 1.3;
    return cost;
  }

  const Expression expression_ = *ParseExpression(kMatMul);
  const SystemModel model_ = CudaModel();
  const DeviceDescription device_ = *DescribeCudaArchitecture(90);
};

TEST_F(DesignSearchTest, FindsBetterOnesThanTheModelAlone) {
  DesignSearch search(expression_, model_, device_);
  double first = 0, best = 0;
  for (int n = 0; n < 300; ++n) {
    const std::optional<BlockCandidate> next = search.Ask();
    if (!next.has_value()) break;
    const double cost = Measured(*next);
    if (n == 0) first = best = cost;
    best = std::min(best, cost);
    search.Tell(next->design, cost);
  }
  EXPECT_LT(best, 0.95 * first);
}

TEST_F(DesignSearchTest, NeverAsksTwiceAndOnlyForWhatIsValid) {
  DesignSearch search(expression_, model_, device_);
  std::set<std::string> asked;
  for (int n = 0; n < 200; ++n) {
    const std::optional<BlockCandidate> next = search.Ask();
    if (!next.has_value()) break;
    EXPECT_TRUE(asked.insert(ToString(expression_, next->design)).second);
    EXPECT_TRUE(Validate(expression_, model_, device_, next->parameters).ok());
    if (n % 3 != 0) search.Tell(next->design, Measured(*next));
  }
  EXPECT_GT(asked.size(), 50u);
}

TEST_F(DesignSearchTest, EndsWhenNothingHelps) {
  DesignSearch search(expression_, model_, device_);
  EXPECT_FALSE(search.is_done());
  int asks = 0;
  while (const std::optional<BlockCandidate> next = search.Ask()) {
    search.Tell(next->design, std::nullopt);  // all of them fail
    ASSERT_LT(++asks, 1000);
  }
  EXPECT_TRUE(search.is_done());
}

// Of what was asked for before nothing is learnt, and it costs hardly any time.
TEST_F(DesignSearchTest, RepeatedKernelsHardlyUsePatience) {
  const auto asks_until_done = [&](bool is_repeated) {
    DesignSearch search(expression_, model_, device_);
    int asks = 0;
    while (const std::optional<BlockCandidate> next = search.Ask()) {
      const bool is_first = asks++ == 0;
      is_repeated && !is_first ? search.TellRepeated() : search.Tell(next->design, 1.0);
    }
    EXPECT_TRUE(search.is_done());
    return asks;
  };
  EXPECT_GT(asks_until_done(true), asks_until_done(false));
}

TEST_F(DesignSearchTest, HasNothingToSayOfOtherDevices) {
  const SystemModel warps = CudaWarpModel();
  DesignSearch search(expression_, warps, device_);
  EXPECT_TRUE(search.is_done());
  EXPECT_FALSE(search.Ask().has_value());
}

}  // namespace
}  // namespace mdh::design_search_test
