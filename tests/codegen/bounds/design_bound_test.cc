#include "codegen/bounds/design_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/parser.h"
#include "tests/codegen/bounds/configuration_ranges.h"
#include "tests/shipped_expression.h"

namespace mdh::design_bound_test {
namespace {

using ::testing::HasSubstr;

DeviceDescription H100() {
  DeviceDescription device = *DescribeCudaArchitecture(90);
  device.limits = {.clock_hz = 1.98e9, .memory_bytes_per_s = 3.352e12};
  return device;
}

DesignBound OnH100(const Expression& expression) {
  return DesignBound(expression, H100(), RatesOf(H100(), {}), NumericsPolicy::kReassociate);
}

double TimeOf(const std::vector<Floor>& floors, const std::string& resource) {
  for (const Floor& floor : floors) {
    if (floor.resource == resource) return floor.time_ns;
  }
  return 0;
}

ExtentRanges Box(std::initializer_list<int64_t> extents) {
  ExtentRanges box;
  for (const int64_t extent : extents) box.push_back({extent, extent});
  return box;
}

constexpr double kNs = 1e9 / 1.98e9;  // of a cycle

Expression Product(const char* i, const char* j, const char* k) {
  return Shipped("matmul.mdh", {{"I", i}, {"J", j}, {"K", k}});
}

TEST(DesignBound, BlocksComeInWholeTurns) {
  const DesignBound bound = OnH100(Product("1024", "1024", "1024"));
  const auto of_part = [&](int64_t i, int64_t j) {
    return TimeOf(bound.Floors({.part = Box({i, j, 1024}),
                                .around_threads = Box({i, j, 1024}),
                                .thread = Box({1, 1, 1024})}),
                  "the busiest core");
  };
  // 64 blocks on 132 multiprocessors, and 256, of which one has two.
  EXPECT_NEAR(of_part(128, 128), 128.0 * 128 * 1024 / 128 * kNs, 1e-3);
  EXPECT_NEAR(of_part(64, 64), 2 * 64.0 * 64 * 1024 / 128 * kNs, 1e-3);
  // The last blocks of 1000 = 7 * 128 + 104 are not whole.
  const DesignBound ragged = OnH100(Product("1000", "1000", "1024"));
  EXPECT_NEAR(TimeOf(ragged.Floors({.part = Box({128, 128, 1024})}), "the busiest core"),
              128.0 * 128 * 1024 / 128 * kNs, 1e-3);
}

TEST(DesignBound, WarpsAreOfThirtyTwoThreads) {
  const DesignBound bound = OnH100(Product("1024", "1024", "1024"));
  const auto floors = [&](ExtentRanges thread) {
    return bound.Floors({.part = Box({64, 64, 1024}),
                         .around_threads = Box({64, 64, 1024}),
                         .thread = std::move(thread)});
  };
  // 256 threads fill their warps; 16 of them, in each of two blocks, half of one.
  EXPECT_NEAR(TimeOf(floors(Box({4, 4, 1024})), "a scheduler of warps"),
              TimeOf(floors(Box({4, 4, 1024})), "the busiest core"), 1e-3);
  EXPECT_NEAR(TimeOf(floors(Box({16, 16, 1024})), "a scheduler of warps"), 16.0 * 16 * 1024 * kNs,
              1e-3);
}

TEST(DesignBound, ThreadsReadWhatTheyCompute) {
  const DesignBound bound = OnH100(Product("1024", "1024", "1024"));
  const auto loads = [&](int64_t i, int64_t j) {
    return TimeOf(bound.Floors({.part = Box({64, 64, 1024}),
                                .around_threads = Box({64, 64, 8}),
                                .thread = Box({i, j, 8})}),
                  "loads of threads");
  };
  // Two blocks; a thread reads i rows and j columns of 1024 elements, four at a time.
  EXPECT_NEAR(loads(1, 1), 2 * 128 * (1 + 1) * 256.0 * kNs, 1e-3);
  EXPECT_NEAR(loads(8, 8), 2 * 2 * (8 + 8) * 256.0 * kNs, 1e-3);
}

DeviceDescription Host() {
  DeviceDescription host;
  host.cores = 8;
  host.isa = "x86-64 avx2 fma";
  host.simd_bytes = 32;
  host.limits.clock_hz = 2e9;
  return host;
}

DesignBound OnHost(const Expression& expression) {
  return DesignBound(expression, Host(), RatesOf(Host(), {}), NumericsPolicy::kReassociate);
}

// Four parts are one of four cores each, which may leave out what is equal to other results; what
// is left of twelve parts eight cores share, however they are cut.
TEST(DesignBound, CoresOfHostsShareEqualResults) {
  const Expression gram = *ParseExpression(
      "gram<T = fp32> := out_view<T>( y: (i,j,k) -> (i,j) ) o md_hom<120,120,64>( f, (++, ++, +) ) "
      "o inp_view<T>( x: (i,j,k) -> (i,k), (i,j,k) -> (j,k) ) where f(a, b) -> y { y = a * b }",
      {});
  const auto busiest = [](const DesignBound& bound, int64_t rows) {
    return TimeOf(bound.Floors({.part = Box({rows, 120, 64})}), "the busiest core");
  };
  const DesignBound half = OnHost(gram), all = OnHost(Product("120", "120", "64"));
  EXPECT_NEAR(busiest(half, 30), busiest(all, 30) / 2, 1e-3);
  EXPECT_NEAR(busiest(half, 10), busiest(half, 15), 1e-3);
  EXPECT_NEAR(busiest(all, 10), 2 * 10.0 / 15 * busiest(all, 15), 1e-3);
}

TEST(DesignBound, VectorsOfHostsHaveLanes) {
  const DesignBound bound = OnHost(Product("64", "100", "1024"));
  const auto cycles = [&](int d, int64_t lanes) {
    return 2 * TimeOf(bound.Floors({.part = Box({8, 100, 1024}),
                                    .vectors_along = DimensionSet{1} << d,
                                    .most_lanes = lanes}),
                      "vectors of a core");
  };
  // Two instructions a cycle; those of 16 lanes are two of 8.
  EXPECT_NEAR(cycles(1, 4), 8 * 100.0 * 1024 / (2 * 4), 1e-3);
  EXPECT_NEAR(cycles(0, 8), 8 * 100.0 * 1024 / (2 * 8), 1e-3);
  EXPECT_NEAR(cycles(0, 16), 4 * 100.0 * 1024 / (2 * 8), 1e-3);
  // Of 100 points 96 are in vectors of 8.
  EXPECT_NEAR(cycles(1, 8), 8 * 96.0 * 1024 / (2 * 8), 1e-3);
  // More lanes than any program has.
  EXPECT_EQ(cycles(1, 256), 0);
  // Several dimensions may have them: the least counts; or none, and compilers may make vectors.
  const auto along = [&](DimensionSet dimensions) {
    return TimeOf(
        bound.Floors({.part = Box({8, 100, 1024}), .vectors_along = dimensions, .most_lanes = 8}),
        "vectors of a core");
  };
  EXPECT_EQ(2 * along(0b11), cycles(1, 8));
  EXPECT_EQ(along(0), 0);
  // Without vectors two instructions a cycle; where some have them, theirs count.
  DesignRanges scalar = {.part = Box({8, 100, 1024}), .may_be_scalar = true};
  EXPECT_NEAR(2 * TimeOf(bound.Floors(scalar), "vectors of a core"), 8 * 100.0 * 1024 / 2, 1e-3);
  scalar.vectors_along = 0b10;
  scalar.most_lanes = 8;
  EXPECT_EQ(2 * TimeOf(bound.Floors(scalar), "vectors of a core"), cycles(1, 8));
}

// However rows are divided, some core has an eighth of the products.
TEST(DesignBound, VectorsDoNotAskHowOtherDimensionsAreCut) {
  const DesignBound bound = OnHost(Product("64", "100", "1024"));
  DesignRanges ranges = {
      .part = {{1, 64}, {100, 100}, {1024, 1024}}, .vectors_along = 0b10, .most_lanes = 4};
  const auto cycles = [&] { return 2 * TimeOf(bound.Floors(ranges), "vectors of a core"); };
  EXPECT_NEAR(cycles(), 64 * 100.0 * 1024 / 8 / (2 * 4), 1e-3);
  ranges.most_threads = 2;
  EXPECT_NEAR(cycles(), 64 * 100.0 * 1024 / 2 / (2 * 4), 1e-3);
  // Of the dimension with vectors half is certainly in whole parts, and half of these in vectors.
  ranges.part[1] = {1, 100};
  EXPECT_NEAR(cycles(), 64 * 25.0 * 1024 / 2 / (2 * 4), 1e-3);
  ranges.vectors_along = 0;
  ranges.may_be_scalar = true;
  EXPECT_NEAR(cycles(), 64 * 100.0 * 1024 / 2 / 2, 1e-3);
}

TEST(DesignBound, ProcessorsWithoutWideVectorsHaveMoreUnits) {
  DeviceDescription arm = Host();
  arm.isa = "aarch64 neon";
  const DesignBound bound(Product("64", "64", "64"), arm, RatesOf(arm, {}),
                          NumericsPolicy::kReassociate);
  // Vectors of 16 bytes are as wide as they are.
  const DesignRanges ranges = {.part = Box({8, 64, 64}), .vectors_along = 0b10, .most_lanes = 4};
  EXPECT_EQ(TimeOf(bound.Floors(ranges), "vectors of a core"),
            TimeOf(bound.Floors(ranges), "the busiest core"));
}

TEST(DesignBound, CoresOfHostsLoadWhatTheirPartsRead) {
  const DesignBound bound = OnHost(Product("64", "1024", "1024"));
  const auto cycles = [&](int64_t i, int64_t j) {
    return 2 * TimeOf(bound.Floors({.part = Box({i, j, 1024})}), "loads of a core");
  };
  // A row and all columns, but for what registers may have; 8 such parts on each core.
  EXPECT_NEAR(cycles(1, 1024), 8 * (4.0 * 1024 * (1 + 1024) - 4096) / 128, 1e-2);
  // 8 * 16 parts that read two rows and 64 columns each, on 8 cores.
  EXPECT_NEAR(cycles(8, 64), 16 * (4.0 * 1024 * (8 + 64) - 4096) / 128, 1e-2);
  const DesignBound small = OnHost(Product("8", "8", "8"));
  EXPECT_EQ(TimeOf(small.Floors({.part = Box({8, 8, 8})}), "loads of a core"), 0);
  EXPECT_EQ(TimeOf(OnH100(Product("64", "1024", "1024")).Floors({.part = Box({1, 1024, 1024})}),
                   "loads of a core"),
            0);
}

// D[l, j] of sums over k and l: where loops go through k, too, what is read of it is the same in
// all iterations of the innermost one, perhaps, and for all i and k.
TEST(DesignBound, WhatLoopsMayKeepIsPutTogetherOnce) {
  const DesignBound bound = OnHost(
      Shipped("mttkrp.mdh", {{"T", "fp32"}, {"I", "64"}, {"J", "64"}, {"K", "512"}, {"L", "512"}}));
  DesignRanges ranges = {.part = Box({8, 64, 512, 512}),
                         .vectors_along = 0b10,
                         .most_lanes = 8,
                         .least_lanes = 8,
                         .tile = Box({2, 8, 1, 1}),
                         .around_tile = Box({8, 64, 512, 512}),
                         .reduces_in_tile = true,
                         .apart = {0, 0, 0b10}};
  const auto cycles = [&] { return 2 * TimeOf(bound.Floors(ranges), "elements put into vectors"); };
  EXPECT_NEAR(cycles(), 64 * 512.0 / 8 * 7 / 8 / 2, 1e-2);
  ranges.tile = Box({2, 8, 512, 1});
  EXPECT_NEAR(cycles(), 8.0 / 2 * 64 * 512 * 7 / 8 / 2, 1e-2);
}

// Vectors of 8 elements, of which 7 are put beside others, two in a cycle.
TEST(DesignBound, ElementsArePutIntoVectorsOneByOne) {
  const DesignBound bound = OnHost(Product("64", "1024", "512"));
  const DesignRanges ranges = {.part = Box({8, 1024, 512}),
                               .vectors_along = 0b100,
                               .most_lanes = 8,
                               .least_lanes = 8,
                               .tile = Box({4, 2, 8}),
                               .around_tile = Box({8, 1024, 512}),
                               .reduces_in_tile = true,
                               .apart = {0, 0b100}};
  const auto cycles = [&](const DesignRanges& of) {
    return 2 * TimeOf(bound.Floors(of), "elements put into vectors");
  };
  // Columns, of which four rows have each in common.
  const double all = 8.0 / 4 * 1024 * 512 * 7 / 8 / 2;
  EXPECT_NEAR(cycles(ranges), all, 1e-2);
  DesignRanges other = ranges;
  // Of 500 products of a row 496 are in whole iterations.
  other.part[2] = other.around_tile[2] = {500, 500};
  EXPECT_NEAR(cycles(other), all * 496 / 512, all / 100);
  other = ranges;
  other.least_lanes = 2;
  other.never_grows = true;
  EXPECT_NEAR(cycles(other), all / 7 * 4, 1e-2);
  other = ranges;
  other.tile[0] = {1, 8};
  EXPECT_NEAR(cycles(other), all / 2, 1e-2);
  // What compilers may unroll may be kept for other rows, all 64 of them; so with loops in any
  // order.
  const double kept = all * 4 / 64;
  other = ranges;
  other.around_tile[2] = {64, 64};
  EXPECT_NEAR(cycles(other), kept, 1e-2);
  other.never_grows = true;
  EXPECT_NEAR(cycles(other), all, 1e-2);
  other.around_tile[2] = {24, 24};
  EXPECT_NEAR(cycles(other), kept, 1e-2);
  other = ranges;
  other.reduces_in_tile = false;
  EXPECT_NEAR(cycles(other), kept, 1e-2);
  // Maybe no vectors; maybe along columns; no input is apart.
  for (const int what : {1, 2, 3}) {
    other = ranges;
    if (what == 1) other.may_be_scalar = true;
    if (what == 2) other.vectors_along = 0b110;
    if (what == 3) other.apart = {0, 0};
    EXPECT_EQ(cycles(other), 0) << what;
  }
  DeviceDescription arm = Host();
  arm.isa = "aarch64 neon";
  const DesignBound elsewhere(Product("64", "1024", "512"), arm, RatesOf(arm, {}),
                              NumericsPolicy::kReassociate);
  EXPECT_EQ(TimeOf(elsewhere.Floors(ranges), "elements put into vectors"), 0) << "not known";
}

// Of a matrix that is multiplied by a vector no two points share an element: each is put into a
// vector, whatever becomes of loops.
TEST(DesignBound, WhatNobodySharesIsPutTogetherForEachPoint) {
  const DesignBound bound = OnHost(Shipped("matvec.mdh", {{"I", "1024"}, {"K", "512"}}));
  DesignRanges ranges = {.part = Box({128, 512}),
                         .vectors_along = 0b01,
                         .most_lanes = 8,
                         .least_lanes = 8,
                         .tile = Box({8, 2}),
                         .around_tile = Box({8, 4}),
                         .reduces_in_tile = true,
                         .apart = {0b01, 0}};
  const auto cycles = [&] { return 2 * TimeOf(bound.Floors(ranges), "elements put into vectors"); };
  const double all = 128 * 512.0 * 7 / 8 / 2;
  EXPECT_NEAR(cycles(), all, 1e-2);
  // Of 100 rows 96 are in vectors, of those of parts that are not whole along them none, perhaps.
  ranges.part = Box({100, 512});
  EXPECT_NEAR(cycles(), 2 * 96 * 512.0 * 7 / 8 / 2, 1e-2);
  ranges.part[0] = {1, 128};
  EXPECT_LT(cycles(), all);
  EXPECT_GT(cycles(), all / 5);
}

TEST(DesignBound, HostsHaveNoMoreThreadsThanTheyAreTold) {
  DeviceDescription host = Host();
  host.limits.clock_hz = 0;
  host.clock_hz = 2e9;
  const DesignBound bound(Product("1024", "1024", "1024"), host, RatesOf(host, {}),
                          NumericsPolicy::kReassociate);
  const DesignRanges ranges = {.part = Box({64, 1024, 1024})};
  DesignRanges on_two = ranges;
  on_two.most_threads = 2;
  EXPECT_GT(bound.TimeNs(ranges), 0);
  EXPECT_DOUBLE_EQ(bound.TimeNs(on_two), 4 * bound.TimeNs(ranges));
  const std::vector<Floor> floors = bound.Floors(ranges);
  ASSERT_EQ(floors.size(), 2u);
  EXPECT_EQ(floors[1].resource, "loads of a core");
  EXPECT_THAT(floors[0].reason, HasSubstr("whole parts that one of them has"));
  EXPECT_EQ(floors[0].time_ns, bound.TimeNs(ranges));
  EXPECT_THAT(floors[0].assumption, HasSubstr("no core is clocked above"));
}

TEST(DesignBound, KnowsNothingOfOtherPrograms) {
  const Expression cube = Product("64", "64", "64");
  EXPECT_EQ(OnH100(cube).TimeNs({}), 0);
  TuningParameters parameters;
  parameters.tile = LevelTable<int64_t>(CudaModel().layers.size(), {1, 1, 1});
  EXPECT_TRUE(RangesOf(parameters, CudaModel(), cube).has_value());
  parameters.unit.rows = 64;
  EXPECT_FALSE(RangesOf(parameters, CudaModel(), cube).has_value());
  // Threads of models with warps are not what one layer says.
  parameters.unit.rows = 0;
  parameters.tile = LevelTable<int64_t>(CudaWarpModel().layers.size(), {1, 1, 1});
  EXPECT_TRUE(RangesOf(parameters, CudaWarpModel(), cube)->thread.empty());
}

// Of the lanes that parameters say.
TEST(DesignBound, VectorsAreThoseOfTheParameters) {
  const SystemModel model = OpenMpSimdRegistersModel();
  const Expression cube = Product("64", "64", "64");
  TuningParameters parameters;
  parameters.lowering = Lowering::kTiles;
  parameters.tile = LevelTable<int64_t>(model.layers.size(), {1, 8, 1});
  const std::optional<DesignRanges> ranges = RangesOf(parameters, model, cube);
  ASSERT_TRUE(ranges.has_value());
  EXPECT_EQ(ranges->vectors_along, 0b10u);
  EXPECT_EQ(ranges->most_lanes, 8);
  // Instructions for products of vectors have rates of their own.
  parameters.dot = 3;
  EXPECT_EQ(RangesOf(parameters, model, cube)->vectors_along, 0u);
  parameters.dot = 0;
  EXPECT_FALSE(RangesOf(parameters, model, cube)->may_be_scalar);
  parameters.tile = LevelTable<int64_t>(model.layers.size(), {1, 1, 1});
  EXPECT_EQ(RangesOf(parameters, model, cube)->vectors_along, 0u);
  EXPECT_TRUE(RangesOf(parameters, model, cube)->may_be_scalar);
  // Compilers may make vectors of numbers that they may add up in any order, of levels, and of
  // models without lanes.
  EXPECT_FALSE(RangesOf(parameters, model, Shipped("histo.mdh", {}))->may_be_scalar);
  const Expression sum = Shipped("reduce.mdh", {});
  EXPECT_TRUE(RangesOf(parameters, model, sum)->may_be_scalar);
  parameters.numerics = NumericsPolicy::kExactOrder;
  EXPECT_FALSE(RangesOf(parameters, model, sum)->may_be_scalar);
  EXPECT_TRUE(RangesOf(parameters, model, cube)->may_be_scalar);
  parameters.lowering = Lowering::kLevels;
  EXPECT_FALSE(RangesOf(parameters, model, cube)->may_be_scalar);
  parameters.lowering = Lowering::kTiles;
  EXPECT_FALSE(RangesOf(parameters, OpenMpModel(), cube)->may_be_scalar);
}

// Ranges that hold others have the smaller bound; so do more lanes, and more dimensions with them.
TEST(DesignBound, OfVectorsFallsWithWhatIsOpen) {
  const DesignBound bound = OnHost(Product("40", "77", "33"));
  const auto of = [&](int64_t low, int64_t high, int64_t lanes, DimensionSet along) {
    return TimeOf(
        bound.Floors(
            {.part = {{low, high}, {7, 7}, {33, 33}}, .vectors_along = along, .most_lanes = lanes}),
        "vectors of a core");
  };
  for (const int64_t lanes : {2, 4, 8, 16}) {
    for (int64_t low = 1; low <= 40; ++low) {
      for (int64_t high = std::max<int64_t>(low, 2); high <= 40; ++high) {
        ASSERT_LE(of(low, high, lanes, 0b111), of(low, high, lanes, 0b1));
        ASSERT_LE(of(low, high, lanes, 0b1), of(low, high, lanes / 2, 0b1));
        ASSERT_LE(of(low, high, lanes, 0b1), of(high, high, lanes, 0b1));
        const int64_t least = std::max<int64_t>(low, 2);  // of a part that has a vector
        ASSERT_LE(of(low, high, lanes, 0b1), of(least, least, lanes, 0b1));
      }
    }
  }
}

// Ranges that hold others have the smaller bound.
TEST(DesignBound, FallsWithWhatIsOpen) {
  const DesignBound bound = OnH100(Product("1000", "77", "333"));
  for (int64_t low = 1; low <= 77; ++low) {
    for (int64_t high = low; high <= 77; ++high) {
      const auto of = [&](int64_t a, int64_t b) {
        return bound.TimeNs({.part = {{a, b}, {7, 7}, {333, 333}},
                             .around_threads = {{a, b}, {7, 7}, {9, 9}},
                             .thread = {{1, 1}, {1, 7}, {9, 9}}});
      };
      ASSERT_LE(of(low, high), of(low, low));
      ASSERT_LE(of(low, high), of(high, high));
      ASSERT_LE(of(low, high), of(std::min(low + 1, high), high));
    }
  }
}

}  // namespace
}  // namespace mdh::design_bound_test
