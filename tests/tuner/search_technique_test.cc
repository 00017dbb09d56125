#include "tuner/search/search_technique.h"

#include <cmath>
#include <limits>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<int64_t> UpTo(int64_t last) {
  std::vector<int64_t> values;
  for (int64_t v = 0; v <= last; ++v) values.push_back(v);
  return values;
}

// Four parameters 0..15; the last one is at most the first.
SearchSpace Bowl() {
  const auto any = [](absl::Span<const int64_t>) { return UpTo(15); };
  return SearchSpace({{"x", any},
                      {"y", any},
                      {"z", any},
                      {"w", [](absl::Span<const int64_t> prefix) { return UpTo(prefix[0]); }}},
                     nullptr);
}

// A rugged bowl with its minimum 1 at (9, 4, 12, 7); every seventh configuration fails.
Cost BowlCost(const Configuration& c) {
  if ((c[0] * 31 + c[1] * 17 + c[2] * 13 + c[3] * 7) % 7 == 1) return std::nullopt;
  const double distance =
      std::abs(c[0] - 9) + std::abs(c[1] - 4) + std::abs(c[2] - 12) + std::abs(c[3] - 7);
  const double ripple = ((c[0] ^ c[1] ^ c[2]) & 1) ? 0.15 : 0.0;
  return 1 + 0.2 * distance + (distance == 0 ? 0 : ripple);
}

struct Trace {
  std::vector<Configuration> configurations;
  double best = std::numeric_limits<double>::infinity();
};

Trace Search(SearchTechnique& technique, const SearchSpace& space, uint64_t seed, int evaluations,
             int batch, std::vector<Configuration> start = {}) {
  Trace trace;
  technique.Initialize(space, std::move(start), seed);
  while (static_cast<int>(trace.configurations.size()) < evaluations) {
    const std::vector<Configuration> proposals = technique.Propose(batch);
    if (proposals.empty()) break;
    for (const Configuration& configuration : proposals) {
      const Cost cost = BowlCost(configuration);
      technique.Report(configuration, cost);
      trace.configurations.push_back(configuration);
      if (cost) trace.best = std::min(trace.best, *cost);
    }
  }
  return trace;
}

class EveryTechnique : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<SearchTechnique> technique_ = SearchTechniqueNamed(GetParam()).value();
};

TEST_P(EveryTechnique, ProposesTheStartFirst) {
  const SearchSpace space = Bowl();
  technique_->Initialize(space, {{1, 2, 3, 1}, {5, 5, 5, 5}, {1, 2, 3, 1}}, 1);
  EXPECT_THAT(technique_->Propose(1), ElementsAre(Configuration{1, 2, 3, 1}));
  const std::vector<Configuration> next = technique_->Propose(3);
  ASSERT_EQ(next.size(), 3u);
  EXPECT_EQ(next[0], (Configuration{5, 5, 5, 5}));
  EXPECT_NE(next[1], (Configuration{1, 2, 3, 1}));
}

TEST_P(EveryTechnique, LeavesOutStartConfigurationsOutsideTheSpace) {
  const SearchSpace space = Bowl();
  technique_->Initialize(space, {{1, 2, 3, 2}, {99, 0, 0, 0}, {5, 5, 5, 5}}, 1);
  EXPECT_THAT(technique_->Propose(1), ElementsAre(Configuration{5, 5, 5, 5}));
}

TEST_P(EveryTechnique, ProposesOnlyValidConfigurationsAndNoneTwice) {
  const SearchSpace space = Bowl();
  const Trace trace = Search(*technique_, space, 3, 2000, 4);
  const std::set<Configuration> distinct(trace.configurations.begin(), trace.configurations.end());
  EXPECT_EQ(distinct.size(), trace.configurations.size());
  for (const Configuration& configuration : distinct) EXPECT_TRUE(space.Contains(configuration));
}

TEST_P(EveryTechnique, SameSeedAndReportsGiveTheSameTrace) {
  const SearchSpace space = Bowl();
  const Trace first = Search(*technique_, space, 11, 300, 4);
  const Trace second = Search(*technique_, space, 11, 300, 4);
  const Trace other_seed = Search(*technique_, space, 12, 300, 4);
  EXPECT_EQ(first.configurations, second.configurations);
  EXPECT_NE(first.configurations, other_seed.configurations);
}

