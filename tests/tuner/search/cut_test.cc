// Searches with a bound: what they leave out, what they prove, and what they do if it is wrong. And
// with an estimate.
#include "tuner/search/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "tests/tuner/search/recorded_spaces.h"
#include "tuner/search/search.h"
#include "tuner/search/techniques/random_number.h"

namespace mdh::cut_test {
namespace {

using ::testing::HasSubstr;

// A share of the least cost of all configurations of these codes.
class ValleyBound : public CostBound {
 public:
  explicit ValleyBound(double share) : share_(share) {}

  double Of(OpenCodes open) const override {
    Configuration best(open.size());
    const auto nearest = [&](size_t parameter, double wanted, auto&& place) {
      best[parameter] = *std::min_element(
          open[parameter].begin(), open[parameter].end(), [&](int64_t a, int64_t b) {
            return std::abs(place(a) - wanted) < std::abs(place(b) - wanted);
          });
    };
    const auto logarithm = [](int64_t code) { return std::log2(static_cast<double>(code)); };
    nearest(0, 3, logarithm);
    nearest(1, 1, logarithm);
    nearest(2, 3, [](int64_t code) { return static_cast<double>(code); });
    return share_ * ValleyCost(best);
  }

 private:
  double share_;
};

SearchOptions With(const std::string& technique, double share, double gap = 0) {
  return {
      .technique = technique, .seed = 3, .bound = std::make_shared<ValleyBound>(share), .gap = gap};
}

struct Finished {
  std::vector<Configuration> trace;
  std::vector<double> costs;
  CutFigures cut;
  double best = 0;
};

// To its end, with so many evaluations at once that end in any order.
Finished RunOf(const SearchOptions& options, int devices, const SearchSpace& space = SmallSpace()) {
  Result<Search> search = Search::Create(space, options);
  EXPECT_TRUE(search.ok()) << search.status();
  Finished run;
  Rng rng(static_cast<uint64_t>(devices));
  std::vector<Proposal> running;
  while (true) {
    for (Proposal& next : search->Ask(devices - static_cast<int>(running.size()))) {
      run.trace.push_back(next.configuration);
      run.costs.push_back(ValleyCost(next.configuration));
      running.push_back(std::move(next));
    }
    if (running.empty()) break;
    const size_t done = RandomBelow(rng, running.size());
    const Cost cost = ValleyCost(running[done].configuration);
    EXPECT_TRUE(search->Tell(running[done].number, cost).ok());
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(done));
  }
  run.cut = search->cut();
  if (search->best().has_value()) run.best = *search->best()->cost;
  return run;
}

TEST(CutTest, NoTechniqueMissesTheBest) {
  for (const std::string& technique : SearchTechniqueNames()) {
    SCOPED_TRACE(technique);
    const Finished whole = RunOf(With(technique, 0), 1);
    EXPECT_EQ(whole.trace.size(), 90u);
    EXPECT_EQ(whole.cut.proven_worse, 0);
    const Finished run = RunOf(With(technique, 0.9), 1);
    EXPECT_EQ(run.best, 100);
    EXPECT_LT(run.trace.size(), 90u);
    // Each is counted once, and all are counted: as tried, or as proven to be worse.
    EXPECT_EQ(run.cut.proven_worse + static_cast<long>(run.trace.size()), 90);
    EXPECT_TRUE(run.cut.is_whole);
    EXPECT_FALSE(run.cut.is_contradicted);
    EXPECT_EQ(std::set<Configuration>(run.trace.begin(), run.trace.end()).size(), run.trace.size());
  }
}

// What is proven to be worse says little of what it costs.
TEST(CutTest, ModelsLearnOnlyWhatWasMeasured) {
  const auto bound = std::make_shared<ValleyBound>(0.9);
  const auto proposed = [&](double at_least) {
    std::unique_ptr<SearchTechnique> technique = *SearchTechniqueNamed("bayesian");
    technique->SetBound({.bound = bound});
    technique->Initialize(SmallSpace(), 5);
    std::vector<Configuration> all;
    for (int n = 0; n < 30; ++n) {
      const std::optional<Configuration> next = technique->Next();
      EXPECT_TRUE(next.has_value());
      all.push_back(*next);
      if (n % 3 == 2) {
        technique->Skip(*next, at_least);
      } else {
        technique->Report(*next, ValleyCost(*next));
      }
    }
    return all;
  };
  EXPECT_EQ(proposed(100), proposed(1e9));
}

TEST(CutTest, ModelsProposeWhatMayBeBetter) {
  const auto bound = std::make_shared<ValleyBound>(0.9);
  for (const char* name : {"bayesian", "auc_bandit"}) {
    std::unique_ptr<SearchTechnique> technique = *SearchTechniqueNamed(name);
    technique->SetBound({.bound = bound});
    technique->Initialize(SmallSpace(), 5);
    technique->Inform({8, 2, 3, 0}, 150);
    const std::optional<Configuration> first = technique->Next();
    ASSERT_TRUE(first.has_value());
    EXPECT_LT(bound->OfOne(*first), 150);
  }
}

// Bounds that cut nothing tell where to look.
TEST(CutTest, ModelsBeginWithBounds) {
  const auto evaluations = [](double share) {
    int64_t sum = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SearchOptions options = With("bayesian", share);
      options.seed = seed;
      const Finished run = RunOf(options, 1);
      EXPECT_EQ(run.trace.size(), 90u);
      sum += std::find(run.costs.begin(), run.costs.end(), 100) - run.costs.begin() + 1;
    }
    return sum;
  };
  EXPECT_LT(evaluations(0.2), evaluations(0) * 0.9);
}

