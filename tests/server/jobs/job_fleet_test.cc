// Several daemons over one store: jobs for the devices of others, how they are shared out, and
// when a daemon that is cut off stops.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/text/computation_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "server/devices/fleet.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_request.h"
#include "server/jobs/tuning_request.h"
#include "server/lookup/kernel_finder.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/store_double.h"
#include "tests/server/temporary_directory.h"

namespace mdh::job_fleet_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string GpuFingerprint() { return KeyEnvironment::Of(FakeGpu()).device_fingerprint; }

// One with so many GPUs.
class FakeMember {
 public:
  FakeMember(Store& store, const std::string& owner, int gpus, JobQueueOptions options = {})
      : fleet_(store, {.daemon = owner}), catalogue_(std::nullopt, {}, store) {
    catalogue_.SetFleet(fleet_);
    for (int n = 0; n < gpus; ++n) devices_.Add(absl::StrCat("devices/cuda", n), FakeGpu());
    catalogue_.Open(devices_.Take(), {});
    fleet_.Renew(catalogue_.Announced());
    table_.SetEnvironments(catalogue_.Environments());
    options.owner = owner;
    options.is_shared = true;
    if (options.lease == absl::Minutes(10)) options.lease = absl::Hours(1);
    options.tune = std::ref(tune_);
    queue_ = *JobQueue::Start(store, table_, catalogue_, std::move(options));
    finder_ = std::make_unique<KernelFinder>(table_, catalogue_, store, *queue_, limits_);
  }
  // A job for these devices.
  Result<v1::TuningJob> Create(int64_t size, const std::vector<std::string>& devices,
                               const std::string& source = "") {
    MDH_ASSIGN_OR_RETURN(
        CreateJob create,
        CheckJobRequest(MatMulExpression(size, size, size),
                        {.options = {}, .devices = devices, .requester = {source}}, catalogue_));
    MDH_ASSIGN_OR_RETURN(const v1::CreateTuningJobResponse created,
                         queue_->Create(std::move(create)));
    return created.job();
  }
  bool HasState(int64_t number, v1::TuningJobState state) {
    return Eventually([&] { return queue_->Get(number)->state() == state; });
  }
  int64_t CountRunning() { return queue_->CountJobs().running; }
  JobQueue& queue() { return *queue_; }
  FakeTune& tune() { return tune_; }
  KernelFinder& finder() { return *finder_; }
  DeviceCatalogue& catalogue() { return catalogue_; }
  void Look() {
    fleet_.Refresh().IgnoreError();
    queue_->LookAfter();
  }

 private:
  const ExpressionLimits limits_;
  FakeTune tune_;
  FakeDevices devices_;
  LookupTable table_{std::vector<KeyEnvironment>()};
  Fleet fleet_;
  DeviceCatalogue catalogue_;
  std::unique_ptr<JobQueue> queue_;
  std::unique_ptr<KernelFinder> finder_;
};

class JobFleetTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
};

