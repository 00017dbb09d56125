// Jobs on several devices: at the same time, shared, taken back, dead.
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/devices/device_keeper.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/tuning_request.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::job_devices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// A CPU, two equal GPUs and another one.
class JobDevicesTest : public ::testing::Test {
 protected:
  JobDevicesTest() { StartQueue({}); }
  ~JobDevicesTest() override { keeper_.reset(); }

  void StartQueue(JobQueueOptions options) {
    queue_.reset();
    options.tune = std::ref(tune_);
    store_->SetListener([this](v1::KernelChangeKind kind, const v1::TuningRecord& record) {
      table_.Apply(kind, record);
    });
    queue_ = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
  }
  // Brings devices back that were unhealthy.
  void StartKeeper() {
    keeper_ = std::make_unique<DeviceKeeper>(
        catalogue_.devices(), DeviceKeeperOptions{absl::Milliseconds(1), absl::Milliseconds(5)});
  }
  // A job for a matrix product of that size; gives its number.
  int64_t Create(int64_t size, const std::vector<std::string>& devices,
                 const std::string& source = "") {
    const Result<v1::CreateTuningJobResponse> created =
        queue_->Create({.computation = MatMulExpression(size, size, size),
                        .options = *CheckTuningOptions({}),
                        .devices = *catalogue_.Select(devices),
                        .source = source});
    EXPECT_TRUE(created.ok()) << created.status();
    return ++last_;
  }
  bool HasState(int64_t number, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(number)->state() == state; });
  }
  bool EventuallyRunsOn(int64_t size, size_t runners) {
    return Eventually([&] { return tune_.CountRunners(size) == runners; });
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeTune tune_;
  FakeDevices devices_;
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  FakeDevice& cuda0_ = devices_.Add("devices/cuda0", FakeGpu());
  FakeDevice& cuda1_ = devices_.Add("devices/cuda1", FakeGpu());
  FakeDevice& cuda2_ = devices_.Add("devices/cuda2", FakeGpu("another GPU"));
  DeviceCatalogue catalogue_{devices_.Take(), {}, {}, *store_};
  LookupTable table_{catalogue_.Environments()[0],
                     {catalogue_.Environments()[1], catalogue_.Environments()[2]}};
  std::unique_ptr<JobQueue> queue_;
  std::unique_ptr<DeviceKeeper> keeper_;
  int64_t last_ = 0;
};

const std::vector<std::string>& Pair() {
  static const auto* pair = new std::vector<std::string>{"devices/cuda0", "devices/cuda1"};
  return *pair;
}

TEST_F(JobDevicesTest, JobsOnDifferentDevicesRunAtTheSameTime) {
  Create(64, {});
  Create(64, {"devices/cuda0"});
  Create(64, {"devices/cuda2"});
  for (int64_t job = 1; job <= 3; ++job) {
    EXPECT_TRUE(HasState(job, v1::TUNING_JOB_STATE_RUNNING));
  }
  for (int n = 0; n < 3; ++n) tune_.Release();
  for (int64_t job = 1; job <= 3; ++job) {
    EXPECT_TRUE(HasState(job, v1::TUNING_JOB_STATE_SUCCEEDED));
  }
  // One record for each fingerprint.
  EXPECT_EQ(table_.FindRecord(queue_->Get(1)->key())->device_names(0), "devices/cpu");
  EXPECT_EQ(table_.FindRecord(queue_->Get(2)->key())->device_names(0), "devices/cuda0");
  EXPECT_EQ(table_.FindRecord(queue_->Get(3)->key())->device_names(0), "devices/cuda2");
  EXPECT_EQ(table_.FindRecord(queue_->Get(3)->key())->device().model(), "another GPU");
}

TEST_F(JobDevicesTest, AJobUsesAllOfItsDevices) {
  Create(64, Pair());
  EXPECT_TRUE(EventuallyRunsOn(64, 2));
  EXPECT_THAT(queue_->Get(1)->devices(), ElementsAre("devices/cuda0", "devices/cuda1"));
  EXPECT_THAT(queue_->Get(1)->running_devices(),
              UnorderedElementsAre("devices/cuda0", "devices/cuda1"));
  tune_.Release();
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_THAT(table_.FindRecord(queue_->Get(1)->key())->device_names(),
              UnorderedElementsAre("devices/cuda0", "devices/cuda1"));
}

TEST_F(JobDevicesTest, AJobUsesNoOtherDevices) {
  Create(64, {"devices/cuda1"});
  EXPECT_TRUE(EventuallyRunsOn(64, 1));
  EXPECT_THAT(queue_->Get(1)->running_devices(), ElementsAre("devices/cuda1"));
}

