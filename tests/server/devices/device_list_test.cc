#include "server/devices/device_list.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/fake_devices.h"

namespace mdh::device_list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(DeviceList, NamesDevicesAndCores) {
  const auto list = ParseDeviceList("cpu,opencl:0@0-1+4,opencl:0@2,cuda:11");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_THAT(*list, SizeIs(4));
  EXPECT_EQ(list->at(0).selector, "cpu");
  EXPECT_EQ(list->at(0).name, "devices/cpu");
  EXPECT_THAT(list->at(0).cores, IsEmpty());
  EXPECT_EQ(list->at(1).selector, "opencl:0");
  EXPECT_EQ(list->at(1).name, "devices/opencl0@0-1+4");
  EXPECT_THAT(list->at(1).cores, ElementsAre(0, 1, 4));
  EXPECT_THAT(list->at(2).cores, ElementsAre(2));
  EXPECT_EQ(list->at(3).name, "devices/cuda11");
}

TEST(DeviceList, NoneIsNoDeviceAndStandsAlone) {
  EXPECT_THAT(*ParseDeviceList("none"), IsEmpty());
  for (const char* list : {"none,cpu", "cpu,none", "none,none", "none@0"}) {
    const Status status = ParseDeviceList(list).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << list;
    EXPECT_THAT(std::string(status.message()), HasSubstr("stands alone")) << list;
  }
}

TEST(DeviceList, WhatIsWrongIsNamed) {
  for (const char* entry : {"", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:01", "cuda:0:1", "cpu:0",
                            "opencl:x", " cpu"}) {
    const Status status = ParseDeviceList(entry).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << entry;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(std::string("--devices: '") + entry + "' is no device"));
  }
  for (const char* entry :
       {"cpu@", "cpu@x", "cpu@1-0", "cpu@0-", "cpu@0-1-2", "cpu@0+", "cpu@99999999"}) {
    EXPECT_THAT(std::string(ParseDeviceList(entry).status().message()), HasSubstr("has no cores"))
        << entry;
  }
  EXPECT_THAT(std::string(ParseDeviceList("cpu,cuda:0,cpu").status().message()),
              HasSubstr("'cpu' is there twice"));
}

class MakeDevicesTest : public ::testing::Test {
 protected:
  StartRunner Starter() {
    return [this](const RunnerOptions& options) -> Result<std::unique_ptr<Runner>> {
      started_.push_back(options.device);
      cores_.push_back(options.cores);
      peaks_.push_back(options.peaks.value_or(MachinePeaks()).fp32_flops_per_s);
      folders_.push_back(options.work_directory);
      return std::make_unique<FakeRunner>(options.device == "cpu" ? cpu_ : gpu_);
    };
  }

  FakeDevice cpu_{FakeCpu()};
  FakeDevice gpu_{FakeGpu()};
  const DeviceSearch found_{
      {{"cpu", DeviceDescription(), "", ""}, {"cuda:0", FakeGpu(), "CUDA", "12.4"}},
      {"no OpenCL device: libOpenCL.so.1 is not there"}};
  std::vector<std::string> started_;
  std::vector<std::vector<int>> cores_;
  std::vector<double> peaks_;  // in single precision; 0: not known
  std::vector<std::string> folders_;
};

TEST_F(MakeDevicesTest, RunnersAreToldWhatIsKnownOfTheirPeaks) {
  std::vector<WantedDevice> wanted = *ParseDeviceList("cpu,cpu@0");
  wanted[0].peaks = MachinePeaks{.fp32_flops_per_s = 3e11};
  ASSERT_TRUE(MakeDevices(wanted, found_, {}, Starter()).ok());
  EXPECT_THAT(peaks_, ElementsAre(3e11, 0));
}

TEST_F(MakeDevicesTest, EverythingThatIsAttached) {
  const auto devices = MakeDevices(AllDevices(found_), found_, {}, Starter());
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_THAT(*devices, SizeIs(2));
  EXPECT_EQ(devices->at(0)->name(), "devices/cpu");
  EXPECT_EQ(devices->at(0)->environment().compiler, "fake cc 1");
  EXPECT_EQ(devices->at(0)->state().health, v1::DEVICE_HEALTH_HEALTHY);
  EXPECT_EQ(devices->at(1)->name(), "devices/cuda0");
  EXPECT_EQ(devices->at(1)->platform(), "CUDA");
  EXPECT_EQ(devices->at(1)->driver(), "12.4");
  EXPECT_EQ(devices->at(1)->state().health, v1::DEVICE_HEALTH_STARTING);
  // Only the CPU's runner had to be started.
  EXPECT_THAT(started_, ElementsAre("cpu"));
}

TEST_F(MakeDevicesTest, OneDeviceTwiceOnItsCores) {
  const auto devices = MakeDevices(*ParseDeviceList("cuda:0@0,cuda:0@1"), found_,
                                   {.program = "", .work_directory = "w", .path = {}}, Starter());
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->at(0)->fingerprint(), devices->at(1)->fingerprint());
  EXPECT_THAT(started_, ElementsAre("cuda:0", "cuda:0"));
  EXPECT_THAT(cores_, ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(folders_, ElementsAre("w/cuda0@0", "w/cuda0@1"));
}

TEST_F(MakeDevicesTest, WhatIsNotAttachedIsNamed) {
  const Status status = MakeDevices(*ParseDeviceList("opencl:0"), found_, {}, Starter()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "--devices: there is no opencl:0; attached: cpu, cuda:0; no OpenCL device: "
            "libOpenCL.so.1 is not there");
}

}  // namespace
}  // namespace mdh::device_list_test