// Of the least cost by a power, so that only their order is right; or of the opposite order.
class ValleyEstimate : public CostEstimate {
 public:
  explicit ValleyEstimate(double power) : power_(power) {}

  double Of(absl::Span<const int64_t> configuration) const override {
    return std::pow(ValleyCost(Configuration(configuration.begin(), configuration.end())), power_);
  }

 private:
  double power_;
};

int64_t EvaluationsToBest(const std::string& technique,
                          std::shared_ptr<const CostEstimate> estimate) {
  int64_t sum = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Finished run =
        RunOf({.technique = technique, .seed = seed, .estimate = estimate}, /*devices=*/1);
    EXPECT_EQ(run.trace.size(), 90u);
    sum += std::find(run.costs.begin(), run.costs.end(), 100) - run.costs.begin() + 1;
  }
  return sum;
}

TEST(CutTest, ModelsBeginWithEstimates) {
  for (const char* name : {"bayesian", "auc_bandit"}) {
    SCOPED_TRACE(name);
    const int64_t without = EvaluationsToBest(name, nullptr);
    EXPECT_LT(EvaluationsToBest(name, std::make_shared<ValleyEstimate>(2)), without / 2);
    // Who is told the opposite of what is so learns what is so.
    EXPECT_LT(EvaluationsToBest(name, std::make_shared<ValleyEstimate>(-1)), 20 * 90 / 2);
  }
}

// A bound that turns out to be wrong says nothing of the estimate.
TEST(CutTest, EstimatesOutliveBounds) {
  SearchOptions options = With("bayesian", 2);
  options.estimate = std::make_shared<ValleyEstimate>(1);
  const Finished run = RunOf(options, 1);
  EXPECT_TRUE(run.cut.is_contradicted);
  EXPECT_EQ(run.trace.size(), 90u);
}

TEST(CutTest, TracesDoNotDependOnDevices) {
  for (const std::string& technique : SearchTechniqueNames()) {
    SCOPED_TRACE(technique);
    SearchOptions options = With(technique, 0.8);
    options.lookahead = 4;
    options.estimate = std::make_shared<ValleyEstimate>(1);
    const Finished expected = RunOf(options, 1);
    for (const int devices : {2, 3, 4}) EXPECT_EQ(RunOf(options, devices).trace, expected.trace);
  }
}