TEST_F(JobDevicesTest, ASecondJobGetsOneOfTheDevicesOfTheFirst) {
  Create(64, Pair());
  EXPECT_TRUE(EventuallyRunsOn(64, 2));
  Create(65, Pair());
  EXPECT_TRUE(EventuallyRunsOn(65, 1));
  EXPECT_TRUE(EventuallyRunsOn(64, 1));
  // A third one waits.
  Create(66, Pair());
  EXPECT_EQ(queue_->Get(3)->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_EQ(queue_->Get(3)->progress().queue_position(), 2);
  EXPECT_EQ(queue_->CountQueued(*catalogue_.devices()[1]), 1);
  EXPECT_EQ(queue_->CountQueued(*catalogue_.devices()[0]), 0);
  tune_.Release();
  EXPECT_TRUE(EventuallyRunsOn(66, 1));
}

TEST_F(JobDevicesTest, AFreedDeviceHelpsTheJobThatRuns) {
  Create(64, {"devices/cuda0"});
  EXPECT_TRUE(EventuallyRunsOn(64, 1));
  Create(65, Pair());
  EXPECT_TRUE(EventuallyRunsOn(65, 1));
  ASSERT_TRUE(queue_->Cancel(1).ok());
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_TRUE(EventuallyRunsOn(65, 2));
  EXPECT_THAT(queue_->Get(2)->running_devices(),
              UnorderedElementsAre("devices/cuda0", "devices/cuda1"));
  // Whoever waits for it gets it back, and it comes again.
  Create(66, {"devices/cuda0"});
  EXPECT_TRUE(EventuallyRunsOn(66, 1));
  EXPECT_TRUE(EventuallyRunsOn(65, 1));
  EXPECT_THAT(queue_->Get(2)->running_devices(), ElementsAre("devices/cuda1"));
  ASSERT_TRUE(queue_->Cancel(3).ok());
  EXPECT_TRUE(EventuallyRunsOn(65, 2));
  tune_.Release();
  EXPECT_TRUE(HasState(2, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_THAT(table_.FindRecord(queue_->Get(2)->key())->device_names(),
              UnorderedElementsAre("devices/cuda0", "devices/cuda1"));
}

TEST_F(JobDevicesTest, AFreedDeviceHelpsNoJobThatMayNotUseIt) {
  Create(64, {"devices/cuda0"});
  Create(65, {"devices/cuda1"});
  EXPECT_TRUE(EventuallyRunsOn(64, 1));
  EXPECT_TRUE(EventuallyRunsOn(65, 1));
  ASSERT_TRUE(queue_->Cancel(1).ok());
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_TRUE(Eventually([&] { return catalogue_.devices()[1]->IsFree(); }));
  EXPECT_EQ(tune_.CountRunners(65), 1);
  EXPECT_TRUE(catalogue_.devices()[1]->IsFree());
}

TEST_F(JobDevicesTest, AJobThatNeedsOneDeviceGetsThatOne) {
  Create(64, Pair());
  EXPECT_TRUE(EventuallyRunsOn(64, 2));
  Create(65, {"devices/cuda0"});
  EXPECT_TRUE(EventuallyRunsOn(65, 1));
  EXPECT_THAT(queue_->Get(2)->running_devices(), ElementsAre("devices/cuda0"));
  EXPECT_TRUE(EventuallyRunsOn(64, 1));
}

TEST_F(JobDevicesTest, SourcesTakeTurns) {
  const std::vector<std::string> one = {"devices/cuda2"};
  Create(10, one, "a");
  ASSERT_TRUE(EventuallyRunsOn(10, 1));
  for (const int64_t size : {11, 12, 13}) Create(size, one, "a");
  Create(21, one, "b");
  Create(22, one, "b");
  Create(31, one, "c");
  EXPECT_EQ(queue_->Get(5)->progress().queue_position(), 1);  // b's first
  EXPECT_EQ(queue_->Get(7)->progress().queue_position(), 2);  // c's
  EXPECT_EQ(queue_->Get(2)->progress().queue_position(), 3);  // a's next
  for (int n = 0; n < 7; ++n) tune_.Release();
  for (int64_t job = 1; job <= 7; ++job) {
    EXPECT_TRUE(HasState(job, v1::TUNING_JOB_STATE_SUCCEEDED));
  }
  EXPECT_THAT(tune_.order(), ElementsAre(10, 21, 31, 11, 22, 12, 13));
}

TEST_F(JobDevicesTest, TheJobGoesOnWithoutADeadDevice) {
  Create(64, Pair());
  EXPECT_TRUE(EventuallyRunsOn(64, 2));
  cuda0_.SetHealth(absl::FailedPreconditionError("unhealthy: fell off the bus"));
  EXPECT_TRUE(EventuallyRunsOn(64, 1));
  tune_.Release();
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  // The next one is not given the dead device.
  EXPECT_TRUE(Eventually(
      [&] { return catalogue_.devices()[1]->state().health == v1::DEVICE_HEALTH_UNHEALTHY; }));
  EXPECT_EQ(catalogue_.devices()[1]->state().reason, "unhealthy: fell off the bus");
  Create(65, Pair());
  EXPECT_TRUE(EventuallyRunsOn(65, 1));
  EXPECT_THAT(queue_->Get(2)->running_devices(), ElementsAre("devices/cuda1"));
}

TEST_F(JobDevicesTest, AJobWhoseDevicesDiedWaitsAndGoesOn) {
  Create(64, {"devices/cuda2"});
  ASSERT_TRUE(EventuallyRunsOn(64, 1));
  cuda2_.SetHealth(absl::FailedPreconditionError("unhealthy: fell off the bus"));
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_QUEUED));
  EXPECT_THAT(queue_->Get(1)->progress().latest_reason(),
              HasSubstr("waits for a device: devices/cuda2: unhealthy: fell off the bus"));
  EXPECT_EQ(queue_->Get(1)->progress().trials(), 1);
  // Others are accepted meanwhile: the device worked before.
  Create(65, {"devices/cuda2"});
  cuda2_.SetHealth(absl::OkStatus());
  StartKeeper();
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  tune_.Release();
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_EQ(queue_->Get(1)->progress().trials(), 2);
  tune_.Release();
  EXPECT_TRUE(HasState(2, v1::TUNING_JOB_STATE_SUCCEEDED));
  // What was found before is where the second run began, and the other job.
  EXPECT_THAT(tune_.starts(), ElementsAre(0, 1, 1));
}

TEST_F(JobDevicesTest, AJobThatKillsEveryDeviceFailsInTheEnd) {
  StartQueue({.max_runs = 2});
  Create(64, Pair());
  ASSERT_TRUE(EventuallyRunsOn(64, 2));
  cuda0_.SetHealth(absl::FailedPreconditionError("unhealthy: dead"));
  cuda1_.SetHealth(absl::FailedPreconditionError("unhealthy: dead"));
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_QUEUED));
  cuda0_.SetHealth(absl::OkStatus());
  StartKeeper();
  ASSERT_TRUE(EventuallyRunsOn(64, 1));
  cuda0_.SetHealth(absl::FailedPreconditionError("unhealthy: dead"));
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_FAILED));
  EXPECT_EQ(queue_->Get(1)->error().message(), "no runner is left");
}

