#include "tuner/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/tuner/search/recorded_spaces.h"
#include "tuner/search/techniques/random_number.h"

namespace mdh::search_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Search Begin(const SearchSpace& space, SearchOptions options) {
  Result<Search> search = Search::Create(space, std::move(options));
  EXPECT_TRUE(search.ok()) << search.status();
  if (!search.ok()) std::abort();
  return *std::move(search);
}

// Some fail, the others have few different costs.
Cost RuggedCost(const Configuration& configuration) {
  const auto sum = static_cast<int64_t>(ValleyCost(configuration));
  if (sum % 7 == 0) return std::nullopt;
  return static_cast<double>(sum);
}

// Runs until the end, or so many evaluations, with up to `devices` evaluations at once that end in
// random order.
std::vector<Configuration> Trace(Search& search, int devices, uint64_t device_seed,
                                 int64_t evaluations = 1000) {
  Rng rng(device_seed);
  std::vector<Configuration> trace;
  std::vector<Proposal> running = search.outstanding();
  int64_t last = search.evaluations() + static_cast<int64_t>(running.size());
  for (const Proposal& proposal : running) trace.push_back(proposal.configuration);
  while (search.evaluations() < evaluations) {
    for (Proposal& proposal : search.Ask(devices - static_cast<int>(running.size()))) {
      EXPECT_EQ(proposal.number, ++last);
      trace.push_back(proposal.configuration);
      running.push_back(std::move(proposal));
    }
    if (running.empty()) break;
    const size_t done = RandomBelow(rng, running.size());
    EXPECT_TRUE(search.Tell(running[done].number, RuggedCost(running[done].configuration)).ok());
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(done));
  }
  return trace;
}

TEST(SearchTest, TraceDoesNotDependOnDevices) {
  const SearchSpace space = SmallSpace();
  for (const std::string& technique : SearchTechniqueNames()) {
    SCOPED_TRACE(technique);
    const SearchOptions options = {.technique = technique, .seed = 7, .lookahead = 5};
    Search first = Begin(space, options);
    const std::vector<Configuration> expected = Trace(first, 1, 1);
    EXPECT_THAT(expected, SizeIs(90));
    for (const int devices : {1, 2, 5}) {
      Search search = Begin(space, options);
      EXPECT_EQ(Trace(search, devices, static_cast<uint64_t>(devices) + 10), expected);
    }
  }
}

TEST(SearchTest, ResumesFromWhatWasTold) {
  const SearchSpace space = SmallSpace();
  for (const std::string& technique : SearchTechniqueNames()) {
    SCOPED_TRACE(technique);
    const SearchOptions options = {.technique = technique, .seed = 3};
    Search whole = Begin(space, options);
    const std::vector<Configuration> expected = Trace(whole, 4, 1);
    Search resumed = Begin(space, options);
    // All were asked for, but two were not told when the search ended.
    for (size_t told = 0; told < 40;) {
      for (const Proposal& proposal : resumed.Ask(1)) {
        ASSERT_EQ(proposal.configuration, expected[static_cast<size_t>(proposal.number - 1)]);
      }
      const Proposal next = resumed.outstanding().front();
      ASSERT_TRUE(resumed.Tell(next.number, RuggedCost(next.configuration)).ok());
      ++told;
    }
    (void)resumed.Ask(2);
    EXPECT_THAT(resumed.outstanding(), SizeIs(2));
    std::vector<Configuration> rest = Trace(resumed, 4, 99);
    ASSERT_THAT(rest, SizeIs(50));
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.begin() + 40));
  }
}

TEST(SearchTest, SeedsMakeDifferentTraces) {
  const SearchSpace space = SmallSpace();
  Search one = Begin(space, {.seed = 1});
  Search two = Begin(space, {.seed = 2});
  EXPECT_NE(Trace(one, 1, 1), Trace(two, 1, 1));
}

