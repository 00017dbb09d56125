// When a kernel was called often enough, and which times cannot be.
#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/matmul_expression.h"
#include "tests/tuner/hand_written.h"
#include "tuner/measure/compile/spill_limit.h"
#include "tuner/measure/results/plausibility.h"
#include "tuner/measure/results/runner_messages.h"
#include "tuner/measure/results/stopping_rule.h"

namespace mdh::measurement_rules_test {
namespace {

using ::testing::HasSubstr;

int CallsUntilEnough(const MeasureOptions& options, const std::vector<int64_t>& times) {
  StoppingRule rule(options);
  int calls = 0;
  while (!rule.IsEnough() && calls < 10'000) {
    const int64_t time_ns = times[static_cast<size_t>(calls++) % times.size()];
    rule.Record(time_ns, time_ns);
  }
  return calls;
}

TEST(StoppingRule, SteadyTimesStopAtTheTarget) {
  const MeasureOptions options = {.min_repeats = 3, .target_time_ns = 10'000, .max_repeats = 1000};
  EXPECT_EQ(CallsUntilEnough(options, {1000}), 10);
  EXPECT_EQ(CallsUntilEnough(options, {100'000}), 3);
}

TEST(StoppingRule, TimesThatVaryGoOnUntilTheMedianIsSure) {
  MeasureOptions options = {.min_repeats = 3,
                            .target_time_ns = 5'000,
                            .max_repeats = 10'000,
                            .precision = 0.05,
                            .max_time_ns = 1'000'000'000};
  const std::vector<int64_t> times = {1000, 1300, 1020, 1010, 990, 1500, 1000, 1005};
  const int precise = CallsUntilEnough(options, times);
  options.precision = 0;
  EXPECT_EQ(CallsUntilEnough(options, times), 5);
  EXPECT_GT(precise, 5);
  options.precision = 0.05;
  options.max_time_ns = 8'000;
  EXPECT_LE(CallsUntilEnough(options, times), 8);
}

TEST(StoppingRule, NeverMoreThanTheMost) {
  EXPECT_EQ(CallsUntilEnough({.min_repeats = 3, .target_time_ns = 1'000'000, .max_repeats = 20},
                             {1, 100}),
            20);
  EXPECT_EQ(CallsUntilEnough({.max_repeats = 0}, {1}), 0);
}

TEST(StoppingRule, CallsThatComeInAnyCaseCount) {
  StoppingRule rule({.min_repeats = 3, .target_time_ns = 0, .precision = 0});
  rule.Record(5, 5);
  rule.Record(5, 5);
  EXPECT_FALSE(rule.IsEnough());
  EXPECT_TRUE(rule.IsEnough(1));
}

TEST(StoppingRule, WhatIsSlowerThanTheBestIsNotTimedLonger) {
  MeasureOptions options = {.min_repeats = 3, .target_time_ns = 1'000'000, .best_so_far_ns = 1000};
  EXPECT_EQ(CallsUntilEnough(options, {1060, 1100, 1070, 1060}), 3);
  // Its fastest call counts, and who is as fast as the best goes on.
  EXPECT_EQ(CallsUntilEnough(options, {1060, 1100, 1040, 1060}), options.max_repeats);
  EXPECT_EQ(CallsUntilEnough(options, {1000}), options.max_repeats);
  options.best_so_far_ns = 0;
  EXPECT_EQ(CallsUntilEnough(options, {1060}), options.max_repeats);
}

TEST(StoppingRule, PromisingIsWhatIsAboutAsFastAsTheBest) {
  StoppingRule rule({.best_so_far_ns = 1000});
  EXPECT_TRUE(rule.IsPromising());
  rule.Record(1200, 1200);
  EXPECT_FALSE(rule.IsPromising());
  rule.Record(1090, 1090);
  EXPECT_TRUE(rule.IsPromising());
}

TEST(StoppingRule, DisturbedCallsAreMadeUpForAsLongAsThereIsTime) {
  const MeasureOptions options = {
      .min_repeats = 3, .target_time_ns = 3'000, .precision = 0, .max_time_ns = 50'000};
  StoppingRule rule(options);
  for (int call = 0; call < 3; ++call) {
    rule.Record(10'000, 10'000, /*was_disturbed=*/true);
    EXPECT_FALSE(rule.IsEnough());
  }
  EXPECT_TRUE(rule.is_disturbed());
  EXPECT_EQ(rule.times_ns().size(), 3u);
  for (int call = 0; call < 3; ++call) {
    EXPECT_FALSE(rule.IsEnough());
    rule.Record(1'000, 1'000);
  }
  EXPECT_TRUE(rule.IsEnough());
  EXPECT_FALSE(rule.is_disturbed());
  EXPECT_EQ(rule.times_ns(), std::vector<int64_t>(3, 1'000));

  StoppingRule busy(options);
  int calls = 0;
  for (; !busy.IsEnough(); ++calls) busy.Record(10'000, 10'000, /*was_disturbed=*/true);
  EXPECT_EQ(calls, 5);
  EXPECT_TRUE(busy.is_disturbed());
}

TEST(StoppingRule, ADisturbedCallDoesNotShowThatAKernelIsSlow) {
  const MeasureOptions options = {
      .min_repeats = 3, .target_time_ns = 1'000'000, .best_so_far_ns = 1000};
  StoppingRule rule(options);
  for (int call = 0; call < 3; ++call) rule.Record(5000, 5000, /*was_disturbed=*/true);
  EXPECT_FALSE(rule.IsEnough());
  EXPECT_TRUE(rule.IsPromising());
}

TEST(OutlookAfterFirstCalls, LaunchingTakesTimeThatIsNotTheKernels) {
  MeasureOptions options;
  EXPECT_EQ(OutlookAfterFirstCalls(options, 1e9, 1), Outlook::kOpen) << "there is no best yet";
  options.best_so_far_ns = 8'000;
  options.slow_factor = 1.25;
  EXPECT_EQ(OutlookAfterFirstCalls(options, 10e3, 20), Outlook::kOpen);
  EXPECT_EQ(OutlookAfterFirstCalls(options, 14e3, 20), Outlook::kUnknown);
  EXPECT_EQ(OutlookAfterFirstCalls(options, 14e3, 1), Outlook::kHopeless);
  EXPECT_EQ(OutlookAfterFirstCalls(options, 31e3, 20), Outlook::kHopeless);
}

TEST(OutlookAfterFirstCalls, ACallThatOthersDisturbedMustHaveTakenMoreThanTheyExplain) {
  MeasureOptions options;
  options.best_so_far_ns = 8'000'000;
  options.slow_factor = 1.25;
  EXPECT_EQ(OutlookAfterFirstCalls(options, 11e6, 1), Outlook::kHopeless);
  EXPECT_EQ(OutlookAfterFirstCalls(options, 11e6, 1, /*was_disturbed=*/true), Outlook::kOpen);
  EXPECT_EQ(OutlookAfterFirstCalls(options, 110e6, 1, /*was_disturbed=*/true), Outlook::kHopeless);
}

TEST(MedianInterval, IsThatOfTheBinomialDistribution) {
  std::vector<int64_t> times;
  for (int64_t t = 1; t <= 100; ++t) times.push_back(t);
  const Measurement::Interval interval = MedianInterval(times);
  EXPECT_EQ(interval.low_ns, 37);
  EXPECT_EQ(interval.high_ns, 64);
  EXPECT_EQ(MedianInterval({7}).low_ns, 7);
  EXPECT_EQ(MedianInterval({9, 3}).high_ns, 9);
}

constexpr MachinePeaks kPeaks = {.fp32_flops_per_s = 1e12,
                                 .fp64_flops_per_s = 5e11,
                                 .memory_bytes_per_s = 1e11,
                                 .copy_bytes_per_s = 8e10};

DeviceDescription SmallDevice() {
  DeviceDescription device;
  device.l2_bytes = 1 << 20;
  device.l3_bytes = 0;
  return device;
}

TEST(Plausibility, ArithmeticTakesItsTime) {
  const Expression expression = MatMulExpression(100, 100, 100);  // 2e6 operations, 2 us
  const auto why = [&](double time_ns) {
    return WhyImplausible(expression, time_ns, CacheState::kWarm, SmallDevice(), kPeaks);
  };
  EXPECT_FALSE(why(2'100));
  EXPECT_FALSE(why(1'400));  // peaks may be exceeded a little
  ASSERT_TRUE(why(1'000));
  EXPECT_THAT(*why(1'000), HasSubstr("1000 ns are implausible: its arithmetic at 1.5e+12 FLOP/s"));
}

TEST(Plausibility, MovingDataTakesItsTimeWhereItIsNotInCaches) {
  const auto why = [&](int64_t size, double time_ns, CacheState cache) {
    return WhyImplausible(AddExpression(size), time_ns, cache, SmallDevice(), kPeaks);
  };
  // 12 bytes an element: 8 ms for a hundred million at 1.5e11 bytes/s.
  EXPECT_TRUE(why(100'000'000, 7e6, CacheState::kWarm));
  EXPECT_FALSE(why(100'000'000, 9e6, CacheState::kWarm));
  EXPECT_FALSE(why(10'000, 100, CacheState::kWarm));
  EXPECT_TRUE(why(10'000, 100, CacheState::kCold));
}

Expression Parsed(const std::string& text) {
  Result<Expression> expression = ParseExpression(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *std::move(expression);
}

TEST(CertainOperations, ThoseOfProductsAreAllCertain) {
  EXPECT_EQ(CertainOperations(MatMulExpression(10, 20, 30)), 2.0 * 10 * 20 * 30 - 10 * 20);
}

TEST(CertainOperations, WhatCanBeHoistedCountsOnce) {
  const Expression scaled = Parsed(R"(
    scaled<| I = 100, K = 1000> :=
      out_view<fp32>( y: (i,k) -> (i) ) o md_hom<I,K>( f, (++, +) ) o
      inp_view<fp32,fp32>( x: (i,k) -> (i,k), s: (i,k) -> (i) )
    where f(x, s) -> y { y = x * sqrt(s) })");
  EXPECT_EQ(CertainOperations(scaled), 100'000 + 100 + (100'000 - 100));
}

TEST(CertainOperations, WhatASelectionMayNotAskForIsNotCertain) {
  const Expression bins = Parsed(R"(
    bins<| E = 1000, B = 50> :=
      out_view<fp32>( y: (e,b) -> (b) ) o md_hom<E,B>( f, (+, ++) ) o
      inp_view<int32,fp32,int32>( at: (e,b) -> (e), x: (e,b) -> (e), bin: (e,b) -> (b) )
    where f(at, x, bin) -> y { y = at == bin ? x * x : 0 })");
  EXPECT_EQ(CertainOperations(bins), 0);
  EXPECT_FALSE(WhyImplausible(bins, 1, CacheState::kWarm, SmallDevice(), kPeaks));
}

TEST(Plausibility, OnlyWhatNoDeviceCouldDoIsImpossible) {
  const Expression expression = MatMulExpression(100, 100, 100);  // 1e6 multiplications
  DeviceDescription device = SmallDevice();
  device.cores = 2;
  device.isa = "x86-64 avx2 avx512f fma";
  MachinePeaks peaks = {.clock_hz = 4e9};
  // 2 cores, 16 lanes, two multiply-adds a cycle, and a clock that is 2 % faster.
  EXPECT_FALSE(WhyImpossible(expression, 3'840, device, peaks));
  ASSERT_TRUE(WhyImpossible(expression, 3'820, device, peaks));
  EXPECT_THAT(*WhyImpossible(expression, 3'820, device, peaks),
              HasSubstr("3820 ns are implausible: what fp32 units of"));
  peaks.clock_hz = 0;
  device.clock_hz = 0;
  EXPECT_FALSE(WhyImpossible(expression, 1, device, peaks)) << "the clock is not known";
}

TEST(Plausibility, ATimeThatIsRightRaisesThePeaks) {
  const Expression expression = MatMulExpression(100, 100, 100);
  const MachinePeaks raised = RaisedBy(expression, 500, CacheState::kWarm, SmallDevice(), kPeaks);
  EXPECT_EQ(raised.fp32_flops_per_s, 1'990'000 / 500e-9);
  EXPECT_EQ(raised.fp64_flops_per_s, kPeaks.fp64_flops_per_s);
  EXPECT_EQ(raised.memory_bytes_per_s, kPeaks.memory_bytes_per_s);
  EXPECT_FALSE(WhyImplausible(expression, 500, CacheState::kWarm, SmallDevice(), raised));
  const MachinePeaks cold =
      RaisedBy(AddExpression(1'000'000), 1e5, CacheState::kCold, SmallDevice(), kPeaks);
  EXPECT_EQ(cold.memory_bytes_per_s, 1.2e11);
}

TEST(Plausibility, UndisturbedPeaksAreBetter) {
  MachinePeaks busy = {.fp32_flops_per_s = 1, .clock_hz = 3, .is_disturbed = true};
  MachinePeaks quiet = {.fp32_flops_per_s = 2, .clock_hz = 2};
  EXPECT_FALSE(Better(busy, quiet).is_disturbed);
  EXPECT_EQ(Better(busy, quiet).clock_hz, 3);
  EXPECT_TRUE(Better(busy, busy).is_disturbed);
}

TEST(Plausibility, UnitsAreBelievedWhatTheyReached) {
  const DeviceDescription h100 = *DescribeCudaArchitecture(90);
  const Expression product = *ParseExpression(
      "e<T = bf16 | I = 4096, J = 4096, K = 4096> := out_view<T>( C: (i,j,k) -> (i,j) ) o\n"
      "md_hom<I,J,K>( f, (++, ++, +) ) o\n"
      "inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) )\n"
      "where f(A, B) -> (C: fp32) { C = fp32(A) * fp32(B) }\n");
  MachinePeaks peaks = kPeaks;
  const auto is_implausible = [&](double time_ns) {
    return WhyImplausible(product, time_ns, CacheState::kWarm, h100, peaks,
                          NumericsPolicy::kReassociate)
        .has_value();
  };
  const double operations = CertainOperations(product);
  EXPECT_TRUE(is_implausible(operations / 2e15 * 1e9));
  peaks.units.half_flops_per_s = 2.1e15;
  EXPECT_FALSE(is_implausible(operations / 2e15 * 1e9));
  peaks.units.half_flops_per_s = 1e14;
  EXPECT_FALSE(is_implausible(operations / 9e14 * 1e9)) << "the specification says more";
  EXPECT_EQ(Better(peaks, {.units = {.half_flops_per_s = 3, .int8_ops_per_s = 4}}).units,
            (UnitPeaks{.half_flops_per_s = 1e14, .int8_ops_per_s = 4}));
}

// Of peaks that were stored before units were measured nothing else is missing.
TEST(Plausibility, PeaksWithoutUnitsAreReadAsBefore) {
  v1::MachinePeaks before = ToMessage(kPeaks);
  EXPECT_FALSE(before.has_units());
  EXPECT_EQ(FromMessage(before).units, UnitPeaks{});
  EXPECT_EQ(FromMessage(before).fp32_flops_per_s, kPeaks.fp32_flops_per_s);
  MachinePeaks measured = kPeaks;
  measured.units = {1, 2, 3, 4, 5};
  EXPECT_EQ(FromMessage(ToMessage(measured)).units, measured.units);
}

TEST(Plausibility, NothingIsImplausibleWithoutPeaks) {
  EXPECT_FALSE(WhyImplausible(MatMulExpression(1000, 1000, 1000), 1, CacheState::kCold,
                              SmallDevice(), MachinePeaks{}));
}

TEST(RunnerMessages, OptionsAreReadBack) {
  const MeasureOptions options = {.min_repeats = 4,
                                  .target_time_ns = 5,
                                  .max_repeats = 6,
                                  .precision = 0.25,
                                  .max_time_ns = 7,
                                  .cache = CacheState::kCold,
                                  .best_so_far_ns = 8,
                                  .slow_factor = 9};
  EXPECT_EQ(FromMessage(ToMessage(options)), options);
}

TEST(RunnerMessages, LaunchesOfKernelsAreReadBack) {
  Kernel kernel;
  kernel.stages = 2;
  kernel.language = Language::kCudaCxx;
  kernel.launches = {{"k_0", {{4, 3, 2}, {32, 8, 1}}, 65536},
                     {"k_1", {{1, 1, 1}, {64, 1, 1}}, 0, /*starts_early=*/true}};
  kernel.launches[1].tensor_maps = {{2, 16, 1, {100, 3}, {112}, {128, 64}}};
  const Kernel read = FromMessage(ToMessage(kernel));
  EXPECT_EQ(read.language, Language::kCudaCxx);
  ASSERT_EQ(read.launches.size(), 2u);
  for (size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(read.launches[n].function, kernel.launches[n].function);
    EXPECT_EQ(read.launches[n].geometry, kernel.launches[n].geometry);
    EXPECT_EQ(read.launches[n].dynamic_shared_bytes, kernel.launches[n].dynamic_shared_bytes);
    EXPECT_EQ(read.launches[n].starts_early, kernel.launches[n].starts_early);
    EXPECT_EQ(read.launches[n].tensor_maps, kernel.launches[n].tensor_maps);
  }
  EXPECT_EQ(read.stages, 2);
}

TEST(RunnerMessages, MeasurementsAndPeaksAreReadBack) {
  Measurement measurement;
  measurement.outcome = TrialOutcome::kImplausible;
  measurement.reason = "why";
  measurement.times_ns = {3, 4};
  measurement.compile_ns = 5;
  measurement.calls_per_time = 6;
  measurement.drift = 1.25;
  measurement.is_disturbed = true;
  measurement.registers_per_thread = 7;
  measurement.local_bytes_per_thread = 8;
  measurement.shared_bytes_per_block = 9;
  const Measurement read = FromMessage(ToMessage(1, measurement));
  EXPECT_EQ(read.outcome, measurement.outcome);
  EXPECT_EQ(read.reason, "why");
  EXPECT_EQ(read.times_ns, measurement.times_ns);
  EXPECT_EQ(read.compile_ns, 5);
  EXPECT_EQ(read.calls_per_time, 6);
  EXPECT_EQ(read.drift, 1.25);
  EXPECT_TRUE(read.is_disturbed);
  EXPECT_EQ(read.registers_per_thread, 7);
  EXPECT_EQ(read.local_bytes_per_thread, 8);
  EXPECT_EQ(read.shared_bytes_per_block, 9);
  MachinePeaks peaks = kPeaks;
  peaks.clock_hz = 3e9;
  peaks.is_disturbed = true;
  EXPECT_EQ(FromMessage(ToMessage(peaks)).copy_bytes_per_s, kPeaks.copy_bytes_per_s);
  EXPECT_EQ(FromMessage(ToMessage(peaks)).clock_hz, 3e9);
  EXPECT_TRUE(FromMessage(ToMessage(peaks)).is_disturbed);
}

TEST(RunnerMessages, WhatCompilersReportIsReadBack) {
  const FunctionResources function = {.function = "mdh_sum_0",
                                      .registers = 1,
                                      .stack_bytes = 2,
                                      .spill_store_bytes = 3,
                                      .spill_load_bytes = 4,
                                      .shared_bytes = 5};
  EXPECT_EQ(FromMessage(ToMessage(function)), function);
}

FunctionResources Spilling(int64_t bytes) {
  return {.function = "mdh_sum_0", .registers = 232, .spill_store_bytes = bytes};
}

TEST(SpillLimitTest, CandidatesAreComparedWithThoseThatWereRight) {
  const MeasureOptions options = {.best_so_far_ns = 1000};
  const std::vector<FunctionResources> none = {Spilling(0)}, most = {Spilling(kMostSpilledBytes)},
                                       more = {Spilling(0), Spilling(kMostSpilledBytes + 1)};
  SpillLimit limit;
  EXPECT_EQ(limit.Objection(more, options), "");  // there is nothing better yet
  limit.Record(none);
  EXPECT_EQ(limit.Objection(more, options), "mdh_sum_0 spills 1025 bytes a thread (232 registers)");
  EXPECT_EQ(limit.Objection(more, {}), "");  // no best so far
  EXPECT_EQ(limit.Objection(most, options), "");
  EXPECT_EQ(limit.Objection({}, options), "");  // nothing is reported
  limit.Reset();
  EXPECT_EQ(limit.Objection(more, options), "");
}

TEST(SpillLimitTest, WhereAllSpillMoreIsAllowed) {
  const MeasureOptions options = {.best_so_far_ns = 1000};
  const auto objection = [&](const SpillLimit& limit, int64_t bytes) {
    return limit.Objection(std::vector<FunctionResources>{Spilling(bytes)}, options);
  };
  SpillLimit limit;
  limit.Record({});  // says nothing
  EXPECT_EQ(objection(limit, 9000), "");
  limit.Record(std::vector<FunctionResources>{Spilling(5000)});
  EXPECT_EQ(objection(limit, 6024), "");
  EXPECT_NE(objection(limit, 6025), "");
  limit.Record(std::vector<FunctionResources>{Spilling(3000)});
  limit.Record(std::vector<FunctionResources>{Spilling(4000)});
  EXPECT_EQ(objection(limit, 4024), "");
  EXPECT_NE(objection(limit, 4025), "");
}

}  // namespace
}  // namespace mdh::measurement_rules_test
