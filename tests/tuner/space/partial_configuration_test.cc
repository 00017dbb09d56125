// Partial configurations against a judge that looks at every configuration.
#include "tuner/space/partial_configuration.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/tuner/space/naive_space.h"
#include "tests/tuner/space/published_spaces.h"
#include "tests/tuner/space/random_formula.h"

namespace mdh::partial_configuration_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<TuningParameter> SmallParameters() {
  return {{"a", *Range::Interval(0, 3)},
          {"b", *Range::Integers({2, -3, 0})},
          {"c", *Range::Interval(1, 10, 3)},
          {"x", *Range::Of({Value(0.5), Value(-1.25), Value(0.0)})},
          {"mode", *Range::Of({Value(std::string("fast")), Value(std::string("slow"))})},
          {"on", Range::Bool()},
          {"order", *Range::Permutations({"i", "j", "k"})}};
}

// What is kept of a parameter.
struct Decision {
  int parameter;
  std::vector<int64_t> codes;
  bool is_forbidden;
};

bool Keeps(const Decision& decision, const Configuration& configuration) {
  const bool is_named = std::count(decision.codes.begin(), decision.codes.end(),
                                   configuration[decision.parameter]) > 0;
  return is_named != decision.is_forbidden;
}

std::vector<Configuration> Kept(const std::vector<Configuration>& all,
                                const std::vector<Decision>& decisions) {
  std::vector<Configuration> kept;
  for (const Configuration& configuration : all) {
    const bool is_kept =
        std::all_of(decisions.begin(), decisions.end(),
                    [&](const Decision& decision) { return Keeps(decision, configuration); });
    if (is_kept) kept.push_back(configuration);
  }
  return kept;
}

Result<PartialConfiguration> With(const PartialConfiguration& partial, const Decision& decision) {
  return decision.is_forbidden ? partial.With({{decision.parameter, decision.codes, true}})
                               : partial.Decide(decision.parameter, decision.codes);
}

// A random space, and decisions on it.
class Drawn {
 public:
  explicit Drawn(uint64_t seed) : random_(seed), parameters_(SmallParameters()) {
    const int64_t count = 1 + random_.Below(3);
    for (int64_t i = 0; i < count; ++i) {
      constraints_.emplace_back(
          random_.Of(ValueType::kBool, 2 + static_cast<int>(random_.Below(3))));
    }
    naive_ = EnumerateNaively(parameters_, constraints_);
  }

  const std::vector<Configuration>& all() const { return naive_.configurations; }
  // nullopt if it is empty, or a constraint overflows.
  std::optional<PartialConfiguration> Open(int64_t bytes = int64_t{1} << 20) const {
    Result<SearchSpace> space =
        SearchSpace::Create(parameters_, constraints_, {.max_bytes = bytes});
    if (!space.ok()) return std::nullopt;
    return PartialConfiguration(*std::move(space));
  }

  Decision NextDecision() {
    Decision decision = {Below(static_cast<int>(parameters_.size())), {}, random_.Below(3) == 0};
    const Range& range = parameters_[decision.parameter].range;
    for (uint32_t position = 0; position < range.size(); ++position) {
      if (random_.Below(2) == 0) decision.codes.push_back(range.CodeAt(position));
    }
    std::reverse(decision.codes.begin(), decision.codes.end());
    return decision;
  }
  std::vector<Decision> Decisions(int count) {
    std::vector<Decision> decisions;
    for (int n = 0; n < count; ++n) decisions.push_back(NextDecision());
    return decisions;
  }
  int Below(int bound) { return static_cast<int>(random_.Below(bound)); }

 private:
  RandomFormulas random_;
  std::vector<TuningParameter> parameters_;
  std::vector<Constraint> constraints_;
  NaiveSpace naive_;
};

void ExpectExactly(const PartialConfiguration& partial, const std::vector<Configuration>& kept) {
  EXPECT_EQ(partial.count(), kept.size());
  EXPECT_EQ(partial.is_complete(), kept.size() == 1);
  std::vector<int> open;
  for (int p = 0; p < std::ssize(partial.space().parameters()); ++p) {
    std::map<int64_t, int> counts;
    for (const Configuration& configuration : kept) ++counts[configuration[p]];
    const Range& range = partial.space().parameters()[p].range;
    std::vector<ValueCount> expected;
    for (uint32_t position = 0; position < range.size(); ++position) {
      const auto found = counts.find(range.CodeAt(position));
      if (found != counts.end()) expected.push_back({found->first, found->second});
    }
    EXPECT_EQ(partial.Remaining(p), expected) << p;
    EXPECT_EQ(partial.RemainingValues(p), expected.size());
    if (expected.size() > 1) open.push_back(p);
  }
  EXPECT_EQ(partial.Open(), open);
}

