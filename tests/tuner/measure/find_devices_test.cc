// Which devices there are, and what is said of those that are not.
#include "tuner/measure/find_devices.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_conversion.h"
#include "tests/tuner/processes.h"
#include "tests/tuner/runner_program.h"
#include "tuner/device/device_selector.h"

namespace mdh::find_devices_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kRunner = RunnerProgram();

TEST(FindDevices, TheCpuComesFirstAndEveryKindIsThereOrMissing) {
  const Result<DeviceSearch> search = FindDevices(kRunner);
  ASSERT_TRUE(search.ok()) << search.status();
  ASSERT_FALSE(search->devices.empty());
  EXPECT_EQ(search->devices[0].selector, "cpu");
  EXPECT_EQ(search->devices[0].description.kind, DeviceKind::kCpu);
  int opencl = 0, cuda = 0;
  for (const AttachedDevice& device : search->devices) {
    const DeviceSelector selector = *ParseDeviceSelector(device.selector);
    EXPECT_EQ(selector.kind, device.description.kind);
    if (selector.kind == DeviceKind::kCpu) continue;
    int& count = selector.kind == DeviceKind::kCuda ? cuda : opencl;
    EXPECT_EQ(selector.number, count++);
    EXPECT_TRUE(ValidateDevice(device.description).ok());
    EXPECT_FALSE(device.platform.empty());
    EXPECT_FALSE(device.driver.empty());
  }
  EXPECT_EQ(search->missing.size(), (opencl == 0 ? 1u : 0u) + (cuda == 0 ? 1u : 0u));
  EXPECT_THAT(Descendants(), IsEmpty());
}

TEST(FindDevices, WithoutPlatformsOpenClIsMissing) {
  setenv("OCL_ICD_VENDORS", "/nowhere", 1);
  const Result<DeviceSearch> search = FindDevices(kRunner);
  unsetenv("OCL_ICD_VENDORS");
  ASSERT_TRUE(search.ok()) << search.status();
  EXPECT_THAT(search->missing, Contains(HasSubstr("no OpenCL device: there is no")));
  EXPECT_EQ(search->devices[0].selector, "cpu");
}

TEST(FindDevices, AProgramThatIsMissingOrAnotherIsNamed) {
  const Status missing = FindDevices("/nowhere/mdh-runner").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/nowhere/mdh-runner"));
  const Status other = FindDevices("/bin/false").status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("exit status 1"));
}

TEST(FindDevices, ADescriptionThatMakesNoSenseIsMissingWithItsReason) {
  v1::RunnerDeviceList list;
  list.add_missing("no CUDA device: libcuda.so.1 is not there");
  for (const int warp : {32, 0}) {
    DeviceDescription device = *DescribeCudaArchitecture(90);
    device.name = "a device";
    device.blocks.warp_size = warp;
    v1::RunnerAttachedDevice& attached = *list.add_devices();
    attached.set_selector(absl::StrCat("cuda:", list.devices_size() - 1));
    *attached.mutable_description() = ToProto(device);
  }
  const DeviceSearch search = FoundIn(list);
  ASSERT_EQ(search.devices.size(), 1u);
  EXPECT_EQ(search.devices[0].selector, "cuda:0");
  EXPECT_THAT(search.missing,
              ElementsAre("no CUDA device: libcuda.so.1 is not there",
                          AllOf(HasSubstr("no device cuda:1: "), HasSubstr("warp_size"))));
}

TEST(DeviceSelectors, AreReadBackAsTheyArePrinted) {
  for (const char* text : {"cpu", "opencl:0", "cuda:12"}) {
    EXPECT_EQ(ToText(*ParseDeviceSelector(text)), text);
  }
  for (const char* text : {"", "cpu:0", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:x", "opencl:1 "}) {
    EXPECT_EQ(ParseDeviceSelector(text).ok(), text == std::string("opencl:1 ")) << text;
  }
}

}  // namespace
}  // namespace mdh::find_devices_test
