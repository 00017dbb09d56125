#include "tuner/space/search_space.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh {
namespace {

using ::testing::ElementsAre;

// tile0 in {1, 2, 4, 8, 16}; tile1 divides tile0; unroll in 1..tile1. accept: tile0 * unroll <= 32.
SearchSpace NestedTiles() {
  std::vector<TuningParameter> parameters;
  parameters.push_back({"tile0", [](absl::Span<const int64_t>) {
                          return std::vector<int64_t>{1, 2, 4, 8, 16};
                        }});
  parameters.push_back({"tile1", [](absl::Span<const int64_t> prefix) {
                          std::vector<int64_t> values;
                          for (int64_t v = 1; v <= prefix[0]; ++v) {
                            if (prefix[0] % v == 0) values.push_back(v);
                          }
                          return values;
                        }});
  parameters.push_back({"unroll", [](absl::Span<const int64_t> prefix) {
                          std::vector<int64_t> values;
                          for (int64_t v = 1; v <= prefix[1]; ++v) values.push_back(v);
                          return values;
                        }});
  return SearchSpace(std::move(parameters), [](absl::Span<const int64_t> configuration) {
    return configuration[0] * configuration[2] <= 32;
  });
}

std::vector<Configuration> All(const SearchSpace& space) {
  std::vector<Configuration> all;
  space.Enumerate([&](const Configuration& configuration) {
    all.push_back(configuration);
    return true;
  });
  return all;
}

TEST(SearchSpace, EnumeratesInOrderOfTheRangesWhatContainsAccepts) {
  const SearchSpace space = NestedTiles();
  const std::vector<Configuration> all = All(space);
  // 1 + 3 + 7 + 11 + 9 for the values of tile0; accept takes some of the last two.
  ASSERT_EQ(all.size(), 31u);
  EXPECT_THAT(all[0], ElementsAre(1, 1, 1));
  EXPECT_THAT(all[1], ElementsAre(2, 1, 1));
  EXPECT_THAT(all[2], ElementsAre(2, 2, 1));
  for (const Configuration& configuration : all) EXPECT_TRUE(space.Contains(configuration));
}

TEST(SearchSpace, EnumerateStopsWhenTheVisitorSaysSo) {
  int visits = 0;
  NestedTiles().Enumerate([&](const Configuration&) { return ++visits < 5; });
  EXPECT_EQ(visits, 5);
}

TEST(SearchSpace, ContainsRefusesWrongLengthWrongValueAndWhatAcceptRefuses) {
  const SearchSpace space = NestedTiles();
  EXPECT_FALSE(space.Contains({4, 2}));
  EXPECT_FALSE(space.Contains({4, 2, 1, 1}));
  EXPECT_FALSE(space.Contains({4, 3, 1}));
  EXPECT_FALSE(space.Contains({16, 16, 3}));
  EXPECT_TRUE(space.Contains({16, 16, 2}));
}

TEST(SearchSpace, SampleReachesEveryConfiguration) {
  const SearchSpace space = NestedTiles();
  Rng rng(1);
  std::set<Configuration> met;
  for (int i = 0; i < 5000; ++i) met.insert(space.Sample(rng).value());
  const std::vector<Configuration> all = All(space);
  EXPECT_EQ(met, std::set<Configuration>(all.begin(), all.end()));
}

TEST(SearchSpace, SampleAndNeighbourGiveUpWhereNothingIsValid) {
  const SearchSpace dead_end(
      {{"a",
        [](absl::Span<const int64_t>) {
          return std::vector<int64_t>{1, 2};
        }},
       {"b", [](absl::Span<const int64_t>) { return std::vector<int64_t>{}; }}},
      nullptr);
  Rng rng(1);
  EXPECT_EQ(dead_end.Sample(rng), std::nullopt);
  EXPECT_EQ(dead_end.Neighbour({1, 1}, rng), std::nullopt);
  const SearchSpace refused({{"a",
                              [](absl::Span<const int64_t>) {
                                return std::vector<int64_t>{1, 2};
                              }}},
                            [](absl::Span<const int64_t>) { return false; });
  EXPECT_EQ(refused.Sample(rng), std::nullopt);
  EXPECT_EQ(refused.Neighbour({1}, rng), std::nullopt);
}

TEST(SearchSpace, NeighbourIsValidAndDiffersUpToRepairsInOneParameter) {
  const SearchSpace space = NestedTiles();
  Rng rng(7);
  for (const Configuration& from : All(space)) {
    for (int i = 0; i < 50; ++i) {
      const Configuration to = space.Neighbour(from, rng).value();
      EXPECT_TRUE(space.Contains(to));
      EXPECT_NE(to, from);
      // A later parameter keeps its value wherever the prefix still allows it.
      size_t chosen = 0;
      while (to[chosen] == from[chosen]) ++chosen;
      for (size_t p = chosen + 1; p < from.size(); ++p) {
        const std::vector<int64_t> range =
            space.parameters()[p].range(absl::MakeConstSpan(to).first(p));
        if (std::find(range.begin(), range.end(), from[p]) != range.end()) {
          EXPECT_EQ(to[p], from[p]);
        }
      }
    }
  }
}

TEST(SearchSpace, NeighbourRepairsToTheNearestValue) {
  const SearchSpace space(
      {{"a",
        [](absl::Span<const int64_t>) {
          return std::vector<int64_t>{0, 1};
        }},
       {"b",
        [](absl::Span<const int64_t> prefix) {
          return prefix[0] == 0 ? std::vector<int64_t>{10} : std::vector<int64_t>{1, 9, 13};
        }}},
      nullptr);
  Rng rng(3);
  EXPECT_THAT(space.Neighbour({0, 10}, rng).value(), ElementsAre(1, 9));
}

TEST(SearchSpace, SameSeedGivesTheSameSamples) {
  const SearchSpace space = NestedTiles();
  Rng a(42);
  Rng b(42);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(space.Sample(a), space.Sample(b));
}

}  // namespace
}  // namespace mdh
