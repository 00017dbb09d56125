#include "server/devices/device_catalogue.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"
#include "server/devices/known_devices.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/fake_devices.h"
#include "tests/server/temporary_directory.h"

namespace mdh::device_catalogue_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class DeviceCatalogueTest : public ::testing::Test {
 protected:
  TuningDevice& device(size_t n) const { return *catalogue_.devices()[n]; }
  v1::DeviceSelection Named(const std::string& name) const {
    v1::DeviceSelection selection;
    selection.set_name(name);
    return selection;
  }

  TemporaryDirectory directory_;
  const std::unique_ptr<Store> store_ = *OpenSqliteStore({.path = directory_.File("mdhd.sqlite")});
  FakeDevices devices_;
  FakeDevice& cuda0_ = devices_.Add("devices/cuda0", FakeGpu());
  FakeDevice& cuda1_ = devices_.Add("devices/cuda1", FakeGpu());
  FakeDevice& cpu_ = devices_.Add("devices/cpu", FakeCpu());
  DeviceCatalogue catalogue_{devices_.Take(),
                             {"no OpenCL device: libOpenCL.so.1 is not there"},
                             *ReadKnownDevices(KnownDeviceFiles()),
                             *store_};
};

TEST_F(DeviceCatalogueTest, TheCpuIsTheDefault) {
  EXPECT_EQ(catalogue_.default_device().name(), "devices/cpu");
  EXPECT_THAT(catalogue_.Environments(), SizeIs(2));
  EXPECT_EQ(catalogue_.Environments()[0].compiler, "fake cc 1");
  EXPECT_EQ(catalogue_.Environments()[1].compiler, "fake nvrtc 1");
  EXPECT_EQ(catalogue_.Select({})->front()->name(), "devices/cpu");
  EXPECT_EQ(catalogue_.Resolve({})->name, "fake CPU");
}

TEST_F(DeviceCatalogueTest, WithoutACpuTheFirstDeviceIsTheDefault) {
  FakeDevices gpus;
  gpus.Add("devices/cuda7", FakeGpu());
  const DeviceCatalogue catalogue(gpus.Take(), {}, {}, *store_);
  EXPECT_EQ(catalogue.default_device().name(), "devices/cuda7");
}

TEST_F(DeviceCatalogueTest, JobsMayUseDevicesOfOneFingerprint) {
  EXPECT_THAT(*catalogue_.Select({"devices/cuda1", "devices/cuda0", "devices/cuda1"}), SizeIs(2));
  EXPECT_THAT(*catalogue_.Select({"devices/cuda"}), SizeIs(2));
  const Status different = catalogue_.Select({"devices/cuda0", "devices/cpu"}).status();
  EXPECT_EQ(different.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(different.message()), HasSubstr("devices/cuda0 and devices/cpu are"));
}

TEST_F(DeviceCatalogueTest, WhatIsNotThereIsNamedWithTheReason) {
  for (const char* name : {"devices/cuda2", "devices/opencl", "cpu"}) {
    const Status status = catalogue_.Select({name}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(status.message(),
              std::string("there is no device '") + name +
                  "'; there are devices/cuda0, devices/cuda1, devices/cpu; no OpenCL device: "
                  "libOpenCL.so.1 is not there");
  }
  const Status unknown = catalogue_.Resolve(Named("knownDevices/abacus")).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("knownDevices/h100"));
}

TEST_F(DeviceCatalogueTest, RequestsMeanAttachedKnownOrDescribedDevices) {
  EXPECT_EQ(catalogue_.Resolve(Named("devices/cuda0"))->name, "fake GPU");
  EXPECT_EQ(catalogue_.Resolve(Named("knownDevices/h200"))->name, "NVIDIA H200");
  v1::DeviceSelection described;
  *described.mutable_description() = ToProto(FakeGpu("described GPU"));
  EXPECT_EQ(catalogue_.Resolve(described)->name, "described GPU");
  described.mutable_description()->mutable_blocks()->set_warp_size(3);
  EXPECT_EQ(catalogue_.Resolve(described).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DeviceCatalogueTest, DescribesHealthAndPeaks) {
  const v1::Device idle = catalogue_.Describe(device(0));
  EXPECT_EQ(idle.name(), "devices/cuda0");
  EXPECT_EQ(idle.description().blocks().multiprocessors(), 132);
  EXPECT_EQ(idle.health(), v1::DEVICE_HEALTH_HEALTHY);
  EXPECT_TRUE(idle.can_tune());
  EXPECT_EQ(idle.peaks().fp32_flops_per_s(), 1e12);
  EXPECT_EQ(idle.peaks().launch_overhead_ns(), 5000);
  EXPECT_EQ(idle.peaks().units().half_flops_per_s(), 9e12);
  // The other one is equal: its peaks are the same.
  EXPECT_TRUE(catalogue_.Describe(device(1)).has_peaks());
  EXPECT_EQ(cuda0_.peak_measurements + cuda1_.peak_measurements, 1);
  cuda0_.SetHealth(absl::FailedPreconditionError("unhealthy: hot"));
  ASSERT_TRUE(device(0).TryHold(""));
  EXPECT_FALSE(device(0).CheckHealth().ok());
  device(0).Release();
  const v1::Device hot = catalogue_.Describe(device(0));
  EXPECT_EQ(hot.health(), v1::DEVICE_HEALTH_UNHEALTHY);
  EXPECT_EQ(hot.health_reason(), "unhealthy: hot");
  EXPECT_TRUE(hot.can_tune());
}

TEST_F(DeviceCatalogueTest, ADeviceInUseHasThePeaksOfEarlierProcesses) {
  ASSERT_TRUE(device(0).TryHold("tuningJobs/1"));
  const v1::Device without = catalogue_.Describe(device(0));
  EXPECT_FALSE(without.has_peaks());
  EXPECT_EQ(without.load().running_job(), "tuningJobs/1");
  v1::MachinePeaks peaks;
  peaks.set_fp32_flops_per_s(7);
  ASSERT_TRUE(
      store_->ChangePeaks(device(0).fingerprint(), [&](const auto&) { return peaks; }).ok());
  EXPECT_EQ(catalogue_.Describe(device(0)).peaks().fp32_flops_per_s(), 7);
}

TEST_F(DeviceCatalogueTest, TheBetterPeakIsKept) {
  v1::MachinePeaks peaks;
  peaks.set_fp32_flops_per_s(9e12);
  peaks.set_fp64_flops_per_s(1);
  peaks.set_launch_overhead_ns(3000);
  ASSERT_TRUE(
      store_->ChangePeaks(device(0).fingerprint(), [&](const auto&) { return peaks; }).ok());
  const v1::MachinePeaks better = catalogue_.Describe(device(0)).peaks();
  EXPECT_EQ(better.fp32_flops_per_s(), 9e12);
  // What is stored was measured before units were.
  EXPECT_EQ(better.units().half_flops_per_s(), 9e12);
  EXPECT_EQ(better.fp64_flops_per_s(), 5e11);
  EXPECT_EQ(better.launch_overhead_ns(), 3000);
  EXPECT_EQ((*store_->GetPeaks(device(0).fingerprint()))->SerializeAsString(),
            better.SerializeAsString());
}

}  // namespace
}  // namespace mdh::device_catalogue_test