TEST(CutTest, EndsWithinTheGap) {
  for (const std::string& technique : SearchTechniqueNames()) {
    SCOPED_TRACE(technique);
    const Finished run = RunOf(With(technique, 1, 0.1), 1);
    EXPECT_TRUE(run.cut.is_within_gap);
    EXPECT_EQ(run.cut.space_bound, 100);
    EXPECT_LE(run.best * 0.9, 100);
    // The search is over with the first cost that is good enough, but for what was asked for.
    const auto first = std::find_if(run.costs.begin(), run.costs.end(),
                                    [](double cost) { return cost * 0.9 <= 100; });
    EXPECT_LE(run.costs.end() - first, 4);
  }
}

TEST(CutTest, ABoundThatIsWrongCountsNoMore) {
  for (const std::string& technique : SearchTechniqueNames()) {
    SCOPED_TRACE(technique);
    const Finished run = RunOf(With(technique, 1.02), 1);
    EXPECT_TRUE(run.cut.is_contradicted);
    EXPECT_EQ(run.cut.proven_worse, 0);
    EXPECT_EQ(run.cut.space_bound, 0);
    EXPECT_EQ(run.best, 100);
    EXPECT_EQ(run.trace.size(), 90u) << "nothing is left out";
  }
}

// The first one is the best where bounds are the costs, and proves all others to be worse.
TEST(CutTest, BestFirstProvesTheBest) {
  SearchOptions options = With("best_first", 1);
  options.lookahead = 1;
  const Finished exact = RunOf(options, 1);
  EXPECT_EQ(exact.trace.size(), 1u);
  EXPECT_EQ(exact.cut.proven_worse, 89);
  EXPECT_TRUE(exact.cut.is_whole);
  options = With("best_first", 0.9);
  options.lookahead = 1;
  const Finished run = RunOf(options, 1);
  EXPECT_TRUE(run.cut.is_whole && run.cut.is_within_gap);
  EXPECT_EQ(run.best, 100);
  EXPECT_EQ(run.cut.space_bound, 100) << "nothing that is left costs less";
  EXPECT_EQ(run.cut.proven_worse + static_cast<long>(run.trace.size()), 90);
  // Nothing was tried that cannot be better than 100.
  for (const double cost : run.costs) EXPECT_LT(0.9 * cost, 100);
}

// What is proven along the way is never more than what is not tried in the end.
TEST(CutTest, CountsOnTheWay) {
  SearchOptions options = With("best_first", 0.9);
  options.lookahead = 1;
  Result<Search> search = Search::Create(SmallSpace(), options);
  ASSERT_TRUE(search.ok()) << search.status();
  Count before = 0;
  int tried = 0;
  for (std::vector<Proposal> next = search->Ask(1); !next.empty(); next = search->Ask(1)) {
    ASSERT_TRUE(search->Tell(next[0].number, ValleyCost(next[0].configuration)).ok());
    ++tried;
    const CutFigures cut = search->cut();
    EXPECT_GE(cut.proven_worse, before);
    EXPECT_LE(cut.proven_worse + tried, 90);
    EXPECT_LE(cut.space_bound, 100);
    before = cut.proven_worse;
  }
}

TEST(CutTest, KnowsWhatWasReachedElsewhere) {
  SearchOptions options = With("random", 1);
  options.incumbent = 99;
  EXPECT_TRUE(RunOf(options, 1).trace.empty());
}

TEST(CutTest, HasNoMoreThanAllOfAGap) {
  for (const double gap : {-0.1, 1.0, std::nan("")}) {
    const Result<Search> search = Search::Create(SmallSpace(), With("random", 0.5, gap));
    EXPECT_THAT(std::string(search.status().message()),
                HasSubstr("the gap must be at least 0 and less than 1"));
  }
}

}  // namespace
}  // namespace mdh::cut_test
