// Before the devices are open: lookups are answered, what needs devices waits or is told why not.
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/error_details.h"
#include "server/devices/device_catalogue.h"
#include "server/jobs/job_queue.h"
#include "server/records/lookup_table.h"
#include "server/records/resource_names.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/matmul_expression.h"
#include "tests/server/temporary_directory.h"

namespace mdh::device_opening_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kShort = absl::Milliseconds(20);

DeviceDescription CpuWithoutCompiler() {
  DeviceDescription cpu = FakeCpu();
  cpu.compiler.clear();
  return cpu;
}

class DeviceOpening : public ::testing::Test {
 protected:
  v1::TuningRecord RecordFor(const std::string& compiler) const {
    v1::TuningRecord record;
    *record.mutable_key() = MakeKernelKey(MatMulExpression(8, 8, 8), KeyEnvironment::Of(FakeCpu()));
    record.mutable_key()->set_compiler(compiler);
    record.set_name(RecordName(KernelId(record.key())));
    record.set_time_ns(1000);
    return record;
  }
  v1::KernelKey Asked() const {
    v1::KernelKey key;
    key.set_expression_digest(RecordFor("").key().expression_digest());
    return key;
  }
  void Open() {
    devices_.Add("devices/cpu", FakeCpu());
    catalogue_.Open(devices_.Take(), {});
    table_.SetEnvironments(catalogue_.Environments());
  }

  const TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeDevices devices_;
  DeviceCatalogue catalogue_{CpuWithoutCompiler(), {}, *store_};
  LookupTable table_{catalogue_.Environments()};
};

TEST_F(DeviceOpening, CallsThatNeedDevicesAreToldToComeAgain) {
  EXPECT_THAT(catalogue_.devices(), IsEmpty());
  for (const Status& status :
       {catalogue_.AwaitOpen(kShort), catalogue_.Find("devices/cpu").status(),
        catalogue_.Select({}).status(), catalogue_.Select({"devices/cuda"}).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("devices are being opened"));
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status)->reason(), "DEVICES_OPENING");
    EXPECT_TRUE(DetailOf<google::rpc::RetryInfo>(status).has_value());
  }
  std::thread opener([this] {
    absl::SleepFor(kShort);
    Open();
  });
  EXPECT_TRUE(catalogue_.AwaitOpen().ok());
  EXPECT_THAT(catalogue_.devices(), SizeIs(1));
  opener.join();
}

TEST_F(DeviceOpening, WhoWaitsLearnsWhyThereWillBeNone) {
  std::thread opener([this] {
    absl::SleepFor(kShort);
    catalogue_.GiveUp(absl::FailedPreconditionError("there is no cuda:7"));
    catalogue_.GiveUp(absl::CancelledError("too late"));
  });
  EXPECT_EQ(catalogue_.AwaitOpen().message(), "there is no cuda:7");
  opener.join();
}

TEST_F(DeviceOpening, TheExpectedDeviceIsThereForLookups) {
  v1::DeviceSelection selection;
  EXPECT_EQ(catalogue_.Resolve(selection)->name, "fake CPU");
  selection.set_name("devices/cpu");
  EXPECT_EQ(catalogue_.Resolve(selection)->name, "fake CPU");
  selection.set_name("devices/cuda0");
  EXPECT_EQ(catalogue_.Resolve(selection).status().code(), absl::StatusCode::kUnavailable);
}

// Which compiler there is takes a while to find out.
TEST_F(DeviceOpening, RecordsOfAnyCompilerAreFoundUntilTheCompilerIsKnown) {
  table_.Put(RecordFor("another cc 7"));
  EXPECT_TRUE(table_.Find(Asked(), v1::MATCH_KIND_EXACT).ok());
  const int64_t version = table_.version();
  Open();
  EXPECT_GT(table_.version(), version);
  EXPECT_TRUE(absl::IsNotFound(table_.Find(Asked(), v1::MATCH_KIND_EXACT).status()));
  table_.Put(RecordFor("fake cc 1"));
  EXPECT_TRUE(table_.Find(Asked(), v1::MATCH_KIND_EXACT).ok());
}

TEST_F(DeviceOpening, ADeviceThatIsUnknownCanBeNamedByItsFingerprintOnly) {
  LookupTable table{std::vector<KeyEnvironment>()};
  table.Put(RecordFor("fake cc 1"));
  EXPECT_TRUE(absl::IsUnavailable(table.Find(Asked(), v1::MATCH_KIND_EXACT).status()));
  v1::KernelKey key = Asked();
  key.set_device_fingerprint(KeyEnvironment::Of(FakeCpu()).device_fingerprint);
  EXPECT_TRUE(table.Find(key, v1::MATCH_KIND_EXACT).ok());
}

TEST_F(DeviceOpening, JobsAreToldOfAndCreatedWhenTheDevicesAreOpen) {
  v1::TuningJob ended;
  ended.set_state(v1::TUNING_JOB_STATE_SUCCEEDED);
  const int64_t number = store_->InsertJob(ended)->claim.number;
  FakeTune tune;
  JobQueueOptions options;
  options.tune = [&](const auto&... arguments) { return tune(arguments...); };
  const auto queue = *JobQueue::Start(*store_, table_, catalogue_, std::move(options));
  EXPECT_EQ(queue->Get(number)->state(), v1::TUNING_JOB_STATE_SUCCEEDED);
  std::thread opener([&] {
    absl::SleepFor(kShort);
    Open();
    EXPECT_TRUE(queue->Begin().ok());
  });
  const auto created = queue->Create({.computation = MatMulExpression(8, 8, 8), .options = {}});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->job().key().compiler(), "fake cc 1");
  opener.join();
  tune.Release();
  queue->Drain();
}

}  // namespace
}  // namespace mdh::device_opening_test
