// Bounds of partial configurations: never more than those of what is left of them.
#include "tuner/decompositions/mdh_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tests/codegen/bounds/configuration_ranges.h"
#include "tests/drawn.h"
#include "tests/fresh_seed.h"
#include "tests/source_path.h"
#include "tests/tuner/decompositions/space_problems.h"

namespace mdh::mdh_bound_test {
namespace {

// Of what decisions leave: of values that have completions.
double BoundOf(const MdhBound& bound, const PartialConfiguration& partial) {
  const std::vector<std::vector<int64_t>> codes = RemainingCodes(partial);
  return bound.Of(SpansOf(codes));
}

using Codes = std::vector<std::vector<int64_t>>;

BoundFacts FactsFor(DeviceDescription device) {
  device.clock_hz = 2e9;
  const DeviceRates rates = RatesOf(device, {});
  return {std::move(device), rates, {.calls = 1}};
}

bool IsWithin(const ExtentRanges& inner, const ExtentRanges& outer) {
  if (inner.size() != outer.size()) return false;
  for (size_t d = 0; d < inner.size(); ++d) {
    if (inner[d].low < outer[d].low || inner[d].high > outer[d].high) return false;
  }
  return true;
}

// Decides one parameter after the other as a configuration has them, in any order.
void ExpectRising(const MdhSpace& space, const MdhBound& bound, const Configuration& configuration,
                  Rng& rng) {
  const DesignRanges own = space.RangesOf(SpansOf([&] {
    Codes codes;
    for (const int64_t code : configuration) codes.push_back({code});
    return codes;
  }()));
  std::vector<int> order(configuration.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  Codes codes = AllCodes(space.space());
  double before = bound.Of(SpansOf(codes));
  EXPECT_GE(before, bound.problem_ns());
  for (const int parameter : order) {
    codes[parameter] = {configuration[parameter]};
    const DesignRanges ranges = space.RangesOf(SpansOf(codes));
    ASSERT_TRUE(IsWithin(own.part, ranges.part) && IsWithin(own.thread, ranges.thread) &&
                IsWithin(own.around_threads, ranges.around_threads));
    const double after = bound.Of(SpansOf(codes));
    ASSERT_GE(after, before) << space.space().ToText(configuration);
    before = after;
  }
  EXPECT_EQ(before, bound.OfOne(configuration));
}

class MdhBoundTest : public ::testing::TestWithParam<int> {};

TEST_P(MdhBoundTest, RisesWithEveryDecision) {
  const SpaceBackend target = SpaceBackends()[GetParam()];
  Rng rng(FreshSeed());
  for (const std::string& name : Drawn(ShippedExpressionNames(SourcePath()), 1)) {
    for (const int64_t largest_size : {int64_t{7}, INT64_MAX}) {
      SCOPED_TRACE(absl::StrCat(name, " of sizes up to ", largest_size));
      const auto expression = ShippedExpression(SourcePath(), name, largest_size);
      ASSERT_TRUE(expression.ok()) << expression.status();
      const auto space = MdhSpace::Create(*expression, target.model, target.device);
      ASSERT_TRUE(space.ok()) << space.status();
      const MdhBound bound(*space, *expression, FactsFor(target.device));
      for (int n = 0; n < 10; ++n) {
        const Configuration drawn = space->space().Sample(rng);
        ExpectRising(*space, bound, drawn, rng);
        if (HasFatalFailure()) return;
        // Of what it decodes to, the floors see the same.
        const std::optional<DesignRanges> decoded =
            RangesOf(space->Decode(drawn), target.model, space->divided());
        if (!decoded.has_value()) continue;  // prefix sums, of which floors know nothing
        Codes codes;
        for (const int64_t code : drawn) codes.push_back({code});
        EXPECT_EQ(*decoded, space->RangesOf(SpansOf(codes))) << space->space().ToText(drawn);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MdhBoundTest,
                         ::testing::Range(0, static_cast<int>(SpaceBackends().size())),
                         [](const auto& info) { return SpaceBackends()[info.param].name; });

TEST(MdhBound, OfDecisionsIsThatOfWhatRemains) {
  const SpaceBackend target = SpaceBackends()[5];
  const auto expression = ShippedExpression(SourcePath(), "matmul");
  ASSERT_TRUE(expression.ok()) << expression.status();
  const auto space = MdhSpace::Create(*expression, target.model, target.device);
  ASSERT_TRUE(space.ok()) << space.status();
  const MdhBound bound(*space, *expression, FactsFor(target.device));
  Rng rng(FreshSeed());
  const Configuration drawn = space->space().Sample(rng);
  PartialConfiguration partial(space->space());
  double before = BoundOf(bound, partial);
  for (size_t n = 0; n < drawn.size(); ++n) {
    const auto next = partial.Decide(static_cast<int>(n), {drawn[n]});
    ASSERT_TRUE(next.ok()) << next.status();
    partial = *next;
    const double after = BoundOf(bound, partial);
    EXPECT_GE(after, before);
    before = after;
  }
  EXPECT_EQ(before, bound.OfOne(drawn));
  Codes codes;
  for (const int64_t code : drawn) codes.push_back({code});
  EXPECT_EQ(bound.Explain(SpansOf(codes)).time_ns(), before);
}

}  // namespace
}  // namespace mdh::mdh_bound_test