class RandomPartialConfigurations : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomPartialConfigurations, AreDecidedAsByTheJudge) {
  Drawn drawn(GetParam());
  const std::optional<PartialConfiguration> open = drawn.Open();
  if (!open) return;
  ExpectExactly(*open, drawn.all());
  for (int round = 0; round < 4; ++round) {
    PartialConfiguration partial = *open;
    std::vector<Decision> taken;
    for (const Decision& decision : drawn.Decisions(5)) {
      std::vector<Decision> more = taken;
      more.push_back(decision);
      const std::vector<Configuration> kept = Kept(drawn.all(), more);
      const Result<PartialConfiguration> next = With(partial, decision);
      ASSERT_EQ(next.ok(), !kept.empty()) << next.status();
      if (!next.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(next.status())) << next.status();
        EXPECT_THAT(next.status().message(),
                    HasSubstr(partial.space().parameters()[decision.parameter].name));
        continue;
      }
      partial = *next;
      taken = more;
      ExpectExactly(partial, kept);
      for (const Configuration& configuration : drawn.all()) {
        EXPECT_EQ(partial.Contains(configuration),
                  std::count(kept.begin(), kept.end(), configuration) == 1);
      }
      const SearchSpace space = partial.AsSpace();
      EXPECT_EQ(space.count(), partial.count());
    }
  }
}

TEST_P(RandomPartialConfigurations, CommuteInAllOrders) {
  Drawn drawn(GetParam() + 1000);
  const std::optional<PartialConfiguration> open = drawn.Open();
  if (!open) return;
  std::vector<Decision> decisions = drawn.Decisions(5);
  const std::vector<Configuration> kept = Kept(drawn.all(), decisions);
  std::vector<int> order = {0, 1, 2, 3, 4};
  std::optional<PartialConfiguration> first;
  do {
    PartialConfiguration partial = *open;
    bool is_empty = false;
    for (int n : order) {
      const Result<PartialConfiguration> next = With(partial, decisions[n]);
      is_empty = !next.ok();
      if (is_empty) break;
      partial = *next;
    }
    ASSERT_EQ(is_empty, kept.empty());
    if (is_empty) continue;
    if (!first) first = partial;
    EXPECT_TRUE(partial == *first);
    EXPECT_EQ(partial.count(), first->count());
  } while (std::next_permutation(order.begin(), order.end()));
  std::vector<PartialConfiguration::Decision> all;
  for (const Decision& decision : decisions) {
    all.push_back({decision.parameter, decision.codes, decision.is_forbidden});
  }
  const Result<PartialConfiguration> at_once = open->With(all);
  ASSERT_EQ(at_once.ok(), first.has_value());
  EXPECT_TRUE(!first || *at_once == *first);
  if (first) ExpectExactly(*first, kept);
}

TEST_P(RandomPartialConfigurations, AreWithoutADecisionOnceItIsUndone) {
  Drawn drawn(GetParam() + 2000);
  const std::optional<PartialConfiguration> open = drawn.Open();
  if (!open) return;
  PartialConfiguration partial = *open;
  std::vector<Decision> taken;
  for (const Decision& decision : drawn.Decisions(6)) {
    const Result<PartialConfiguration> next = With(partial, decision);
    if (!next.ok()) continue;
    partial = *next;
    taken.push_back(decision);
    const int undone =
        taken[static_cast<size_t>(drawn.Below(static_cast<int>(taken.size())))].parameter;
    std::vector<Decision> fewer = taken;
    std::erase_if(fewer, [&](const Decision& other) { return other.parameter == undone; });
    ExpectExactly(partial.Undo(undone), Kept(drawn.all(), fewer));
    if (drawn.Below(2) == 0) continue;
    partial = partial.Undo(undone);
    taken = fewer;
  }
  for (const int parameter : partial.Decided()) partial = partial.Undo(parameter);
  EXPECT_TRUE(partial == *open);
}

