// Schedules and spaces: found parameters print as schedules that allow what means the same, and
// nothing else; pinned spaces hold what is left of free ones, and what experts pin besides.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/decomposition/low_level_expression.h"
#include "core/schedule/schedule.h"
#include "tests/error_message.h"
#include "tests/fresh_seed.h"
#include "tests/tuner/decompositions/space_problems.h"
#include "tuner/decompositions/mdh_space.h"
#include "tuner/decompositions/mdh_space_kind.h"

namespace mdh::mdh_space_schedule_test {
namespace {

MdhProblem ProblemOf(const Expression& expression, const SpaceBackend& target) {
  std::vector<int64_t> sizes;
  for (const Dimension& d : expression.dimensions()) sizes.push_back(d.size);
  return {expression, {}, sizes, target.model, target.device, NumericsPolicy::kReassociate};
}

// What is wrong with the schedule of p; empty: nothing.
std::string JudgePrinted(const MdhProblem& problem, const TuningParameters& p,
                         const std::vector<TuningParameters>& others) {
  const Schedule schedule = Schedule::Of(p, problem.expression, problem.model);
  const std::string text = schedule.CanonicalText();
  const Result<Schedule> again = Schedule::Parse(text, problem.expression, problem.model);
  if (!again.ok()) return absl::StrCat("does not read back: ", ErrorMessage(again), "\n", text);
  if (again->CanonicalText() != text) {
    return absl::StrCat("reads as something else:\n", text, "\n", again->CanonicalText());
  }
  const Status allowed = again->Allows(p);
  if (!allowed.ok()) return absl::StrCat("does not allow itself: ", allowed.ToString(), "\n", text);
  for (const TuningParameters& q : others) {
    if (again->Allows(q).ok() == MeanTheSame(problem, p, q)) continue;
    return absl::StrCat("differs from MeanTheSame:\n", text, ToText(q), "\n",
                        again->Allows(q).ToString());
  }
  return "";
}

// Short: deploy/docs/schedules.md names the form for 10,000.
TEST(SchedulesOfRecordsTest, AllowWhatMeansTheSame) {
  constexpr int kJudged = 6;
  Rng rng(FreshSeed());
  for (const std::string& name : ShippedExpressionNames(MDH_SOURCE_DIR)) {
    const Result<Expression> expression = ShippedExpression(MDH_SOURCE_DIR, name, 24);
    ASSERT_TRUE(expression.ok()) << expression.status();
    for (const SpaceBackend& target : SpaceBackends()) {
      const auto space = MdhSpace::Create(*expression, target.model, target.device);
      ASSERT_TRUE(space.ok()) << space.status();
      const MdhProblem problem = ProblemOf(*expression, target);
      for (int n = 0; n < kJudged; ++n) {
        const Configuration c = space->space().Sample(rng);
        std::vector<TuningParameters> others = {space->Decode(space->space().Sample(rng))};
        for (const Change& change : space->space().Neighbours(c)) {
          if (rng() % 4 != 0) continue;
          Configuration changed = c;
          changed[change.parameter] = change.code;
          others.push_back(space->Decode(changed));
        }
        ASSERT_EQ(JudgePrinted(problem, space->Decode(c), others), "")
            << name << " on " << target.name << "\n"
            << ToText(space->Decode(c));
      }
    }
  }
}

TEST(SchedulesOfRecordsTest, HaveAtMostTwelveLinesForMatMul) {
  const Expression product = *ShippedExpression(MDH_SOURCE_DIR, "matmul");
  Rng rng(FreshSeed());
  for (const SpaceBackend& target : SpaceBackends()) {
    const auto space = MdhSpace::Create(product, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    for (int n = 0; n < 50; ++n) {
      const TuningParameters p = space->Decode(space->space().Sample(rng));
      const std::string text = Schedule::Of(p, product, target.model).CanonicalText();
      EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12) << text;
    }
  }
}

// A few decisions of a configuration, some of which are turned round.
Schedule RandomPart(const Schedule& whole, Rng& rng) {
  std::vector<Decision> decisions;
  for (const Decision& decision : whole.decisions()) {
    if (rng() % 4 != 0) continue;
    decisions.push_back(decision);
    Decision& added = decisions.back();
    if (rng() % 3 == 0 && !added.values.spans().empty()) {
      added.values = ValueSet(added.values.spans(), /*is_negated=*/true);
    }
    if (added.kind == Decision::Kind::kOrder && rng() % 2 == 0 && added.before.size() > 2) {
      added.after = {added.before.back()};
      added.before = {added.before.front()};
      added.has_others = true;
    }
  }
  return whole.With(std::move(decisions));
}

void ExpectFiltered(const Expression& expression, const SpaceBackend& target, Rng& rng) {
  const auto free = MdhSpace::Create(expression, target.model, target.device);
  ASSERT_TRUE(free.ok()) << free.status();
  constexpr int kMost = 60'000;
  if (free->space().count() > kMost) GTEST_FAIL() << "not small: " << free->space().count();
  std::vector<TuningParameters> all;
  free->space().Enumerate([&](const Configuration& c) {
    all.push_back(free->Decode(c));
    return true;
  });
  for (int n = 0; n < 12; ++n) {
    const TuningParameters& p = all[rng() % all.size()];
    const Schedule schedule = RandomPart(Schedule::Of(p, expression, target.model), rng);
    const auto left = std::count_if(all.begin(), all.end(), [&](const TuningParameters& q) {
      return schedule.Allows(q).ok();
    });
    const auto pinned = MdhSpace::Create(expression, target.model, target.device,
                                         NumericsPolicy::kReassociate, {}, {}, &schedule);
    if (left == 0) {
      EXPECT_FALSE(pinned.ok()) << schedule.CanonicalText();
      continue;
    }
    ASSERT_TRUE(pinned.ok()) << pinned.status() << "\n" << schedule.CanonicalText();
    EXPECT_EQ(pinned->space().count(), left) << target.name << "\n" << schedule.CanonicalText();
    EXPECT_TRUE(pinned->has_exactly_schedule());
    for (int k = 0; k < 20; ++k) {
      const TuningParameters q = pinned->Decode(pinned->space().Sample(rng));
      EXPECT_TRUE(schedule.Allows(q).ok()) << schedule.Allows(q) << "\n" << ToText(q);
      EXPECT_TRUE(pinned->Encode(q).has_value()) << pinned->WhyNot(q);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

Expression Parsed(const std::string& text) { return *ParseExpression(text, {}, "expression"); }

// Sizes of which all numbers of parts are offered, so that pinned spaces offer nothing more.
TEST(PinnedSpacesTest, HoldWhatIsLeftOfFreeOnes) {
  Rng rng(FreshSeed());
  for (const SpaceBackend& target : SpaceBackends()) {
    for (const std::string& text : {
             std::string("sums := out_view<fp32>( s: (i) -> (i) ) o md_hom<3,4>( f, (++, +) ) o "
                         "inp_view<fp32>( A: (i,j) -> (i,j) ) where f(a) -> s { s = a }"),
             std::string("turned := out_view<fp32>( B: (i,j) -> (j,i) ) o md_hom<4,3>( f, (++, ++) "
                         ") o inp_view<fp32>( A: (i,j) -> (i,j) ) where f(a) -> b { b = a }"),
         }) {
      ExpectFiltered(Parsed(text), target, rng);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace mdh::mdh_space_schedule_test
