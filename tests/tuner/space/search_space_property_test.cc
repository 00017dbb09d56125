// Random spaces against a judge that looks at every combination.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/tuner/space/naive_space.h"
#include "tests/tuner/space/random_formula.h"
#include "tuner/space/search_space.h"
#include "tuner/space/solver/constraint_solver.h"

namespace mdh::search_space_property_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Those of RandomFormulas, with fewer values.
std::vector<TuningParameter> SmallParameters() {
  return {{"a", *Range::Interval(0, 3)},
          {"b", *Range::Integers({2, -3, 0})},
          {"c", *Range::Interval(1, 10, 3)},
          {"x", *Range::Of({Value(0.5), Value(-1.25), Value(0.0)})},
          {"mode", *Range::Of({Value(std::string("fast")), Value(std::string("'slow' \\"))})},
          {"on", Range::Bool()},
          {"order", *Range::Permutations({"i", "j", "k"})}};
}

std::vector<Constraint> RandomConstraints(RandomFormulas& random) {
  std::vector<Constraint> constraints;
  const int64_t count = 1 + random.Below(3);
  for (int64_t i = 0; i < count; ++i) {
    const int depth = 2 + static_cast<int>(random.Below(3));
    constraints.emplace_back(random.Of(ValueType::kBool, depth));
  }
  if (random.Below(4) == 0) {
    const auto holds = [](absl::Span<const int64_t> codes) {
      return (codes[0] + 2 * codes[1] + codes[2]) % 3 != 0;
    };
    constraints.emplace_back(Formula::Of({"is odd", holds}, {"c", "x", "a"}));
  }
  return constraints;
}

std::string TextOf(const std::vector<Constraint>& constraints) {
  std::string text;
  for (const Constraint& constraint : constraints) text += constraint.formula.ToText() + "; ";
  return text;
}

std::set<Configuration> AllOf(const SearchSpace& space) {
  std::set<Configuration> all;
  space.Enumerate([&all](const Configuration& configuration) {
    EXPECT_TRUE(all.insert(configuration).second) << "visited twice";
    return true;
  });
  return all;
}

// Creates the space; nullopt if it is rightly empty or overflows.
std::optional<SearchSpace> Create(const std::vector<TuningParameter>& parameters,
                                  const std::vector<Constraint>& constraints,
                                  const NaiveSpace& naive, const SpaceOptions& options) {
  Result<SearchSpace> space = SearchSpace::Create(parameters, constraints, options);
  if (space.ok()) return *std::move(space);
  if (absl::IsOutOfRange(space.status())) {
    EXPECT_TRUE(naive.overflows) << space.status() << "\n" << TextOf(constraints);
  } else {
    EXPECT_TRUE(absl::IsFailedPrecondition(space.status())) << space.status();
    EXPECT_TRUE(naive.configurations.empty()) << space.status() << "\n" << TextOf(constraints);
  }
  return std::nullopt;
}

class RandomSpaces : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomSpaces, HaveTheConfigurationsOfTheJudge) {
  RandomFormulas random(GetParam());
  for (int round = 0; round < 10; ++round) {
    const std::vector<TuningParameter> parameters = SmallParameters();
    const std::vector<Constraint> constraints = RandomConstraints(random);
    const NaiveSpace naive = EnumerateNaively(parameters, constraints);
    const std::set<Configuration> expected(naive.configurations.begin(),
                                           naive.configurations.end());
    const SpaceOptions options[] = {
        {}, {.order = ParameterOrder::kDeclared}, {.threads = 3}, {.max_bytes = 1}};
    for (const SpaceOptions& option : options) {
      const std::optional<SearchSpace> space = Create(parameters, constraints, naive, option);
      if (!space) continue;
      EXPECT_EQ(space->is_lazy(), option.max_bytes == 1);
      EXPECT_EQ(AllOf(*space), expected) << TextOf(constraints);
      if (!space->is_lazy()) {
        EXPECT_EQ(space->count(), expected.size());
      }
      if (!space->notices().empty()) {
        EXPECT_TRUE(naive.divides_by_zero) << space->notices()[0];
      }
    }
  }
}

