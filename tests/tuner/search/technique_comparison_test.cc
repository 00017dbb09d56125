#include "tuner/search/technique_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/source_path.h"
#include "tests/tuner/search/recorded_spaces.h"

namespace mdh::technique_comparison_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RecordedCosts Valley(const std::string& name) {
  std::vector<RecordedCosts::Row> rows;
  const SearchSpace space = SmallSpace();
  space.Enumerate([&rows](const Configuration& configuration) {
    rows.push_back({configuration, ValleyCost(configuration)});
    return true;
  });
  return *RecordedCosts::Create(name, space, std::move(rows));
}

// Three searches: the first finds 104 after two evaluations and the best after four; the second
// finds 120 at last; nothing works for the third.
TechniqueResult ThreeTraces() {
  return TechniqueResult(0, Valley("valley & hill"), "random", 6,
                         {{std::nullopt, 104.0, 104.0, 100.0},
                          {200.0, 200.0, 200.0, 200.0, 150.0, 120.0},
                          {std::nullopt, std::nullopt, std::nullopt}});
}

void ExpectGoldenFile(const std::string& name, const std::string& text) {
  const std::string path = SourcePath("tests/tuner/search/golden/") + name;
  if (std::getenv("MDH_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  const std::string golden{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, golden) << path;
}

TEST(TechniqueResultTest, QuantilesCountSeedsThatNeverReachedIt) {
  const TechniqueResult result = ThreeTraces();
  EXPECT_EQ(result.ToTarget(0.33), 2);
  EXPECT_EQ(result.ToTarget(0.5), std::nullopt);
  EXPECT_EQ(result.never(), 2);
  EXPECT_EQ(result.BestAfter(1, 0.33), 200);
  EXPECT_EQ(result.BestAfter(1, 0.5), std::nullopt);
  EXPECT_EQ(result.BestAfter(2, 0.5), 200);
  EXPECT_EQ(result.BestAfter(6, 0.1), 100);
  EXPECT_EQ(result.BestAfter(6, 0.5), 120);
  EXPECT_EQ(result.BestAfter(6, 0.9), std::nullopt);
}

TEST(TechniqueComparisonTest, DoesNotDependOnThreads) {
  const std::vector<RecordedCosts> tables = {Valley("one"), Valley("two")};
  ComparisonOptions options = {
      .techniques = {"annealing", "random", "exhaustive"}, .seeds = 5, .evaluations = 60};
  const Result<std::vector<TechniqueResult>> one = CompareTechniques(tables, options);
  ASSERT_TRUE(one.ok()) << one.status();
  options.threads = 4;
  const Result<std::vector<TechniqueResult>> four = CompareTechniques(tables, options);
  ASSERT_TRUE(four.ok());
  ASSERT_EQ(one->size(), 6u);
  EXPECT_EQ((*one)[3].table(), "two");
  EXPECT_EQ((*one)[3].technique(), "annealing");
  EXPECT_EQ(ComparisonToJson(*one), ComparisonToJson(*four));
  EXPECT_EQ(ComparisonToSvg(*one), ComparisonToSvg(*four));
}

TEST(TechniqueComparisonTest, EndsAtTheTargetIfThatIsAsked) {
  ComparisonOptions options = {.techniques = {"random"}, .seeds = 9};
  const std::vector<RecordedCosts> tables = {Valley("v")};
  const Result<std::vector<TechniqueResult>> whole = CompareTechniques(tables, options);
  options.only_to_target = true;
  const Result<std::vector<TechniqueResult>> part = CompareTechniques(tables, options);
  ASSERT_TRUE(whole.ok() && part.ok());
  for (const double quantile : {0.25, 0.5, 0.9}) {
    EXPECT_EQ((*whole)[0].ToTarget(quantile), (*part)[0].ToTarget(quantile));
  }
  EXPECT_EQ((*whole)[0].BestAfter(1000, 1), 100);
  EXPECT_EQ((*part)[0].never(), 0);
}

TEST(TechniqueComparisonTest, Errors) {
  const std::vector<RecordedCosts> tables = {Valley("v")};
  const auto error = [&tables](const ComparisonOptions& options) {
    return std::string(CompareTechniques(tables, options).status().message());
  };
  EXPECT_THAT(error({.techniques = {"magic"}}), HasSubstr("no search technique 'magic'"));
  EXPECT_THAT(error({.seeds = 0}), HasSubstr("seeds must be at least 1, not 0"));
  EXPECT_THAT(error({.evaluations = 0}), HasSubstr("evaluations must be"));
  EXPECT_THAT(error({.lookahead = -1}), HasSubstr("lookahead must be"));
  EXPECT_THAT(error({.threads = 0}), HasSubstr("threads must be"));
  EXPECT_THAT(error({.bounds = {nullptr, nullptr}}), HasSubstr("2 bounds of 1 tables"));
  EXPECT_THAT(error({.estimates = {nullptr, nullptr}}), HasSubstr("2 estimates of 1 tables"));
  const SearchSpace space = SpaceOf({{"A", *Range::Interval(1, 2)}});
  const std::vector<RecordedCosts> failed = {
      *RecordedCosts::Create("f", space, {{{1}, std::nullopt}, {{2}, std::nullopt}})};
  EXPECT_THAT(std::string(CompareTechniques(failed, {}).status().message()),
              HasSubstr("table f has no costs"));
}

TEST(TechniqueComparisonTest, ReportsAtRoundNumbers) {
  EXPECT_THAT(ReportedEvaluations(1), ElementsAre(1));
  EXPECT_THAT(ReportedEvaluations(60), ElementsAre(10, 20, 50, 60));
  EXPECT_THAT(ReportedEvaluations(1000), ElementsAre(10, 20, 50, 100, 200, 500, 1000));
}

TEST(TechniqueComparisonTest, TextJsonAndPlot) {
  const std::vector<TechniqueResult> results = {
      ThreeTraces(),
      TechniqueResult(0, Valley("valley & hill"), "annealing", 6, {{130.0, 101.0, 100.0}})};
  ExpectGoldenFile("comparison.txt", ComparisonToText(results));
  ExpectGoldenFile("comparison.json", ComparisonToJson(results));
  ExpectGoldenFile("comparison.svg", ComparisonToSvg(results));
}

}  // namespace
}  // namespace mdh::technique_comparison_test
