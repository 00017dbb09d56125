#include "client/commands/formatting.h"

#include "client/commands/progress_display.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::TuningRecord MatMulRecord() {
  v1::TuningRecord record;
  record.set_name("records/ab");
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
  record.mutable_peaks()->set_fp32_flops_per_s(125e9);
  record.mutable_peaks()->set_fp64_flops_per_s(62.5e9);
  record.mutable_peaks()->set_memory_bytes_per_s(10e9);
  return record;
}

TEST(Formatting, TimesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(FormatTime(0), "0 ns");
  EXPECT_EQ(FormatTime(999), "999 ns");
  EXPECT_EQ(FormatTime(1234), "1.23 us");
  EXPECT_EQ(FormatTime(12'345'678), "12.3 ms");
  EXPECT_EQ(FormatTime(999'900'000), "1.00 s");
  EXPECT_EQ(FormatTime(60'000'000'000), "60.0 s");
}

TEST(Formatting, SizesHaveBinaryUnits) {
  EXPECT_EQ(FormatBytes(1000), "1000 bytes");
  EXPECT_EQ(FormatBytes(4 << 20), "4.00 MiB");
}

TEST(Formatting, BarsShowTheShareThatIsDone) {
  EXPECT_EQ(FormatBar(0), "[........................]");
  EXPECT_EQ(FormatBar(0.25), "[######..................]");
  EXPECT_EQ(FormatBar(1), "[########################]");
}

TEST(Formatting, ARecordBoundByComputingShowsFlopsAndPeak) {
  const std::string text = FormatRecord(MatMulRecord());
  EXPECT_THAT(text, HasSubstr("time         20.0 ms\n"));
  EXPECT_THAT(text, HasSubstr("100 GFLOP/s, 80 % of the measured peak of 125 GFLOP/s\n"));
  EXPECT_EQ(FormatFlops(6.02e13), "60.2 TFLOP/s");
  EXPECT_THAT(text, HasSubstr("loop nest    2.00 s: 100.0 times as fast\n"));
  EXPECT_THAT(text, HasSubstr("from rules   40.0 ms: 2.0 times as fast\n"));
  EXPECT_THAT(text, HasSubstr("120, 3 of them failed, in 60.0 s\n"));
  EXPECT_THAT(text, HasSubstr("#PRT ...\n"));
}

TEST(Formatting, ARecordBoundByMemoryShowsBandwidth) {
  v1::TuningRecord record = MatMulRecord();
  record.set_flops(1000);
  record.set_time_ns(2'400'000);
  record.set_search_end(v1::SEARCH_END_CANCELLED);
  const std::string text = FormatRecord(record);
  EXPECT_THAT(text, HasSubstr("5.00 GB/s, 50 % of the measured bandwidth of 10.00 GB/s\n"));
  EXPECT_THAT(text, HasSubstr(", cancelled\n"));
}

TEST(Formatting, DataInCachesIsNotComparedWithTheBandwidthOfMemory) {
  v1::TuningRecord record = MatMulRecord();
  record.set_compulsory_bytes(1'000'000'000);
  EXPECT_TRUE(LowerBound(record).is_bandwidth);
  record.set_fits_in_cache(true);
  EXPECT_FALSE(LowerBound(record).is_bandwidth);
  EXPECT_THAT(FormatRecord(record), HasSubstr("80 % of the measured peak of 125 GFLOP/s\n"));
}

TEST(Formatting, BandwidthOfDataInCachesSaysSo) {
  v1::TuningRecord record = MatMulRecord();
  record.set_flops(0);
  record.set_fits_in_cache(true);
  record.set_time_ns(1'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("speed        12.00 GB/s, of data in caches\n"));
}

TEST(Formatting, MoreThanThePeakIsExplained) {
  v1::TuningRecord record = MatMulRecord();
  record.set_time_ns(16'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("100 % of the measured peak of 125 GFLOP/s\n"));
  record.set_time_ns(8'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("200 % of the measured peak of 125 GFLOP/s: not all "
                                              "operations are executed"));
  record.set_flops(0);
  record.set_time_ns(1'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("120 % of the measured bandwidth of 10.00 GB/s: the "
                                              "bandwidth was measured too low\n"));
  v1::DeviceDescription& device = *record.mutable_device();
  device.set_kind(v1::DEVICE_KIND_CPU);
  device.set_cores(2);
  device.set_l2_bytes(1'000'000);
  device.set_l3_bytes(1'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr(": part of the data stays in the caches\n"));
  device.set_cores(1);
  EXPECT_THAT(FormatRecord(record), HasSubstr(": the bandwidth was measured too low\n"));
}

TEST(Formatting, DoublePrecisionIsComparedWithItsOwnPeak) {
  v1::TuningRecord record = MatMulRecord();
  record.set_is_double_precision(true);
  record.set_time_ns(64'000'000);
  EXPECT_THAT(FormatRecord(record), HasSubstr("50 % of the measured peak of 62.50 GFLOP/s"));
}

TEST(Formatting, WithoutPeaksThereIsNoShare) {
  v1::TuningRecord record = MatMulRecord();
  record.clear_peaks();
  EXPECT_THAT(FormatRecord(record), Not(HasSubstr("%")));
}

TEST(Formatting, ProgressShowsTrialsBestAndTimeLeft) {
  v1::TuningProgress progress;
  progress.set_state(v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_EQ(FormatProgress(progress), "waiting for the device");
  progress.set_state(v1::TUNING_JOB_STATE_RUNNING);
  progress.set_trials(120);
  progress.set_failed_trials(3);
  progress.set_elapsed_ns(30'000'000'000);
  progress.set_remaining_ns(30'000'000'000);
  EXPECT_EQ(FormatProgress(progress),
            "[############............]  50 %  120 trials (3 failed)  no result yet  30 s left");
  progress.set_best_time_ns(1'230'000);
  EXPECT_THAT(FormatProgress(progress), HasSubstr("best 1.23 ms"));
}

TEST(Formatting, ProgressSaysWhatIsDoneAndNeverThatNoTimeIsLeft) {
  v1::TuningProgress progress;
  progress.set_state(v1::TUNING_JOB_STATE_RUNNING);
  progress.set_phase(v1::TUNING_PHASE_LOOP_NEST);
  progress.set_remaining_ns(3'000'000'000);
  EXPECT_THAT(FormatProgress(progress), HasSubstr("no result yet  loop nest, 3 s left"));
  progress.set_phase(v1::TUNING_PHASE_FINALS);
  progress.set_remaining_ns(0);
  EXPECT_THAT(FormatProgress(progress), HasSubstr("no result yet  finals"));
  EXPECT_THAT(FormatProgress(progress), Not(HasSubstr("left")));
  progress.set_phase(v1::TUNING_PHASE_MEASURING);
  EXPECT_THAT(FormatProgress(progress), HasSubstr("  ending"));
}

}  // namespace
}  // namespace mdh
