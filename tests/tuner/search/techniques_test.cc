// What all techniques must do.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/tuner/search/recorded_spaces.h"
#include "tuner/search/search.h"

namespace mdh::techniques_test {
namespace {

class TechniquesTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Searches to the end and expects every configuration exactly once.
  void ExpectExhausts(const SearchSpace& space, const std::function<Cost(const Configuration&)>& f,
                      std::vector<Configuration> start = {}) {
    size_t count = 0;
    space.Enumerate([&count](const Configuration&) { return ++count > 0; });
    Result<Search> search =
        Search::Create(space, {.technique = GetParam(), .seed = 5, .start = std::move(start)});
    ASSERT_TRUE(search.ok()) << search.status();
    std::set<Configuration> seen;
    Cost best;
    while (!search->is_exhausted()) {
      const std::vector<Proposal> proposals = search->Ask(1);
      ASSERT_EQ(proposals.size(), 1u);
      const Configuration& configuration = proposals[0].configuration;
      ASSERT_TRUE(space.Contains(configuration));
      ASSERT_TRUE(seen.insert(configuration).second) << space.ToText(configuration);
      const Cost cost = f(configuration);
      if (cost && (!best || *cost < *best)) best = cost;
      ASSERT_TRUE(search->Tell(proposals[0].number, cost).ok());
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_TRUE(search->Ask(3).empty());
    ASSERT_EQ(search->best().has_value(), best.has_value());
    if (best) {
      EXPECT_EQ(search->best()->cost, best);
    }
  }
};

TEST_P(TechniquesTest, ExhaustsASmallSpace) { ExpectExhausts(SmallSpace(), ValleyCost); }

TEST_P(TechniquesTest, ExhaustsALazySpace) {
  const SearchSpace space = SmallSpace({.max_bytes = 1});
  ASSERT_TRUE(space.is_lazy());
  ExpectExhausts(space, ValleyCost);
}

TEST_P(TechniquesTest, CopesWithFailures) {
  ExpectExhausts(SmallSpace(), [](const Configuration&) -> Cost { return std::nullopt; });
  ExpectExhausts(SmallSpace(), [](const Configuration& at) -> Cost {
    return at[2] == 3 ? Cost(ValleyCost(at)) : std::nullopt;
  });
}

TEST_P(TechniquesTest, CopesWithAPlateau) {
  ExpectExhausts(SmallSpace(), [](const Configuration&) { return 1.0; });
}

TEST_P(TechniquesTest, CopesWithCostsThatAreNotPositive) {
  ExpectExhausts(SmallSpace(), [](const Configuration&) { return 0.0; });
  ExpectExhausts(SmallSpace(), [](const Configuration& at) { return ValleyCost(at) - 1000; });
  ExpectExhausts(SmallSpace(), [](const Configuration& at) { return ValleyCost(at) * 1e300; });
}

TEST_P(TechniquesTest, OneConfiguration) {
  ExpectExhausts(SpaceOf({{"A", IntegersOf({5})}, {"B", IntegersOf({-3})}}),
                 [](const Configuration&) { return 2.0; });
}

TEST_P(TechniquesTest, OneParameter) {
  ExpectExhausts(SpaceOf({{"A", *Range::Interval(-20, 20, 4)}}),
                 [](const Configuration& at) { return static_cast<double>(at[0] * at[0]); });
  ExpectExhausts(SpaceOf({{"A", *Range::Of({Value(0.5), Value(0.25), Value(8.0)})}}),
                 [](const Configuration& at) { return static_cast<double>(at[0]); });
}

TEST_P(TechniquesTest, TakesStartConfigurations) {
  ExpectExhausts(SmallSpace(), ValleyCost, {{8, 2, 3, 0}, {16, 16, 0, 0}, {1, 16, 0, 0}});
}

// A space of about 2^60 configurations, where the way down is plain.
TEST_P(TechniquesTest, GoesDownInALargeSpace) {
  if (GetParam() == "exhaustive") GTEST_SKIP() << "cannot";
  std::vector<TuningParameter> parameters;
  for (const char* name : {"A", "B", "C", "D", "E", "F"}) {
    parameters.push_back({name, *Range::Interval(1, 1024)});
  }
  Result<Search> search =
      Search::Create(SpaceOf(std::move(parameters)), {.technique = GetParam(), .seed = 2});
  ASSERT_TRUE(search.ok());
  for (int i = 0; i < 150; ++i) {
    const std::vector<Proposal> proposals = search->Ask(1);
    ASSERT_EQ(proposals.size(), 1u);
    double cost = 1;
    for (const int64_t value : proposals[0].configuration) cost += static_cast<double>(value);
    ASSERT_TRUE(search->Tell(proposals[0].number, cost).ok());
  }
  // The mean of a random configuration is 3,076, the best of 150 about 1,600.
  EXPECT_LT(*search->best()->cost, GetParam() == "random" ? 3076 : 2000);
}

// How many of the bandit's first proposals are those of its model alone, up to `most`.
int64_t ProposalsOfModel(const SearchSpace& space, int64_t most) {
  constexpr uint64_t kSeed = 7;
  const std::unique_ptr<SearchTechnique> bandit = *SearchTechniqueNamed("auc_bandit");
  const std::unique_ptr<SearchTechnique> model = *SearchTechniqueNamed("bayesian");
  bandit->Initialize(space, kSeed);
  model->Initialize(space, Rng(kSeed)());
  for (int64_t n = 0; n < most; ++n) {
    const std::optional<Configuration> next = bandit->Next();
    if (!next.has_value() || next != model->Next()) return n;
    double cost = 1;
    for (const int64_t value : *next) cost += static_cast<double>(value);
    bandit->Report(*next, cost);
    model->Report(*next, cost);
  }
  return most;
}

TEST(AucBanditTest, BeginsWithItsModel) {
  const std::vector<TuningParameter> large(
      {{"A", *Range::Interval(1, 32)}, {"B", *Range::Interval(1, 32)}});
  EXPECT_EQ(ProposalsOfModel(SpaceOf(large), 110), 100);
  EXPECT_EQ(ProposalsOfModel(SpaceOf(large, {}, {.max_bytes = 1}), 110), 100) << "of a lazy space";
  const SearchSpace small =
      SpaceOf({{"A", *Range::Interval(1, 10)}, {"B", *Range::Interval(1, 10)}});
  const int64_t of_small = ProposalsOfModel(small, 110);
  EXPECT_GE(of_small, 20) << "of 100";
  EXPECT_LT(of_small, 30) << "others may propose the same by chance";
}

INSTANTIATE_TEST_SUITE_P(All, TechniquesTest, ::testing::ValuesIn(SearchTechniqueNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mdh::techniques_test
