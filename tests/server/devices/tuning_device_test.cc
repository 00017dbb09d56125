#include "server/devices/tuning_device.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/devices/device_keeper.h"
#include "server/devices/device_lease.h"
#include "tests/server/eventually.h"
#include "tests/server/fake_devices.h"

namespace mdh::tuning_device_test {
namespace {

using ::testing::HasSubstr;

class TuningDeviceTest : public ::testing::Test {
 protected:
  std::unique_ptr<TuningDevice> Later() {
    return std::make_unique<TuningDevice>(
        TuningDeviceOptions{.name = "devices/cuda0", .start = StarterOf(fake_)}, FakeGpu());
  }
  std::unique_ptr<TuningDevice> Started() {
    return TuningDevice::Start({.name = "devices/cuda0", .start = StarterOf(fake_)}, FakeGpu());
  }

  FakeDevice fake_{FakeGpu()};
};

TEST_F(TuningDeviceTest, IsHeldByOneAtATime) {
  const auto device = Started();
  EXPECT_TRUE(device->IsFree());
  EXPECT_TRUE(device->TryHold("tuningJobs/1"));
  EXPECT_FALSE(device->IsFree());
  EXPECT_FALSE(device->TryHold("tuningJobs/2"));
  EXPECT_FALSE(device->TryHoldForCheck());
  EXPECT_EQ(device->state().job, "tuningJobs/1");
  int releases = 0;
  device->SetListener([&] { ++releases; });
  device->Release();
  EXPECT_EQ(releases, 1);
  EXPECT_EQ(device->state().job, "");
  EXPECT_TRUE(device->TryHold("tuningJobs/2"));
}

TEST_F(TuningDeviceTest, StartsWhenItIsCheckedFirst) {
  const auto device = Later();
  device->Interrupt();  // nothing to interrupt yet
  EXPECT_EQ(device->state().health, v1::DEVICE_HEALTH_STARTING);
  EXPECT_TRUE(device->CanTune().ok());
  EXPECT_FALSE(device->TryHold("tuningJobs/1"));
  EXPECT_EQ(fake_.starts, 0);
  ASSERT_TRUE(device->TryHoldForCheck());
  EXPECT_TRUE(device->CheckHealth().ok());
  device->Release();
  EXPECT_EQ(fake_.starts, 1);
  EXPECT_TRUE(device->TryHold("tuningJobs/1"));
}

TEST_F(TuningDeviceTest, OneThatDoesNotStartSaysWhyAndIsTriedAgain) {
  fake_.start = absl::FailedPreconditionError("no memory");
  const auto device = Later();
  ASSERT_TRUE(device->TryHoldForCheck());
  EXPECT_EQ(device->CheckHealth().message(), "devices/cuda0: no memory");
  device->Release();
  EXPECT_EQ(device->state().health, v1::DEVICE_HEALTH_UNHEALTHY);
  EXPECT_EQ(device->state().reason, "no memory");
  EXPECT_EQ(device->CanTune().message(), "no memory");
  fake_.start = absl::OkStatus();
  ASSERT_TRUE(device->TryHoldForCheck());
  EXPECT_TRUE(device->CheckHealth().ok());
  device->Release();
  EXPECT_TRUE(device->CanTune().ok());
}

TEST_F(TuningDeviceTest, OneThatMustStartAtOnceIsNotTriedAgain) {
  fake_.start = absl::FailedPreconditionError("no compiler");
  const auto device = Started();
  EXPECT_EQ(device->CanTune().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(device->TryHoldForCheck());
  EXPECT_EQ(device->description().name, "fake GPU");
}

TEST_F(TuningDeviceTest, AnotherDeviceThanTheOneFoundIsRefused) {
  fake_.description.name = "another GPU";
  const auto device = Later();
  ASSERT_TRUE(device->TryHoldForCheck());
  EXPECT_THAT(std::string(device->CheckHealth().message()),
              HasSubstr("the runner found another device: cuda 'another GPU'"));
}

TEST_F(TuningDeviceTest, TheKeeperStartsItAndBringsItBack) {
  std::vector<std::unique_ptr<TuningDevice>> devices;
  devices.push_back(Later());
  TuningDevice& device = *devices.front();
  const auto becomes = [&](v1::DeviceHealth health) {
    return Eventually([&] { return device.state().health == health; });
  };
  const DeviceKeeper keeper(devices, {absl::Milliseconds(1), absl::Milliseconds(4)});
  ASSERT_TRUE(becomes(v1::DEVICE_HEALTH_HEALTHY));
  fake_.SetHealth(absl::FailedPreconditionError("unhealthy: hot"));
  ASSERT_TRUE(device.TryHold("tuningJobs/1"));
  EXPECT_FALSE(device.CheckHealth().ok());
  device.Release();
  EXPECT_EQ(device.state().reason, "unhealthy: hot");
  fake_.SetHealth(absl::OkStatus());
  EXPECT_TRUE(becomes(v1::DEVICE_HEALTH_HEALTHY));
  EXPECT_EQ(fake_.starts, 1);
}

TEST_F(TuningDeviceTest, ALeaseReleasesItsDevice) {
  const auto device = Started();
  {
    ASSERT_TRUE(device->TryHold("tuningJobs/1"));
    DeviceLease lease(*device);
    EXPECT_TRUE(lease.Submit(1, {}, {}).ok());
    EXPECT_TRUE(lease.CheckHealth().ok());
  }
  // What was submitted has been taken out: the next job can set its problem.
  EXPECT_EQ(fake_.submitted, 0);
  EXPECT_TRUE(device->IsFree());
}

TEST_F(TuningDeviceTest, ARevokedLeaseIsAsAnUnhealthyDevice) {
  const auto device = Started();
  ASSERT_TRUE(device->TryHold("tuningJobs/1"));
  DeviceLease lease(*device);
  ASSERT_TRUE(lease.Submit(1, {}, {}).ok());
  ASSERT_TRUE(lease.Submit(2, {}, {}).ok());
  lease.Revoke();
  EXPECT_FALSE(device->IsFree());
  EXPECT_EQ(fake_.interrupts, 1);
  const Status status = lease.Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "unhealthy: devices/cuda0 was given to another job");
  EXPECT_TRUE(device->IsFree());
  EXPECT_EQ(fake_.submitted, 0);
  // From now on it keeps off the device.
  const int interrupts = fake_.interrupts;
  lease.Interrupt();
  EXPECT_EQ(fake_.interrupts, interrupts);
  EXPECT_FALSE(lease.Submit(3, {}, {}).ok());
  EXPECT_FALSE(lease.LoopNestTime().ok());
  EXPECT_FALSE(lease.Peaks().ok());
  EXPECT_FALSE(lease.Health().ok());
  EXPECT_TRUE(lease.CheckHealth().ok());
}

}  // namespace
}  // namespace mdh::tuning_device_test