TEST_P(RandomSpaces, HaveOneIfTheJudgeHasOne) {
  RandomFormulas random(GetParam() + 2000);
  for (int round = 0; round < 10; ++round) {
    const std::vector<TuningParameter> parameters = SmallParameters();
    const std::vector<Constraint> constraints = RandomConstraints(random);
    const NaiveSpace naive = EnumerateNaively(parameters, constraints);
    const Result<Configuration> one = SearchSpace::FindOne(parameters, constraints);
    if (one.ok()) {
      EXPECT_TRUE(std::find(naive.configurations.begin(), naive.configurations.end(), *one) !=
                  naive.configurations.end())
          << TextOf(constraints);
    } else {
      EXPECT_TRUE(absl::IsFailedPrecondition(one.status())) << one.status();
      EXPECT_TRUE(naive.configurations.empty()) << TextOf(constraints);
    }
  }
}

// Groups of constraints, some of which look at the same sum or product.
TEST_P(RandomSpaces, LeaveNothingByGroupsAsTheJudgeSays) {
  RandomFormulas random(GetParam() + 3000);
  const std::vector<TuningParameter> parameters = SmallParameters();
  for (int round = 0; round < 10; ++round) {
    std::vector<Constraint> constraints = RandomConstraints(random);
    const Formula shared = random.Of(ValueType::kInteger, 3);
    const int64_t some = random.Below(12) - 4;
    constraints.emplace_back(shared <= some);
    constraints.emplace_back(shared * 2 >= Formula::Parameter("c") + some);
    constraints.emplace_back(shared + Formula::Parameter("a") == some);
    std::vector<int> groups(constraints.size());
    for (size_t n = 0; n < groups.size(); ++n) groups[n] = static_cast<int>(n) - 1;
    ConstraintSolver solver(parameters, constraints, groups);
    const auto with = [&](const std::vector<int>& asked) {
      std::vector<Constraint> some_of = {constraints[0]};
      for (const int group : asked) some_of.push_back(constraints[group + 1]);
      return EnumerateNaively(parameters, some_of).configurations;
    };
    for (int question = 0; question < 4; ++question) {
      std::vector<int> asked;
      for (int group = 0; group + 1 < std::ssize(groups); ++group) {
        if (random.Below(3) != 0) asked.push_back(group);
      }
      const ConstraintSolver::Answer answer = solver.Find(asked);
      if (answer.outcome == ConstraintSolver::Answer::Outcome::kFound) {
        EXPECT_THAT(with(asked), Contains(answer.configuration)) << TextOf(constraints);
      } else {
        ASSERT_EQ(answer.outcome, ConstraintSolver::Answer::Outcome::kEmpty);
        EXPECT_THAT(with(answer.groups), IsEmpty()) << TextOf(constraints);
        EXPECT_THAT(asked, IsSupersetOf(answer.groups));
      }
    }
  }
}

TEST_P(RandomSpaces, AnswerAsTheJudge) {
  RandomFormulas random(GetParam() + 1000);
  Rng rng(GetParam());
  const std::vector<TuningParameter> parameters = SmallParameters();
  const std::vector<Constraint> constraints = RandomConstraints(random);
  const NaiveSpace naive = EnumerateNaively(parameters, constraints);
  const std::optional<SearchSpace> space = Create(parameters, constraints, naive, {});
  if (!space) return;
  const std::set<Configuration> expected(naive.configurations.begin(), naive.configurations.end());
  for (Count index = 0; index < space->count(); ++index) {
    const Configuration configuration = space->At(index);
    EXPECT_EQ(space->IndexOf(configuration), index);
    EXPECT_EQ(space->AtCoordinates(space->CoordinatesOf(configuration)), configuration);
    EXPECT_EQ(space->WhyNot(configuration), "");
  }
  for (int i = 0; i < 20; ++i) {
    const Configuration other = random.Configuration();
    EXPECT_EQ(space->Contains(other), expected.contains(other));
    EXPECT_EQ(space->IndexOf(other).has_value(), expected.contains(other));
    EXPECT_EQ(space->WhyNot(other).empty(), expected.contains(other)) << space->WhyNot(other);
    EXPECT_TRUE(expected.contains(space->Sample(rng)));
  }
}

std::vector<Change> NaiveNeighbours(const std::vector<TuningParameter>& parameters,
                                    const std::set<Configuration>& all,
                                    const Configuration& configuration) {
  std::vector<Change> changes;
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (uint32_t position = 0; position < parameters[i].range.size(); ++position) {
      Configuration other = configuration;
      other[i] = parameters[i].range.CodeAt(position);
      if (other != configuration && all.contains(other)) {
        changes.push_back({static_cast<int>(i), other[i]});
      }
    }
  }
  return changes;
}

