#include "server/jobs/remeasurer.h"

#include <atomic>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/job_request.h"
#include "server/jobs/tuning_request.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::remeasurer_test {
namespace {

using ::testing::SizeIs;

class RemeasurerTest : public ::testing::Test {
 protected:
  RemeasurerTest() {
    JobQueueOptions queue;
    queue.tune = [this](const Expression& expression, absl::Span<Runner* const> runners,
                        const TuningOptions& tuning,
                        const std::function<void(const TuningProgress&)>& on_trial,
                        const std::atomic<bool>& cancelled) {
      return tune_(expression, runners, tuning, on_trial, cancelled);
    };
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(queue));
    RemeasurerOptions options;
    options.period = absl::Milliseconds(5);
    options.ticks = [this]() -> std::optional<HostTicks> {
      all_ += 100;
      busy_ += is_busy_ ? 50 : 1;
      return HostTicks{busy_, all_};
    };
    remeasurer_ = *Remeasurer::Start(table_, catalogue_, *queue_, std::move(options));
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
      remeasurer_->Note(record, kind != v1::KERNEL_CHANGE_KIND_REMOVED);
    });
  }

  // A search that the machine's other work has disturbed; gives its record.
  v1::TuningRecord TuneDisturbed(int64_t size) {
    tune_.is_disturbed = true;
    tune_.Release();
    const auto created = queue_->Create(
        {.computation = MatMulExpression(size, size, size), .options = *CheckTuningOptions({})});
    EXPECT_TRUE(created.ok()) << created.status();
    const v1::KernelKey key = created->job().key();
    EXPECT_TRUE(Becomes([&] {
      const Result<v1::TuningRecord> record = table_.FindRecord(key);
      return record.ok() && !record->is_provisional() && queue_->CountJobs().running == 0;
    }));
    return *table_.FindRecord(key);
  }

  static bool Becomes(const std::function<bool()>& condition) {
    const absl::Time limit = absl::Now() + absl::Seconds(10);
    while (absl::Now() < limit) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return false;
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  LookupTable table_{KeyEnvironment::Of(cpu_.description)};
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  std::atomic<bool> is_busy_ = true;
  int64_t busy_ = 0, all_ = 0;  // of the remeasurer's thread
  std::unique_ptr<JobQueue> queue_;
  std::unique_ptr<Remeasurer> remeasurer_;
};

TEST_F(RemeasurerTest, ADisturbedRecordIsMeasuredAgainOnceTheMachineIsQuiet) {
  const v1::TuningRecord record = TuneDisturbed(64);
  EXPECT_TRUE(record.is_disturbed());
  EXPECT_EQ(remeasurer_->pending(), 1u);
  EXPECT_THAT(tune_.starts(), SizeIs(1));
  tune_.is_disturbed = false;
  tune_.time_ns = 3'000'000;  // longer, but what the kernel takes
  tune_.Release();
  is_busy_ = false;
  EXPECT_TRUE(Becomes([&] { return !table_.FindRecord(record.key())->is_disturbed(); }));
  EXPECT_EQ(table_.FindRecord(record.key())->time_ns(), 3'000'000);
  EXPECT_TRUE(Becomes([&] { return remeasurer_->pending() == 0; }));
  const v1::TuningJob job = *queue_->Get(2);
  EXPECT_EQ(job.source(), "mdhd");
  EXPECT_EQ(job.priority(), -kMaxPriority);
}

TEST_F(RemeasurerTest, WhatStaysDisturbedWaitsLonger) {
  const v1::TuningRecord record = TuneDisturbed(64);
  tune_.Release();
  is_busy_ = false;
  EXPECT_TRUE(Becomes([&] { return tune_.starts().size() == 2; }));
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_THAT(tune_.starts(), SizeIs(2));
  EXPECT_EQ(remeasurer_->pending(), 1u);
}

TEST_F(RemeasurerTest, WhatIsGoneOrPinnedIsLeftAlone) {
  v1::TuningRecord record = TuneDisturbed(64);
  EXPECT_EQ(remeasurer_->pending(), 1u);
  record.set_is_pinned(true);
  remeasurer_->Note(record);
  EXPECT_EQ(remeasurer_->pending(), 0u);
  record.set_is_pinned(false);
  remeasurer_->Note(record);
  remeasurer_->Note(record, /*is_there=*/false);
  EXPECT_EQ(remeasurer_->pending(), 0u);
}

TEST_F(RemeasurerTest, DisturbedPeaksAreMeasuredAgain) {
  cpu_.has_disturbed_peaks = true;
  ASSERT_TRUE(catalogue_.devices()[0]->TryHold(""));
  EXPECT_TRUE(catalogue_.Peaks(*catalogue_.devices()[0])->is_disturbed());
  catalogue_.devices()[0]->Release();
  cpu_.has_disturbed_peaks = false;
  is_busy_ = false;
  EXPECT_TRUE(Becomes([&] {
    return !catalogue_.MeasuredPeaks(catalogue_.devices()[0]->fingerprint())->is_disturbed();
  }));
}

TEST_F(RemeasurerTest, AnUndisturbedTimeStaysWhateverADisturbedOneSays) {
  tune_.Release();
  ASSERT_TRUE(
      queue_->Create({.computation = MatMulExpression(8, 8, 8), .options = *CheckTuningOptions({})})
          .ok());
  ASSERT_TRUE(
      Becomes([&] { return queue_->CountJobs().running == 0 && tune_.starts().size() == 1; }));
  tune_.time_ns = 2'000'000;
  tune_.is_disturbed = true;
  tune_.Release();
  const auto again = queue_->Create({.computation = MatMulExpression(8, 8, 8),
                                     .options = *CheckTuningOptions({}),
                                     .force = true});
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE(Becomes([&] { return queue_->Get(2)->has_end_time(); }));
  EXPECT_FALSE(table_.FindRecord(again->job().key())->is_disturbed());
  EXPECT_EQ(table_.FindRecord(again->job().key())->time_ns(), 1'000'000);
}

TEST(HostTicksTest, TheSystemSaysThem) {
  const std::optional<HostTicks> ticks = ReadHostTicks();
  ASSERT_TRUE(ticks.has_value());
  EXPECT_GT(ticks->all, 0);
  EXPECT_GE(ticks->all, ticks->busy);
}

TEST(IsMarkedAsDisturbedTest, ReadsTheSerialisedRecord) {
  v1::TuningRecord record;
  record.set_time_ns(5);
  EXPECT_FALSE(IsMarkedAsDisturbed(record.SerializeAsString()));
  record.set_is_disturbed(true);
  EXPECT_TRUE(IsMarkedAsDisturbed(record.SerializeAsString()));
}

}  // namespace
}  // namespace mdh::remeasurer_test
