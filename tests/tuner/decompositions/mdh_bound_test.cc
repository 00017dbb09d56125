// Bounds of partial configurations: never more than those of what is left of them.
#include "tuner/decompositions/mdh_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "codegen/backends/build_program.h"
#include "codegen/lower/tiles/loop_plan.h"
#include "codegen/program/shuffled_stride.h"
#include "core/decomposition/low_level_expression.h"
#include "tests/codegen/bounds/configuration_ranges.h"
#include "tests/codegen/bounds/executed_work.h"
#include "tests/drawn.h"
#include "tests/fresh_seed.h"
#include "tests/shipped_expression.h"
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
  if (RunsOnHost(device) && device.isa.empty()) device.isa = "x86-64 avx2 fma";
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

// Expects that what floors take for apart is: that no tile of the program which is generated loads
// vectors there, nor shuffles them.
void ExpectApart(const MdhSpace& space, const SpaceBackend& target, const DesignRanges& ranges,
                 const TuningParameters& parameters) {
  const auto low_level = Lower(space.divided(), target.model, target.device, parameters);
  ASSERT_TRUE(low_level.ok()) << low_level.status();
  const LoopPlan plan(*low_level);
  const int along = plan.vector_dimension();
  for (int b = 0; b < std::ssize(ranges.apart); ++b) {
    if (ranges.apart[b] == 0) continue;
    ASSERT_EQ(ranges.apart[b], DimensionSet{1} << along);
    const Buffer& buffer = space.divided().inputs()[b];
    const StagedCopy* const copy = plan.StagedInput(b);
    for (int a = 0; a < std::ssize(buffer.accesses); ++a) {
      int64_t stride = copy == nullptr ? buffer.Linearized(a).coefficients[along] : 0;
      for (int x = 0; copy != nullptr && x < std::ssize(buffer.extents); ++x) {
        stride += buffer.accesses[a].indices[x].coefficients[along] *
                  (x == copy->strip_dimension ? 1 : copy->strides[x]);
      }
      EXPECT_NE(stride, 0) << ToText(parameters);
      EXPECT_FALSE(IsShuffledStride(stride, plan.lanes())) << ToText(parameters);
    }
  }
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
        const TuningParameters parameters = space->Decode(drawn);
        std::optional<DesignRanges> decoded = RangesOf(parameters, target.model, space->divided());
        if (!decoded.has_value()) continue;  // prefix sums, of which floors know nothing
        Codes codes;
        for (const int64_t code : drawn) codes.push_back({code});
        const DesignRanges ranges = space->RangesOf(SpansOf(codes));
        ExpectApart(*space, target, ranges, parameters);
        if (HasFatalFailure()) return;
        decoded->apart = ranges.apart;
        EXPECT_EQ(*decoded, ranges) << space->space().ToText(drawn);
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

// B[k, j] of a product, as vectors along k read it, in place and from copies.
TEST(MdhBound, KnowsWhereVectorsArePutTogether) {
  SpaceBackend target = SpaceBackends()[0];
  target.model = OpenMpSimdRegistersModel();
  target.device.simd_bytes = 32;
  target.device.isa = "x86-64 avx2 fma";
  const Expression expression = Shipped("matmul.mdh", {{"I", "16"}, {"J", "64"}, {"K", "512"}});
  const auto space = MdhSpace::Create(expression, target.model, target.device);
  ASSERT_TRUE(space.ok()) << space.status();
  const auto codes_of = [&](const std::string& inputs, const std::string& tiles) {
    const Result<TuningParameters> parameters = ParseTuningParameters(
        absl::StrCat("model=OpenMP+SIMD+RM; tile=8,64,512|8,64,512|8,64,512|", tiles,
                     "; order=0,1,2|0,1,2|0,1,2|0,1,2|0,1,2|0,1,2; inputs=in_place:0,1:-1|", inputs,
                     "; accumulate=registers; chains=one; compiler=gcc"));
    EXPECT_TRUE(parameters.ok()) << parameters.status();
    const auto encoded = space->Encode(*parameters);
    EXPECT_TRUE(encoded.has_value()) << space->WhyNot(*parameters);
    Codes codes;
    for (const int64_t code : *encoded) codes.push_back({code});
    return codes;
  };
  constexpr char kAlongJ[] = "2,8,4|1,8,1|1,1,1", kAlongK[] = "2,1,8|1,1,8|1,1,1";
  using Sets = std::vector<DimensionSet>;
  const auto apart = [&](const std::string& inputs, const std::string& tiles) {
    const DesignRanges of = space->RangesOf(SpansOf(codes_of(inputs, tiles)));
    return Sets(of.apart.begin(), of.apart.end());
  };
  EXPECT_EQ(apart("in_place:0,1:-1", kAlongJ), (Sets{0, 0}));
  EXPECT_EQ(apart("in_place:0,1:-1", kAlongK), (Sets{0, 0b100}));
  EXPECT_EQ(apart("2:1,0:-1", kAlongJ), (Sets{0, 0b010}));
  EXPECT_EQ(apart("2:1,0:-1", kAlongK), (Sets{0, 0}));
  EXPECT_EQ(apart("2:1,0:1", kAlongJ), (Sets{0, 0}));
  // Each is put beside others once for the two rows of a tile.
  const MdhBound bound(*space, expression, FactsFor(target.device));
  const ProblemBound put_together = bound.Explain(SpansOf(codes_of("in_place:0,1:-1", kAlongK)));
  EXPECT_EQ(put_together.floors.front().resource, "elements put into vectors");
  EXPECT_NEAR(put_together.time_ns(), 8.0 / 2 * 64 * 512 * 7 / 8 / 2 / 4, 1e-3);
  Rng rng(FreshSeed());
  for (int n = 0; n < 20; ++n) {
    Configuration configuration;
    for (const std::vector<int64_t>& code : codes_of("in_place:0,1:-1", kAlongK)) {
      configuration.push_back(code.front());
    }
    ExpectRising(*space, bound, configuration, rng);
  }
}

// Cycles of a floor.
double CyclesOf(const MdhBound& bound, OpenCodes open, const std::string& resource,
                double clock_hz) {
  for (const Floor& floor : bound.Explain(open).floors) {
    if (floor.resource == resource) return floor.time_ns * clock_hz / 1e9;
  }
  return 0;
}

// Programs that are generated execute what floors say at least, as compilers only leave out.
TEST(MdhBound, NoFloorIsMoreThanWhatProgramsExecute) {
  SpaceBackend target = SpaceBackends()[0];
  target.device.isa = "x86-64 avx2 fma";
  target.device.cores = 1;
  const BoundFacts facts = FactsFor(target.device);
  Rng rng(FreshSeed());
  double most_of_joins = 0, most_of_loads = 0;
  for (const auto& [file, sizes] : std::vector<std::pair<const char*, Bindings>>{
           {"matvec.mdh", {{"I", "70"}, {"K", "67"}}},
           {"matmul.mdh", {{"I", "9"}, {"J", "40"}, {"K", "130"}}},
           {"matmul_t.mdh", {{"I", "9"}, {"J", "40"}, {"K", "130"}}},
           {"bmatmul.mdh", {{"B", "3"}, {"I", "5"}, {"J", "24"}, {"K", "33"}}},
           {"mttkrp.mdh", {{"T", "fp32"}, {"I", "5"}, {"J", "24"}, {"K", "9"}, {"L", "17"}}}}) {
    const Expression expression = Shipped(file, sizes);
    const auto space = MdhSpace::Create(expression, target.model, target.device);
    ASSERT_TRUE(space.ok()) << space.status();
    const MdhBound bound(*space, expression, facts);
    for (int n = 0; n < 40; ++n) {
      const Configuration drawn = space->space().Sample(rng);
      const auto low_level =
          Lower(space->divided(), target.model, target.device, space->Decode(drawn));
      ASSERT_TRUE(low_level.ok()) << low_level.status();
      const auto built = BuildProgram(*low_level, target.device);
      ASSERT_TRUE(built.ok()) << built.status();
      const ExecutedWork work = ExecutedWorkOf(built->program, target.device.simd_bytes);
      Codes codes;
      for (const int64_t code : drawn) codes.push_back({code});
      const auto cycles = [&](const char* resource) {
        return CyclesOf(bound, SpansOf(codes), resource, facts.rates.clock_hz);
      };
      const double joins = cycles("elements put into vectors") * facts.rates.joins;
      const double loaded = cycles("loads of a core") * 128;
      ASSERT_LE(joins, static_cast<double>(work.joins)) << file << space->space().ToText(drawn);
      ASSERT_LE(loaded, static_cast<double>(work.loaded_bytes)) << space->space().ToText(drawn);
      if (work.joins > 0) {
        most_of_joins = std::max(most_of_joins, joins / static_cast<double>(work.joins));
      }
      most_of_loads = std::max(most_of_loads, loaded / static_cast<double>(work.loaded_bytes));
    }
  }
  EXPECT_GT(most_of_joins, 0.9);
  EXPECT_GT(most_of_loads, 0.1);
}

}  // namespace
}  // namespace mdh::mdh_bound_test