TEST_P(RandomPartialConfigurations, SayWhichDecisionsContradict) {
  Drawn drawn(GetParam() + 3000);
  const std::optional<PartialConfiguration> open = drawn.Open();
  if (!open) return;
  PartialConfiguration partial = *open;
  for (const Decision& decision : drawn.Decisions(6)) {
    const Result<PartialConfiguration> next = With(partial, decision);
    if (next.ok()) partial = *next;
  }
  for (int p = 0; p < std::ssize(open->space().parameters()); ++p) {
    for (const auto& [code, count] : open->Remaining(p)) {
      const Result<PartialConfiguration> next = partial.Decide(p, {code});
      if (next.ok()) continue;
      const std::vector<int> needed = partial.WhyNot(p, {code});
      // What is left without one of them has the value; with all, it has not.
      for (const int without : needed) {
        PartialConfiguration some = *open;
        for (const int other : needed) {
          if (other == without) continue;
          std::vector<int64_t> left;
          for (const ValueCount& value : open->Remaining(other)) {
            if (partial.Allows(other, value.code)) left.push_back(value.code);
          }
          some = *some.Decide(other, left);
        }
        EXPECT_TRUE(some.Decide(p, {code}).ok());
      }
      EXPECT_THAT(needed, Not(IsEmpty()));
      if (partial.Allows(p, code)) {
        EXPECT_THAT(next.status().message(), HasSubstr(partial.DecisionText(needed[0])));
      }
    }
  }
}

std::pair<int, double> DistanceOf(const std::vector<TuningParameter>& parameters,
                                  const Configuration& a, const Configuration& wanted) {
  std::pair<int, double> distance = {0, 0};
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (a[p] == wanted[p]) continue;
    ++distance.first;
    const Range& range = parameters[p].range;
    const std::optional<uint32_t> position = range.PositionOf(wanted[p]);
    distance.second += position ? std::abs(static_cast<double>(*position) -
                                           static_cast<double>(*range.PositionOf(a[p]))) /
                                      range.size()
                                : 1;
  }
  return distance;
}

TEST_P(RandomPartialConfigurations, HaveSamplesAndTheNearestOfTheJudge) {
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{1}}) {
    Drawn drawn(GetParam() + 4000);
    const std::optional<PartialConfiguration> open = drawn.Open(bytes);
    if (!open) return;
    PartialConfiguration partial = *open;
    std::vector<Decision> taken;
    for (const Decision& decision : drawn.Decisions(4)) {
      const Result<PartialConfiguration> next = With(partial, decision);
      if (!next.ok()) continue;
      partial = *next;
      taken.push_back(decision);
    }
    const std::vector<Configuration> kept = Kept(drawn.all(), taken);
    Rng rng(GetParam());
    std::set<Configuration> seen;
    for (size_t n = 0; n < 20 * std::min<size_t>(kept.size(), 12); ++n) {
      seen.insert(partial.Sample(rng));
    }
    for (const Configuration& configuration : seen) {
      EXPECT_EQ(std::count(kept.begin(), kept.end(), configuration), 1);
    }
    EXPECT_TRUE(partial.is_lazy() || kept.size() > 12 || seen.size() == kept.size());
    const Configuration wanted =
        drawn.all()[static_cast<size_t>(drawn.Below(static_cast<int>(drawn.all().size())))];
    const Configuration nearest = partial.Nearest(wanted);
    ASSERT_TRUE(partial.Contains(nearest));
    if (partial.is_lazy()) continue;
    std::pair<int, double> least = {100, 0};
    for (const Configuration& configuration : kept) {
      least = std::min(least, DistanceOf(open->space().parameters(), configuration, wanted));
    }
    const auto found = DistanceOf(open->space().parameters(), nearest, wanted);
    EXPECT_EQ(found.first, least.first);
    EXPECT_NEAR(found.second, least.second, 1e-9);
  }
}