TEST_P(RandomSpaces, HaveTheNeighboursOfTheJudge) {
  RandomFormulas random(GetParam() + 2000);
  Rng rng(GetParam());
  const std::vector<TuningParameter> parameters = SmallParameters();
  const std::vector<Constraint> constraints = RandomConstraints(random);
  const NaiveSpace naive = EnumerateNaively(parameters, constraints);
  const std::set<Configuration> expected(naive.configurations.begin(), naive.configurations.end());
  for (int64_t bytes : {int64_t{1} << 20, int64_t{1}}) {
    const std::optional<SearchSpace> space =
        Create(parameters, constraints, naive, {.max_bytes = bytes});
    if (!space) return;
    for (int i = 0; i < 20; ++i) {
      const Configuration configuration = space->Sample(rng);
      EXPECT_THAT(space->Neighbours(configuration),
                  ElementsAreArray(NaiveNeighbours(parameters, expected, configuration)));
    }
  }
}

// As the header defines it.
std::pair<int, double> DistanceOf(const std::vector<TuningParameter>& parameters,
                                  const Configuration& a, const Configuration& wanted) {
  int changes = 0;
  double amount = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (a[i] == wanted[i]) continue;
    ++changes;
    const std::optional<uint32_t> place = parameters[i].range.PositionOf(wanted[i]);
    const auto position = static_cast<double>(*parameters[i].range.PositionOf(a[i]));
    amount += place ? std::abs(position - *place) / parameters[i].range.size() : 1;
  }
  return {changes, amount};
}

TEST_P(RandomSpaces, HaveTheNearestConfigurationOfTheJudge) {
  RandomFormulas random(GetParam() + 3000);
  const std::vector<TuningParameter> parameters = SmallParameters();
  const std::vector<Constraint> constraints = RandomConstraints(random);
  const NaiveSpace naive = EnumerateNaively(parameters, constraints);
  const std::optional<SearchSpace> space = Create(parameters, constraints, naive, {});
  if (!space) return;
  for (int i = 0; i < 20; ++i) {
    const Configuration wanted = random.Configuration();  // of larger ranges
    std::pair<int, double> least = {100, 0};
    for (const Configuration& configuration : naive.configurations) {
      least = std::min(least, DistanceOf(parameters, configuration, wanted));
    }
    const Configuration nearest = space->Nearest(wanted);
    EXPECT_TRUE(space->Contains(nearest));
    EXPECT_EQ(DistanceOf(parameters, nearest, wanted).first, least.first);
    EXPECT_NEAR(DistanceOf(parameters, nearest, wanted).second, least.second, 1e-9);
  }
}

TEST_P(RandomSpaces, AreRestrictedAsByTheJudge) {
  RandomFormulas random(GetParam() + 4000);
  const std::vector<TuningParameter> parameters = SmallParameters();
  const std::vector<Constraint> constraints = RandomConstraints(random);
  const NaiveSpace naive = EnumerateNaively(parameters, constraints);
  for (int64_t bytes : {int64_t{1} << 20, int64_t{1}}) {
    const std::optional<SearchSpace> space =
        Create(parameters, constraints, naive, {.max_bytes = bytes});
    if (!space) return;
    const std::vector<SearchSpace::Restriction> restrictions = {
        {"a", {3, 1}}, {"order", {0, 2, 5}}, {"b", {0, -3}}};
    std::set<Configuration> expected;
    for (const Configuration& configuration : naive.configurations) {
      const bool remains =
          configuration[0] % 2 == 1 && configuration[1] != 2 &&
          (configuration[6] == 0 || configuration[6] == 2 || configuration[6] == 5);
      if (remains) expected.insert(configuration);
    }
    const Result<SearchSpace> restricted = space->Restrict(restrictions);
    EXPECT_EQ(restricted.ok(), !expected.empty()) << restricted.status();
    if (!restricted.ok()) continue;
    EXPECT_EQ(AllOf(*restricted), expected);
    for (const Configuration& configuration : naive.configurations) {
      EXPECT_EQ(restricted->WhyNot(configuration).empty(), expected.contains(configuration));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSpaces, ::testing::Range<uint64_t>(0, 30));

}  // namespace
}  // namespace mdh::search_space_property_test
