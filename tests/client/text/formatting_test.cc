#include "client/text/formatting.h"

#include "client/commands/format/progress_display.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mdh::formatting_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
}  // namespace mdh::formatting_test
