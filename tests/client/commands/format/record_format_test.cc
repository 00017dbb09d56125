#include "client/commands/format/record_format.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/text/formatting.h"
#include "core/base/wrap_lines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report_samples.h"

namespace mdh::record_format_test {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The sample of report pages, with round figures.
v1::TuningRecord MatMulRecord() {
  v1::TuningRecord record = *SampleJob(1).record;
  record.set_name("records/ab");
  record.clear_certificate();
  record.set_expression_name("matmul");
  record.set_time_ns(20'000'000);
  record.set_loop_nest_time_ns(2'000'000'000);
  record.set_default_time_ns(40'000'000);
  record.set_trials(120);
  record.set_failed_trials(3);
  record.set_search_time_ns(60'000'000'000);
  record.set_flops(2'000'000'000);
  record.set_compulsory_bytes(12'000'000);
  record.set_low_level_table("#PRT ...");
  record.set_fits_in_cache(false);
  record.mutable_peaks()->set_fp32_flops_per_s(125e9);
  record.mutable_peaks()->set_fp64_flops_per_s(62.5e9);
  record.mutable_peaks()->set_memory_bytes_per_s(10e9);
  return record;
}

TEST(RecordFormat, ARecordBoundByComputingShowsFlopsAndPeak) {
  const std::string text = FormatRecord(MatMulRecord());
  EXPECT_THAT(text, StartsWith("matmul on AMD EPYC: 20.0 ms\n"));
  EXPECT_THAT(text, HasSubstr("100 GFLOP/s, 80 % of the measured peak of 125 GFLOP/s\n"));
  EXPECT_EQ(FormatFlops(6.02e13), "60.2 TFLOP/s");
  EXPECT_THAT(
      text,
      HasSubstr("compared     2.0 times as fast as from rules, 100 times a plain loop nest\n"));
  EXPECT_THAT(text,
              HasSubstr("parts        COR j 2 | L2 k 2 | L1 j 4 i 19 k 32 | RM i 14 j 2 k 4 | "
                        "SIMD j 16\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(RecordFormat, TheLastLineIsWhatNoKernelCanBeFasterThan) {
  v1::TuningRecord record = MatMulRecord();
  v1::Certificate& certificate = *record.mutable_certificate();
  certificate.set_problem_bound_ns(8'000'000);
  certificate.set_binding_floor("fp32 units: 8 of 20 ms");
  v1::BoundFloor& floor = *certificate.add_floors();
  floor.set_resource("fp32 units");
  floor.set_time_ns(8'000'000);
  floor.set_reason("1e+09 multiplications");
  EXPECT_THAT(FormatRecord(record),
              EndsWith("  bound        fp32 units: 8 of 20 ms, at most 2.5 times as fast; "
                       "proven\n"));
  certificate.add_assumptions("no core is clocked above 3 GHz");
  EXPECT_THAT(FormatRecord(record),
              EndsWith(" 2.5 times as fast\n"
                       "               assumed: no core is clocked above 3 GHz\n"));
  EXPECT_THAT(FormatRecordDetails(record, 80),
              HasSubstr("  floor        fp32 units: 8.00 ms, 1e+09 multiplications\n"));
  certificate.set_space_count("20000000000000000000");
  certificate.set_proven_worse_count("1234");
  EXPECT_THAT(FormatRecord(record),
              EndsWith("               at least 1234 of 2e+19 configurations are proven to be no "
                       "faster\n"));
  certificate.set_gap(0.05);
  EXPECT_THAT(FormatRecord(record), EndsWith("proven to be no faster by more than 5 %\n"));
  certificate.set_gap(0);
  certificate.set_is_whole(true);
  EXPECT_THAT(FormatRecord(record), EndsWith("               every other configuration was tried, "
                                             "or proven to be no faster\n"));
  certificate.set_problem_bound_ns(0);
  EXPECT_THAT(FormatRecord(record), Not(HasSubstr("bound  ")));
}

TEST(RecordFormat, ARecordBoundByMemoryShowsBandwidth) {
  v1::TuningRecord record = MatMulRecord();
  record.set_flops(1000);
  record.set_time_ns(2'400'000);
  record.set_search_end(v1::SEARCH_END_CANCELLED);
  EXPECT_THAT(FormatRecord(record),
              HasSubstr("5.00 GB/s, 50 % of the measured bandwidth of 10.00 GB/s\n"));
  EXPECT_THAT(FormatRecordDetails(record, 80), HasSubstr(", cancelled\n"));
}

TEST(RecordFormat, DataInCachesIsNotComparedWithTheBandwidthOfMemory) {
  v1::TuningRecord record = MatMulRecord();
  record.set_compulsory_bytes(1'000'000'000);
  EXPECT_TRUE(LowerBound(record).is_bandwidth);
  record.set_fits_in_cache(true);
  EXPECT_FALSE(LowerBound(record).is_bandwidth);
  EXPECT_THAT(FormatRecord(record), HasSubstr("80 % of the measured peak of 125 GFLOP/s\n"));
}

TEST(RecordFormat, BandwidthOfDataInCachesSaysSo) {
  v1::TuningRecord record = MatMulRecord();
  record.set_flops(0);
  record.set_fits_in_cache(true);
  record.set_time_ns(1'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("speed        12.00 GB/s, of data in caches\n"));
}

TEST(RecordFormat, MoreThanThePeakIsExplained) {
  v1::TuningRecord record = MatMulRecord();
  record.set_time_ns(16'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("100 % of the measured peak of 125 GFLOP/s\n"));
  record.set_time_ns(8'000'000);
  EXPECT_THAT(FormatRecord(record),
              HasSubstr("200 % of the measured peak of 125 GFLOP/s\n" + std::string(15, ' ') +
                        "more than all: not all operations are executed"));
  record.set_flops(0);
  record.set_time_ns(1'000'000);
  record.clear_device();
  EXPECT_THAT(FormatRecord(record), HasSubstr("120 % of the measured bandwidth of 10.00 GB/s\n"));
  EXPECT_THAT(FormatRecord(record), HasSubstr("all: the bandwidth was measured too low\n"));
  v1::DeviceDescription& device = *record.mutable_device();
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_cores(2);
  device.set_l2_bytes(1'000'000);
  device.set_l3_bytes(1'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr(": part of the data stays in the caches\n"));
  device.set_cores(1);
  EXPECT_THAT(FormatRecord(record), HasSubstr(": the bandwidth was measured too low\n"));
}

TEST(RecordFormat, DoublePrecisionIsComparedWithItsOwnPeak) {
  v1::TuningRecord record = MatMulRecord();
  record.set_is_double_precision(true);
  record.set_time_ns(64'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("50 % of the measured peak of 62.50 GFLOP/s"));
}

TEST(RecordFormat, WithoutPeaksThereIsNoShare) {
  v1::TuningRecord record = MatMulRecord();
  record.clear_peaks();
  EXPECT_THAT(FormatRecord(record), Not(HasSubstr("%")));
}

TEST(RecordFormat, DetailsHaveTheSearchAndTheTableWithItsNames) {
  const std::string text = FormatRecordDetails(MatMulRecord(), 80);
  EXPECT_THAT(text, HasSubstr("120, 3 of them failed, in 60.0 s\n"));
  EXPECT_THAT(text, HasSubstr("  record       records/ab\n\n#PRT ...\n"));
  EXPECT_THAT(text, HasSubstr("MM main memory"));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(text, '\n')),
              Each(testing::SizeIs(testing::Le(80))));
}

TEST(RecordFormat, ARecordThatCannotBeReadHasNoParts) {
  v1::TuningRecord record = MatMulRecord();
  record.set_parameters("of another version");
  EXPECT_THAT(FormatRecord(record), Not(HasSubstr("parts")));
  EXPECT_THAT(FormatRecordDetails(record, 80), HasSubstr("#PRT ...\n"));
}

TEST(RecordFormat, WhatIsToBeKnownOfAResultIsAlwaysSaid) {
  v1::TuningRecord record = MatMulRecord();
  record.set_is_disturbed(true);
  record.set_result_check(v1::RESULT_CHECK_NONE);
  record.set_cache_state(v1::CACHE_STATE_COLD);
  const std::string text = FormatRecord(record);
  EXPECT_THAT(text, HasSubstr(", with cold caches\n"));
  EXPECT_THAT(text, HasSubstr("disturbed    others used the machine"));
  EXPECT_THAT(text, HasSubstr("checked      not: the budget is too short"));
}

TEST(RecordFormat, NextCommandsCanBeTyped) {
  EXPECT_EQ(
      FormatNextCommands(
          {{"mdh", "kernel", "a b.mdh", "--einsum", "ik,kj->ij"}, {"mdh", "report", "3"}}, 80),
      "next: mdh kernel 'a b.mdh' --einsum 'ik,kj->ij'\n      mdh report 3\n");
  EXPECT_EQ(FormatNextCommands({{"mdh", "kernel", "it's"}}, 80), "next: mdh kernel 'it'\\''s'\n");
  EXPECT_EQ(FormatNextCommands({{"mdh", "kernel", "matmul.mdh", "--set", "I=512"}}, 30),
            "next: mdh kernel matmul.mdh \\\n          --set I=512\n");
  for (int columns = 20; columns < 60; ++columns) {
    const std::string text =
        FormatNextCommands({{"mdh", "kernel", "a", "--b", "c", "--d"}}, columns);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(CharactersIn(line), columns) << text;
    }
  }
}

}  // namespace
}  // namespace mdh::record_format_test