TEST_P(EveryTechnique, UsesUpASmallSpaceAndThenProposesNothing) {
  const SearchSpace space({{"a", [](absl::Span<const int64_t>) { return UpTo(4); }},
                           {"b", [](absl::Span<const int64_t>) { return UpTo(4); }},
                           {"c", [](absl::Span<const int64_t>) { return UpTo(0); }},
                           {"d", [](absl::Span<const int64_t>) { return UpTo(0); }}},
                          nullptr);
  const Trace trace = Search(*technique_, space, 5, 1000, 3);
  EXPECT_EQ(trace.configurations.size(), 25u);
  EXPECT_THAT(technique_->Propose(1), IsEmpty());
}

TEST_P(EveryTechnique, ProposesNothingInAnEmptySpace) {
  const SearchSpace space({{"a", [](absl::Span<const int64_t>) { return std::vector<int64_t>{}; }}},
                          nullptr);
  technique_->Initialize(space, {}, 1);
  EXPECT_THAT(technique_->Propose(4), IsEmpty());
}

TEST_P(EveryTechnique, ProposesBatchesWithoutReports) {
  const SearchSpace space = Bowl();
  technique_->Initialize(space, {}, 1);
  EXPECT_EQ(technique_->Propose(64).size(), 64u);
  EXPECT_EQ(technique_->Propose(64).size(), 64u);
}

TEST_P(EveryTechnique, GoesOnWhenEverythingFails) {
  const SearchSpace space = Bowl();
  technique_->Initialize(space, {}, 1);
  for (int i = 0; i < 200; ++i) {
    const std::vector<Configuration> proposals = technique_->Propose(1);
    ASSERT_EQ(proposals.size(), 1u);
    technique_->Report(proposals[0], std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(Techniques, EveryTechnique, ::testing::Values("random", "annealing"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SearchTechniqueNamed, NamesThoseThatExist) {
  const auto technique = SearchTechniqueNamed("gradient descent");
  EXPECT_EQ(technique.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(technique.status().message(), HasSubstr("gradient descent"));
  EXPECT_THAT(technique.status().message(), HasSubstr("annealing, random"));
}

TEST(SimulatedAnnealing, FindsTheMinimumOfARuggedBowlWhereRandomSearchDoesNot) {
  const SearchSpace space = Bowl();
  double annealing_sum = 0;
  double random_sum = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    annealing_sum += Search(*MakeSimulatedAnnealing(), space, seed, 400, 4).best;
    random_sum += Search(*MakeRandomSearch(), space, seed, 400, 4).best;
  }
  EXPECT_LT(annealing_sum / 20, 1.25);  // within about one step of the minimum 1
  EXPECT_LT(annealing_sum, random_sum);
}

TEST(SimulatedAnnealing, ScalingAllCostsChangesNothing) {
  const SearchSpace space = Bowl();
  const std::unique_ptr<SearchTechnique> plain = MakeSimulatedAnnealing();
  const std::unique_ptr<SearchTechnique> scaled = MakeSimulatedAnnealing();
  plain->Initialize(space, {}, 9);
  scaled->Initialize(space, {}, 9);
  for (int i = 0; i < 300; ++i) {
    const std::vector<Configuration> proposals = plain->Propose(1);
    ASSERT_EQ(scaled->Propose(1), proposals);
    const Cost cost = BowlCost(proposals[0]);
    plain->Report(proposals[0], cost);
    scaled->Report(proposals[0], cost ? Cost(*cost * 0x1p20) : std::nullopt);
  }
}

TEST(SimulatedAnnealing, StartsFromAGoodStartConfiguration) {
  const SearchSpace space = Bowl();
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Trace trace = Search(*MakeSimulatedAnnealing(), space, seed, 120, 4, {{10, 4, 12, 6}});
    EXPECT_LE(trace.best, BowlCost({10, 4, 12, 6}).value());
  }
}

}  // namespace
}  // namespace mdh