TEST_F(JobDevicesTest, AQueuedJobWhoseDevicesDiedCanBeCancelled) {
  Create(64, {"devices/cuda2"});
  ASSERT_TRUE(EventuallyRunsOn(64, 1));
  cuda2_.SetHealth(absl::FailedPreconditionError("unhealthy: dead"));
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_QUEUED));
  EXPECT_EQ(queue_->Cancel(1)->state(), v1::TUNING_JOB_STATE_CANCELLED);
}

TEST_F(JobDevicesTest, CancellingInterruptsEveryDevice) {
  Create(64, Pair());
  ASSERT_TRUE(EventuallyRunsOn(64, 2));
  ASSERT_TRUE(queue_->Cancel(1).ok());
  EXPECT_TRUE(HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
  EXPECT_GE(cuda0_.interrupts, 1);
  EXPECT_GE(cuda1_.interrupts, 1);
  EXPECT_EQ(cuda2_.interrupts, 0);
  // Both are free again.
  EXPECT_TRUE(Eventually([&] { return catalogue_.devices()[1]->IsFree(); }));
  EXPECT_TRUE(Eventually([&] { return catalogue_.devices()[2]->IsFree(); }));
}

TEST_F(JobDevicesTest, PeaksAreMeasuredOncePerFingerprint) {
  Create(64, Pair());
  ASSERT_TRUE(EventuallyRunsOn(64, 2));
  Create(65, {"devices/cuda1"});
  ASSERT_TRUE(EventuallyRunsOn(65, 1));
  EXPECT_EQ(cuda0_.peak_measurements + cuda1_.peak_measurements, 1);
  EXPECT_EQ(cuda2_.peak_measurements, 0);
  const v1::Device busy = catalogue_.Describe(*catalogue_.devices()[1]);
  EXPECT_EQ(busy.peaks().copy_bytes_per_s(), 2e11);
  EXPECT_THAT(busy.load().running_job(), StartsWith("tuningJobs/"));
}

}  // namespace
}  // namespace mdh::job_devices_test