TEST_F(JobFleetTest, AJobForTheDeviceOfAnotherDaemonRunsThere) {
  FakeMember worker(*store_, "w1", 1), front(*store_, "front", 0);
  const Result<v1::TuningJob> job = front.Create(64, {"nodes/w1/devices/cuda0"});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::TUNING_JOB_STATE_QUEUED);
  EXPECT_EQ(job->node(), "");
  EXPECT_EQ(job->key().device_fingerprint(), GpuFingerprint());
  EXPECT_EQ(job->key().compiler(), "fake nvrtc 1");
  EXPECT_EQ(front.queue().CountJobs().queued, 0);
  worker.Look();
  EXPECT_TRUE(worker.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  EXPECT_EQ(worker.queue().Get(1)->node(), "nodes/w1");
  EXPECT_TRUE(front.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  worker.tune().Release();
  EXPECT_TRUE(front.HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  EXPECT_THAT(front.queue().Get(1)->devices(), ElementsAre("nodes/w1/devices/cuda0"));
}

TEST_F(JobFleetTest, AFingerprintIsForWhoeverHasIt) {
  FakeMember one(*store_, "w1", 1), front(*store_, "front", 0);
  ASSERT_TRUE(front.Create(64, {GpuFingerprint()}).ok());
  FakeMember two(*store_, "w2", 1);
  EXPECT_TRUE(two.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  EXPECT_EQ(two.queue().Get(1)->node(), "nodes/w2");
  one.Look();
  EXPECT_EQ(one.CountRunning(), 0);
  // Twins are one job, whoever is asked.
  EXPECT_EQ(front.Create(64, {GpuFingerprint()})->name(), "tuningJobs/1");
  EXPECT_EQ(one.Create(64, {"devices/cuda0"})->name(), "tuningJobs/1");
}

TEST_F(JobFleetTest, JobsThatNobodyHasAreSharedOut) {
  FakeMember one(*store_, "w1", 1), two(*store_, "w2", 2), front(*store_, "front", 0);
  for (const int64_t size : {64, 65, 66, 67}) {
    ASSERT_TRUE(front.Create(size, {GpuFingerprint()}).ok());
  }
  one.Look();
  EXPECT_TRUE(Eventually([&] { return one.CountRunning() == 1; }));
  EXPECT_EQ(one.queue().CountJobs().queued, 0);
  one.Look();  // its device is not free
  EXPECT_EQ(one.queue().CountJobs().queued, 0);
  two.Look();
  EXPECT_TRUE(Eventually([&] { return two.CountRunning() == 2; }));
  EXPECT_EQ(two.queue().CountJobs().queued, 0);
  one.tune().Release();
  EXPECT_TRUE(Eventually([&] {
    one.queue().RenewLeases();
    return one.CountRunning() == 1 && store_->GetJob(4)->state() == v1::TUNING_JOB_STATE_RUNNING;
  }));
}

TEST_F(JobFleetTest, AJobForADeviceThatNobodyHasIsRefusedWithWhatThereIs) {
  FakeMember worker(*store_, "w1", 1), front(*store_, "front", 0);
  const Status status = front.Create(64, {"devices/cuda7"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nodes/w1/devices/cuda0"));
  const Status unnamed = front.Create(64, {}).status();
  EXPECT_EQ(unnamed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(unnamed)->field_violations(0).field(), "devices");
  EXPECT_EQ(
      front.queue()
          .Create({.computation = MatMulExpression(8, 8, 8), .options = *CheckTuningOptions({})})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(JobFleetTest, ADeviceThatCannotTuneSaysSoElsewhere) {
  FakeMember front(*store_, "front", 0);
  v1::Node node;
  node.set_name("nodes/w1");
  v1::Device& device = *node.add_devices();
  device = FakeMember(*store_, "template", 1).catalogue().Announced().front();
  device.set_can_tune(false);
  device.set_cannot_tune_reason("there is no compiler");
  ASSERT_TRUE(store_->RemoveNode("nodes/template").ok());
  ASSERT_TRUE(store_->AnnounceNode(node, absl::Hours(1)).ok());
  const Status status = front.Create(64, {"nodes/w1/devices/cuda0"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "nodes/w1/devices/cuda0: there is no compiler");
}

TEST_F(JobFleetTest, JobsForOthersAreCountedInTheStore) {
  FakeMember worker(*store_, "w1", 1);
  FakeMember front(*store_, "front", 0, {.max_queued = 3, .max_queued_per_source = 2});
  ASSERT_TRUE(front.Create(64, {GpuFingerprint()}, "a").ok());
  ASSERT_TRUE(front.Create(65, {GpuFingerprint()}, "a").ok());
  const Status of_source = front.Create(66, {GpuFingerprint()}, "a").status();
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(of_source)->reason(), "SOURCE_QUOTA");
  ASSERT_TRUE(front.Create(66, {GpuFingerprint()}, "b").ok());
  const Status of_all = front.Create(67, {GpuFingerprint()}, "b").status();
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(of_all)->reason(), "QUEUE_FULL");
  worker.Look();
  ASSERT_TRUE(
      Eventually([&] { return store_->GetJob(1)->state() == v1::TUNING_JOB_STATE_RUNNING; }));
  EXPECT_TRUE(front.Create(67, {GpuFingerprint()}, "b").ok());
}

TEST_F(JobFleetTest, WhatNobodyHasTakenCanBePausedAndCancelled) {
  FakeMember worker(*store_, "w1", 1), front(*store_, "front", 0);
  ASSERT_TRUE(front.Create(64, {GpuFingerprint()}).ok());
  EXPECT_EQ(front.queue().Cancel(1)->state(), v1::TUNING_JOB_STATE_CANCELLED);
  worker.Look();
  EXPECT_EQ(worker.CountRunning(), 0);
}

// As when a worker starts again without its devices.
TEST_F(JobFleetTest, OwnJobsWhoseDevicesAreGoneAreHandedOver) {
  {
    FakeMember worker(*store_, "w1", 1);
    ASSERT_TRUE(worker.Create(64, {"devices/cuda0"}).ok());
    ASSERT_TRUE(worker.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  }
  FakeMember without(*store_, "w1", 0);
  EXPECT_EQ(without.queue().CountJobs().queued, 0);
  EXPECT_THAT(without.queue().Get(1)->progress().latest_reason(),
              HasSubstr("waits for a daemon that has nodes/w1/devices/cuda0"));
  FakeMember other(*store_, "w2", 1);
  EXPECT_TRUE(other.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
}

TEST_F(JobFleetTest, AJobAwaitsThoseOfOtherDaemons) {
  FakeMember one(*store_, "w1", 1), two(*store_, "w2", 1);
  ASSERT_TRUE(one.Create(64, {"devices/cuda0"}).ok());
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  Result<CreateJob> second = CheckJobRequest(
      MatMulExpression(65, 65, 65), {.options = {}, .devices = {"devices/cuda0"}}, two.catalogue());
  second->awaited = {"tuningJobs/1"};
  ASSERT_TRUE(two.queue().Create(*std::move(second)).ok());
  two.Look();
  EXPECT_EQ(two.CountRunning(), 0);
  one.tune().Release();
  ASSERT_TRUE(one.HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
  two.Look();
  EXPECT_TRUE(two.HasState(2, v1::TUNING_JOB_STATE_RUNNING));
}

// As many may watch, who wait for each other.
TEST_F(JobFleetTest, WhoWatchesJobsOfOthersNeverWaitsForAStoreThatIsAway) {
  StoreDouble store(*store_);
  FakeMember worker(*store_, "w1", 1), front(store, "front", 0);
  const auto watch = [&](int64_t number) {
    return front.queue().WaitForProgress(number, 0, absl::ZeroDuration());
  };
  EXPECT_EQ(watch(1).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(front.Create(64, {GpuFingerprint()}).ok());
  EXPECT_TRUE(Eventually([&] { return watch(1).ok(); }));
  worker.Look();
  EXPECT_TRUE(
      Eventually([&] { return watch(1)->front().state() == v1::TUNING_JOB_STATE_RUNNING; }));
  ASSERT_TRUE(front.Create(65, {GpuFingerprint()}).ok());
  store.SetAge(absl::Seconds(10));
  store.Hang();
  const Status away = watch(2).status();
  EXPECT_EQ(away.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(away).has_value());
  store.Go();
}

TEST_F(JobFleetTest, LookupsOfAFrontEndGiveKernelsAndCreateJobs) {
  FakeMember worker(*store_, "w1", 1), front(*store_, "front", 0);
  v1::GetKernelRequest request;
  request.mutable_expression()->mutable_text()->set_text(ToText(MatMulExpression(64, 64, 64)));
  request.mutable_tune_in_background();
  EXPECT_EQ(front.finder().GetBest(request, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  request.mutable_device()->set_name("nodes/w1/devices/cuda0");
  const Result<v1::GetKernelResponse> best = front.finder().GetBest(request, {});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->match(), v1::MATCH_KIND_PREDICTED);
  EXPECT_EQ(best->record().key().device_fingerprint(), GpuFingerprint());
  EXPECT_EQ(best->tuning_job(), "tuningJobs/1") << best->tuning_error().message();
  worker.Look();
  EXPECT_TRUE(worker.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
}

// What its owner has measured so far is shown by all, before the job's state changes.
TEST_F(JobFleetTest, ProgressIsSeenAtOtherDaemons) {
  FakeMember worker(*store_, "w1", 1), front(*store_, "front", 0);
  ASSERT_TRUE(front.Create(64, {"nodes/w1/devices/cuda0"}).ok());
  worker.Look();
  ASSERT_TRUE(worker.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  EXPECT_TRUE(Eventually([&] { return front.queue().Get(1)->progress().trials() == 1; }));
  const v1::TuningJob seen = *front.queue().Get(1);
  EXPECT_EQ(seen.state(), v1::TUNING_JOB_STATE_RUNNING);
  EXPECT_EQ(seen.progress().best_time_ns(), 1'000'000);
  // A wish of others is still heard.
  ASSERT_TRUE(front.queue().Cancel(1).ok());
  worker.queue().RenewLeases();
  EXPECT_TRUE(front.HasState(1, v1::TUNING_JOB_STATE_CANCELLED));
}

// ---- A daemon that is cut off ----

class CutOffTest : public JobFleetTest {
 protected:
  static constexpr absl::Duration kLease = absl::Hours(1);
  void Pass(absl::Duration time) { now_ns_ += absl::ToInt64Nanoseconds(time); }

  std::atomic<int64_t> now_ns_ = 1'000;
  StoreDouble cut_{*store_};
  FakeMember worker_{
      cut_, "w1", 1, {.lease = kLease, .lease_clock = [this] { return now_ns_.load(); }}};
};

TEST_F(CutOffTest, ItStopsWhenItsOwnClockSaysThatItsLeaseIsOver) {
  ASSERT_TRUE(worker_.Create(64, {"devices/cuda0"}).ok());
  ASSERT_TRUE(worker_.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  Pass(kLease - absl::Seconds(1));
  worker_.queue().RenewLeases();
  cut_.FailWrites(absl::UnavailableError("cut off"));
  Pass(kLease - absl::Seconds(1));
  worker_.queue().RenewLeases();  // in vain: it is not counted from here
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ(worker_.CountRunning(), 1);
  Pass(absl::Seconds(1));
  EXPECT_TRUE(Eventually([&] { return worker_.CountRunning() == 0; }));
  // Nothing begins, either.
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(worker_.queue().CountJobs().queued, 1);
  EXPECT_THAT(worker_.tune().order(), ElementsAre(64));
  // When it is heard of again it goes on, as nobody has taken the job.
  cut_.FailWrites(absl::OkStatus());
  worker_.queue().RenewLeases();
  EXPECT_TRUE(Eventually([&] { return worker_.CountRunning() == 1; }));
  worker_.tune().Release();
  EXPECT_TRUE(worker_.HasState(1, v1::TUNING_JOB_STATE_SUCCEEDED));
}

// The time counts from before it was asked for.
TEST_F(CutOffTest, ARenewalThatTookLongIsWorthLess) {
  ASSERT_TRUE(worker_.Create(64, {"devices/cuda0"}).ok());
  ASSERT_TRUE(worker_.HasState(1, v1::TUNING_JOB_STATE_RUNNING));
  cut_.Hang();
  const int before = cut_.renewals();
  std::thread renewal([&] { worker_.queue().RenewLeases(); });
  ASSERT_TRUE(Eventually([&] { return cut_.renewals() > before; }));
  Pass(kLease);
  cut_.Go();
  renewal.join();
  EXPECT_TRUE(Eventually([&] { return worker_.CountRunning() == 0; }));
}

}  // namespace
}  // namespace mdh::job_fleet_test