TEST_P(RandomPartialConfigurations, AreNotCountedIfLazy) {
  Drawn drawn(GetParam() + 5000);
  const std::optional<PartialConfiguration> open = drawn.Open(1);
  if (!open || !open->is_lazy()) return;
  for (int round = 0; round < 4; ++round) {
    const std::vector<Decision> decisions = drawn.Decisions(3);
    PartialConfiguration partial = *open;
    bool is_empty = false;
    for (const Decision& decision : decisions) {
      const Result<PartialConfiguration> next = With(partial, decision);
      is_empty = !next.ok();
      if (is_empty) break;
      partial = *next;
    }
    const std::vector<Configuration> kept = Kept(drawn.all(), decisions);
    ASSERT_EQ(is_empty, kept.empty());
    if (is_empty) continue;
    for (int p = 0; p < std::ssize(open->space().parameters()); ++p) {
      std::set<int64_t> possible;
      for (const ValueCount& value : partial.Remaining(p)) {
        EXPECT_EQ(value.count, 0);
        EXPECT_TRUE(partial.Allows(p, value.code));
        possible.insert(value.code);
      }
      for (const Configuration& configuration : kept) {
        EXPECT_TRUE(possible.contains(configuration[p]));
      }
    }
    for (const Configuration& configuration : drawn.all()) {
      EXPECT_EQ(partial.Contains(configuration),
                std::count(kept.begin(), kept.end(), configuration) == 1);
    }
    for (const int parameter : partial.Decided()) partial = partial.Undo(parameter);
    EXPECT_TRUE(partial == *open);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPartialConfigurations, ::testing::Range<uint64_t>(0, 10));

// Sums of the counts of a parameter's values are those of all.
TEST(PublishedPartialConfigurations, AreDecidedToTheEnd) {
  for (const PublishedSpace& published : PublishedSpaces()) {
    const Result<SearchSpace> space =
        SearchSpace::Create(published.parameters, ConstraintsOf(published));
    ASSERT_TRUE(space.ok()) << published.name;
    PartialConfiguration partial(*space);
    Rng rng(1);
    while (!partial.is_complete()) {
      const std::vector<int> open = partial.Open();
      for (const int parameter : open) {
        Count sum = 0;
        for (const ValueCount& value : partial.Remaining(parameter)) sum += value.count;
        ASSERT_EQ(sum, partial.count()) << published.name;
      }
      const int parameter = open[rng() % open.size()];
      const std::vector<ValueCount> values = partial.Remaining(parameter);
      const ValueCount& taken = values[rng() % values.size()];
      const Result<PartialConfiguration> next = partial.Decide(parameter, {taken.code});
      ASSERT_TRUE(next.ok()) << published.name << next.status();
      ASSERT_EQ(next->count(), taken.count) << published.name;
      partial = *next;
    }
    EXPECT_TRUE(space->Contains(partial.Sample(rng)));
  }
}

// Pairs of digits with a sum of at most 9, of which there are 55.
Result<SearchSpace> Pairs(int count) {
  std::vector<TuningParameter> parameters;
  std::vector<Constraint> constraints;
  for (int n = 0; n < count; ++n) {
    const std::string a = absl::StrCat("a", n), b = absl::StrCat("b", n);
    parameters.push_back({a, *Range::Interval(0, 9)});
    parameters.push_back({b, *Range::Interval(0, 9)});
    constraints.emplace_back(Formula::Parameter(a) + Formula::Parameter(b) <= 9);
  }
  return SearchSpace::Create(parameters, constraints);
}

TEST(PartialConfiguration, CountsSpacesOfAnySize) {
  for (const int pairs : {3, 11, 12, 22, 23, 60, 88}) {  // up to 512 bits
    const Result<SearchSpace> space = Pairs(pairs);
    ASSERT_TRUE(space.ok()) << space.status();
    PartialConfiguration partial(*space);
    Count others = 1;
    for (int n = 0; n + 1 < pairs; ++n) others *= 55;
    EXPECT_EQ(partial.count(), others * 55);
    for (const int parameter : {0, 1, 2 * pairs - 2}) {
      const std::vector<ValueCount> values = partial.Remaining(parameter);
      ASSERT_EQ(values.size(), 10);
      for (const ValueCount& value : values) EXPECT_EQ(value.count, (10 - value.code) * others);
    }
    partial = *partial.With({{0, {0}, true}});
    EXPECT_EQ(partial.count(), 45 * others);
    partial = *partial.Decide(2 * pairs - 1, {9});
    EXPECT_EQ(partial.count(), 45 * (others / 55));
    Rng rng(1);
    for (int n = 0; n < 50; ++n) EXPECT_TRUE(partial.Contains(partial.Sample(rng)));
    EXPECT_LT(partial.bytes(), 8 * 2 * pairs + 256);
  }
}

TEST(PartialConfiguration, TakesAKilobyteWithSixtyDecisions) {
  const Result<SearchSpace> space = Pairs(30);
  ASSERT_TRUE(space.ok()) << space.status();
  PartialConfiguration partial(*space);
  Rng rng(1);
  const Configuration configuration = partial.Sample(rng);
  std::vector<PartialConfiguration::Decision> decisions;
  for (int n = 0; n < 60; ++n) decisions.push_back({n, {configuration[n]}});
  partial = *partial.With(decisions);
  EXPECT_TRUE(partial.is_complete());
  EXPECT_LT(partial.bytes(), 1024);
}

TEST(PartialConfiguration, HasRangesOfAnyLength) {
  const Result<SearchSpace> space = SearchSpace::Create(
      {{"n", *Range::Interval(1, Range::kMaxSize)}, {"m", *Range::Interval(0, 1)}}, {});
  ASSERT_TRUE(space.ok());
  const PartialConfiguration open(*space);
  const PartialConfiguration partial = *open.With({{0, {1, 7, Range::kMaxSize}, true}});
  EXPECT_EQ(partial.count(), (Count(Range::kMaxSize) - 3) * 2);
  EXPECT_EQ(partial.RemainingValues(0), static_cast<uint64_t>(Range::kMaxSize) - 3);
  EXPECT_THAT(partial.Remaining(0, 2), ElementsAre(ValueCount{2, 2}, ValueCount{3, 2}));
  EXPECT_EQ(partial.Nearest({7, 0}), (Configuration{6, 0}));
  EXPECT_LT(partial.bytes(), 1024);
}

TEST(PartialConfiguration, NamesTheDecisionThatEmptiesIt) {
  const Result<SearchSpace> space = SearchSpace::Create(
      {{"a", *Range::Interval(0, 3)}, {"b", *Range::Interval(0, 3)}, {"c", *Range::Interval(0, 3)}},
      {Constraint(Formula::Parameter("a") + Formula::Parameter("b") <= 3)});
  ASSERT_TRUE(space.ok());
  const PartialConfiguration open(*space);
  const PartialConfiguration partial = *open.Decide(2, {1})->Decide(0, {2, 3});
  EXPECT_EQ(partial.Decided(), (std::vector<int>{0, 2}));
  const Status status = partial.Decide(1, {2, 3}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(),
            "no configuration remains after restricting 'b' to {2, 3}, as that contradicts 'a' to "
            "{2, 3}");
  EXPECT_EQ(partial.WhyNot(1, {2}), std::vector<int>{0});
  EXPECT_EQ(partial.WhyNot(0, {1}), std::vector<int>{0});
  EXPECT_EQ(open.With({{0, {0, 1, 2, 3}, true}}).status().message(),
            "no configuration remains after restricting 'a' to {}");
  EXPECT_EQ(open.Decide(0, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(open.Decide(0, {9}).status().message(),
              AllOf(HasSubstr("the range of 'a'"), HasSubstr("has no value with code 9")));
  EXPECT_TRUE(absl::IsInvalidArgument(open.With({{0, {9}, true}}).status()));
}

TEST(PartialConfiguration, CallsValuesByTheirNames) {
  const Result<SearchSpace> space =
      SearchSpace::Create({{"a", *Range::Integers({4, 2})}, {"b", Range::Bool()}}, {});
  const PartialConfiguration partial =
      *PartialConfiguration(*space, {{"four", "two"}}).Decide(0, {2});
  EXPECT_EQ(partial.DecisionText(0), "'a' to {two}");
  EXPECT_EQ(partial.Decide(1, {1})->DecisionText(1), "'b' to {true}");
}

TEST(PartialConfiguration, IsOfASpaceThatWasRestricted) {
  const Result<SearchSpace> space =
      SearchSpace::Create({{"a", *Range::Interval(0, 9)}, {"b", *Range::Interval(0, 9)}},
                          {Constraint(Formula::Parameter("a") <= Formula::Parameter("b"))});
  const SearchSpace fewer = *space->Restrict({{"a", {3, 4, 5}}});
  const PartialConfiguration partial = *PartialConfiguration(fewer).Decide(1, {4, 9});
  EXPECT_EQ(partial.count(), 5);
  EXPECT_THAT(partial.Remaining(0),
              ElementsAre(ValueCount{3, 2}, ValueCount{4, 2}, ValueCount{5, 1}));
  const SearchSpace both = partial.AsSpace();
  EXPECT_THAT(both.WhyNot({2, 9}), HasSubstr("'a' to {3, 4, 5}"));
  EXPECT_THAT(both.WhyNot({3, 8}), HasSubstr("'b' to {4, 9}"));
  EXPECT_THAT(both.WhyNot({3, 9}), IsEmpty());
}

}  // namespace
}  // namespace mdh::partial_configuration_test