TEST(SearchTest, LookaheadBoundsWhatIsOutstanding) {
  Search search = Begin(SmallSpace(), {.technique = "random", .lookahead = 3});
  EXPECT_THAT(search.Ask(0), SizeIs(0));
  EXPECT_THAT(search.Ask(10), SizeIs(3));
  EXPECT_THAT(search.Ask(1), SizeIs(0));
  EXPECT_FALSE(search.is_exhausted());
  ASSERT_TRUE(search.Tell(2, 1.0).ok());
  EXPECT_THAT(search.Ask(1), SizeIs(0)) << "the fourth needs the first";
  ASSERT_TRUE(search.Tell(1, 1.0).ok());
  EXPECT_THAT(search.Ask(10), SizeIs(2)) << "the fifth needs the second, too, which is told";
  EXPECT_THAT(search.outstanding(), SizeIs(3));
}

TEST(SearchTest, StartConfigurationsComeFirstAndAreRepaired) {
  const SearchSpace space = SmallSpace();
  Search search = Begin(
      space, {.lookahead = 8, .start = {{8, 2, 3, 0}, {8, 2, 3, 0}, {4, 4, 0, 0}, {4, 8, 5, 0}}});
  const std::vector<Proposal> proposals = search.Ask(3);
  ASSERT_THAT(proposals, SizeIs(3));
  EXPECT_THAT(proposals[0].configuration, ElementsAre(8, 2, 3, 0));
  EXPECT_THAT(proposals[1].configuration, ElementsAre(4, 4, 0, 0));
  EXPECT_EQ(proposals[2].configuration, space.Nearest(Configuration{4, 8, 5, 0}));
  EXPECT_TRUE(space.Contains(proposals[2].configuration));
  std::set<Configuration> seen;
  while (!search.is_exhausted()) {
    for (const Proposal& proposal : search.Ask(8)) seen.insert(proposal.configuration);
    for (const Proposal& proposal : search.outstanding()) {
      ASSERT_TRUE(search.Tell(proposal.number, 1.0).ok());
    }
  }
  EXPECT_EQ(seen.size(), 87u);
}

TEST(SearchTest, BestIsTheEarliestOfTheSmallest) {
  Search search = Begin(SmallSpace(), {.technique = "exhaustive", .lookahead = 4});
  const std::vector<Proposal> proposals = search.Ask(4);
  EXPECT_EQ(search.best(), std::nullopt);
  ASSERT_TRUE(search.Tell(4, std::nullopt).ok());
  EXPECT_EQ(search.best(), std::nullopt);
  ASSERT_TRUE(search.Tell(3, 5.0).ok());
  EXPECT_EQ(search.best()->number, 3);
  ASSERT_TRUE(search.Tell(1, 5.0).ok());
  EXPECT_EQ(search.best()->number, 1);
  ASSERT_TRUE(search.Tell(2, 6.0).ok());
  EXPECT_EQ(search.best()->number, 1);
  EXPECT_EQ(search.best()->configuration, proposals[0].configuration);
  EXPECT_EQ(search.evaluations(), 4);
  EXPECT_EQ(search.valid_evaluations(), 3);
}

TEST(SearchTest, ErrorsOfTell) {
  Search search = Begin(SmallSpace(), {.technique = "random"});
  EXPECT_THAT(search.Tell(1, 1.0).message(), HasSubstr("proposal 1 was not asked for"));
  ASSERT_THAT(search.Ask(2), SizeIs(2));
  EXPECT_EQ(search.Tell(0, 1.0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(search.Tell(3, 1.0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(search.Tell(1, std::numeric_limits<double>::infinity()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(search.Tell(1, std::nan("")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(search.Tell(1, 1.0).ok());
  EXPECT_EQ(search.Tell(1, 1.0).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(search.evaluations(), 1);
}

TEST(SearchTest, ErrorsOfCreate) {
  const SearchSpace space = SmallSpace();
  const Status unknown = Search::Create(space, {.technique = "magic"}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("there is no search technique 'magic'; there are "));
  EXPECT_THAT(unknown.message(), HasSubstr("auc_bandit"));
  EXPECT_EQ(Search::Create(space, {.lookahead = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Search::Create(space, {.start = {{1, 2}}}).status().message(),
              HasSubstr("start configuration 0 has 2 values, the space has 4 parameters"));
}

}  // namespace
}  // namespace mdh::search_test
